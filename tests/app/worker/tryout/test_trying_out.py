from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest

from app.protocol import commands, messages
from app.workers.local_worker import LocalWorker, Received, Shown

pytestmark = pytest.mark.slow


class Trying:
    """A worker in which somebody tries an environment out."""

    def __init__(self, worker: LocalWorker) -> None:
        self.worker = worker
        self.heard: list[Received] = []
        self._orders = 0

    async def open(self, env_id: str, **wishes: Any) -> messages.Happened:
        job = {"seed": 3, "mode": "step", "draws": True, "makes_anew": False, **wishes}
        self.worker.send(messages.encode(commands.TryOut(env_id=env_id, **job)))
        return await self.next()

    async def ask(self, kind: Any, **wishes: Any) -> messages.Happened:
        self._orders += 1
        self.worker.send(messages.encode(kind(order=self._orders, **wishes)))
        while (now := await self.next()).order < self._orders:
            pass
        return now

    async def next(self) -> messages.Happened:
        while True:
            self.heard.append(said := await self.worker.receive())
            assert not isinstance(said, messages.Failed), said
            if isinstance(said, messages.Happened):
                return said

    async def next_picture(self) -> Shown:
        while True:
            if isinstance(said := await self.worker.receive(), Shown):
                return said


@pytest.fixture
async def trying() -> AsyncIterator[Trying]:
    worker = LocalWorker(memory_mb=2_048)
    await worker.start()
    yield Trying(worker)
    worker.kill()
    await worker.wait()


async def another() -> Trying:
    worker = LocalWorker(memory_mb=2_048)
    await worker.start()
    return Trying(worker)


def without_order(now: messages.Happened) -> dict[str, Any]:
    return {name: getattr(now, name) for name in now.__struct_fields__ if name != "order"}


async def play(trying: Trying, env_id: str, actions: list[Any], **wishes: Any) -> list[Any]:
    moments = [await trying.open(env_id, **wishes)]
    for action in actions:
        moments.append(await trying.ask(commands.Act, action=action))
    return [without_order(moment) for moment in moments]


WALKS = [(0.3, -0.5, 0.9, 0.1), (-1.0, 1.0, 0.0, 0.5)] * 15


@pytest.mark.parametrize(
    ("env_id", "actions", "anew"),
    [
        ("LunarLander-v3", [2, 2, 1, 3, 0] * 8, False),
        ("FrozenLake-v1", [2, 2, 1], False),
        ("Pendulum-v1", [(1.5,), (-2.0,)] * 5, False),
        ("BipedalWalker-v3", WALKS, True),
        ("Blackjack-v1", [1], False),
    ],
)
async def test_the_same_seed_and_actions_give_the_same_states(
    trying: Trying, env_id: str, actions: list[Any], anew: bool
) -> None:
    other = await another()

    first = await play(trying, env_id, actions, makes_anew=anew)
    second = await play(other, env_id, actions, makes_anew=anew)

    other.worker.kill()
    await other.worker.wait()
    assert first == second
    assert first[-1]["step"] == len(actions)
    assert first[0]["observation"] != first[-1]["observation"]


@pytest.mark.parametrize(
    ("env_id", "actions", "anew"),
    [
        ("CartPole-v1", [0, 1, 1, 0], False),
        ("LunarLander-v3", [2, 2, 1, 3, 0] * 8, False),
        ("BipedalWalker-v3", WALKS, True),
        ("Taxi-v4", [0, 1, 2, 3], False),
    ],
)
async def test_back_returns_exactly_and_again_in_a_later_episode(
    trying: Trying, env_id: str, actions: list[Any], anew: bool
) -> None:
    await trying.open(env_id, makes_anew=anew)
    for seed in (3, 11):
        moments = [await trying.ask(commands.StartOver, seed=seed)]
        for action in actions:
            moments.append(await trying.ask(commands.Act, action=action))

        for expected in reversed(moments[:-1]):
            now = await trying.ask(commands.TakeBack)
            assert without_order(now) == without_order(expected)
            assert now.is_exact

    assert (await trying.ask(commands.TakeBack)).step == 0


async def test_after_going_back_the_same_action_leads_to_the_same_place(trying: Trying) -> None:
    await trying.open("LunarLander-v3")
    for _ in range(5):
        await trying.ask(commands.Act, action=2)
    forward = await trying.ask(commands.Act, action=1)

    await trying.ask(commands.TakeBack)
    again = await trying.ask(commands.Act, action=1)

    assert without_order(again) == without_order(forward)


async def test_a_reset_begins_as_before_or_elsewhere(trying: Trying) -> None:
    first = await trying.open("CartPole-v1")
    await trying.ask(commands.Act, action=1)

    same = await trying.ask(commands.StartOver)
    other = await trying.ask(commands.StartOver, seed=4)

    assert same.observation == first.observation
    assert (other.seed, other.step, other.return_, other.action) == (4, 0, 0.0, None)
    assert other.observation != first.observation


async def test_random_actions_repeat_themselves_with_the_seed(trying: Trying) -> None:
    await trying.open("CartPole-v1")
    first = [(await trying.ask(commands.Act)).action for _ in range(8)]
    await trying.ask(commands.StartOver)

    again = [(await trying.ask(commands.Act)).action for _ in range(8)]

    assert first == again
    assert set(first) == {0, 1}


async def test_the_end_of_an_episode_is_told_and_nothing_comes_after_it(trying: Trying) -> None:
    now = await trying.open("CartPole-v1")
    while not now.terminated:
        now = await trying.ask(commands.Act, action=1)

    after = await trying.ask(commands.Act, action=1)

    assert after.step == now.step
    assert now.return_ == now.step
    assert (now.terminated, now.truncated) == (True, False)


async def test_it_says_what_can_be_done_and_what_random_actions_are_worth(trying: Trying) -> None:
    await trying.open("Pendulum-v1", measures_random=True)
    while not isinstance(trying.heard[-1], messages.PlayedAtRandom):
        trying.heard.append(await trying.worker.receive())

    opened, measured = trying.heard[0], trying.heard[-1]
    assert opened == messages.Opened(lows=(-2.0,), highs=(2.0,), fps=30.0)
    assert isinstance(measured, messages.PlayedAtRandom)
    assert len(measured.returns) >= 1
    assert -2_000 < np.mean(measured.returns) < -700


async def test_pixels_are_not_told_as_numbers(trying: Trying) -> None:
    now = await trying.open("CarRacing-v3", makes_anew=True)

    assert now.observation is None
    assert any(isinstance(said, Shown) for said in trying.heard)


async def test_what_cannot_be_drawn_can_be_stepped_through(trying: Trying) -> None:
    await trying.open("GaussianBandit-v0", draws=False)

    now = await trying.ask(commands.Act, action=9)

    assert now.step == 1
    assert not any(isinstance(said, Shown) for said in trying.heard)


async def test_pictures_are_drawn_while_somebody_looks(trying: Trying) -> None:
    await trying.open("CartPole-v1")
    await trying.ask(commands.Act, action=0)
    await trying.ask(commands.Act, action=0)
    drawn = [said for said in trying.heard if isinstance(said, Shown)]

    trying.worker.send(messages.encode(commands.Look(on=True)))
    picture = await trying.next_picture()

    assert [shown.header.step for shown in drawn] == [0]
    assert (picture.header.kind, picture.header.step) == ("preview", 2)
    assert picture.header.return_ == 2.0
    assert picture.jpeg.startswith(b"\xff\xd8")


async def test_a_random_agent_plays_one_episode_after_another(trying: Trying) -> None:
    now = await trying.open("CartPole-v1", mode="random")
    while now.episode < 2:
        now = await trying.next()

    assert (now.step, now.seed) == (0, 4)


async def test_a_game_waits_for_the_first_key_and_then_goes_on_by_itself(trying: Trying) -> None:
    await trying.open("MountainCar-v0", mode="play")
    trying.worker.send(messages.encode(commands.Hold(actions=(1,), begins=False)))
    waiting = await trying.ask(commands.Conduct, speed=0.5)

    trying.worker.send(messages.encode(commands.Hold(actions=(2, 0), begins=True)))
    moments = [await trying.next() for _ in range(4)]

    assert waiting.step == 0
    assert [moment.step for moment in moments] == [1, 2, 3, 4]
    assert [moment.action for moment in moments] == [2, 0, 2, 0]


async def test_a_game_ends_with_the_episode_and_begins_anew_on_request(trying: Trying) -> None:
    now = await trying.open("CartPole-v1", mode="play")
    hold = messages.encode(commands.Hold(actions=(0,), begins=True))
    trying.worker.send(hold)
    while not now.terminated:
        now = await trying.next()

    again = await trying.ask(commands.StartOver, seed=8)
    trying.worker.send(hold)

    assert (again.step, again.episode) == (0, 2)
    assert (await trying.next()).step == 1
