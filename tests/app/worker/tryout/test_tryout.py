from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest

from app.protocol import commands, messages
from app.workers.local_worker import LocalWorker
from app.workers.worker import Received, RenderedFrame

pytestmark = pytest.mark.slow


class TryoutSession:
    """A worker that tries out an environment, and the messages it sent."""

    def __init__(self, worker: LocalWorker) -> None:
        self.worker = worker
        self.received: list[Received] = []
        self._orders = 0

    async def open(self, env_id: str, **options: Any) -> messages.Happened:
        job = {"seed": 3, "mode": "step", "draws": True, "new_env_each": False, **options}
        self.worker.send(messages.encode(commands.TryOut(env_id=env_id, **job)))
        return await self.next()

    async def send(self, kind: Any, **options: Any) -> messages.Happened:
        self._orders += 1
        self.worker.send(messages.encode(kind(order=self._orders, **options)))
        while (transition := await self.next()).order < self._orders:
            pass
        return transition

    async def next(self) -> messages.Happened:
        while True:
            self.received.append(message := await self.worker.receive())
            assert not isinstance(message, messages.Failed), message
            if isinstance(message, messages.Happened):
                return message

    async def next_frame(self) -> RenderedFrame:
        while True:
            if isinstance(message := await self.worker.receive(), RenderedFrame):
                return message


@pytest.fixture
async def session() -> AsyncIterator[TryoutSession]:
    worker = LocalWorker(memory_mb=2_048)
    await worker.start()
    yield TryoutSession(worker)
    worker.kill()
    await worker.wait()


async def start_session() -> TryoutSession:
    worker = LocalWorker(memory_mb=2_048)
    await worker.start()
    return TryoutSession(worker)


def values_without_order(transition: messages.Happened) -> dict[str, Any]:
    return {
        name: getattr(transition, name) for name in transition.__struct_fields__ if name != "order"
    }


async def play(
    session: TryoutSession, env_id: str, actions: list[Any], **options: Any
) -> list[Any]:
    transitions = [await session.open(env_id, **options)]
    for action in actions:
        transitions.append(await session.send(commands.Act, action=action))
    return [values_without_order(transition) for transition in transitions]


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
    session: TryoutSession, env_id: str, actions: list[Any], anew: bool
) -> None:
    other = await start_session()

    first = await play(session, env_id, actions, new_env_each=anew)
    second = await play(other, env_id, actions, new_env_each=anew)

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
async def test_undo_restores_the_exact_state_also_in_a_later_episode(
    session: TryoutSession, env_id: str, actions: list[Any], anew: bool
) -> None:
    await session.open(env_id, new_env_each=anew)
    for seed in (3, 11):
        transitions = [await session.send(commands.StartOver, seed=seed)]
        for action in actions:
            transitions.append(await session.send(commands.Act, action=action))

        for expected in reversed(transitions[:-1]):
            transition = await session.send(commands.TakeBack)
            assert values_without_order(transition) == values_without_order(expected)
            assert transition.is_exact

    assert (await session.send(commands.TakeBack)).step == 0


async def test_after_an_undo_the_same_action_leads_to_the_same_state(
    session: TryoutSession,
) -> None:
    await session.open("LunarLander-v3")
    for _ in range(5):
        await session.send(commands.Act, action=2)
    forward = await session.send(commands.Act, action=1)

    await session.send(commands.TakeBack)
    repeated = await session.send(commands.Act, action=1)

    assert values_without_order(repeated) == values_without_order(forward)


async def test_a_reset_uses_the_same_seed_or_another(session: TryoutSession) -> None:
    first = await session.open("CartPole-v1")
    await session.send(commands.Act, action=1)

    same = await session.send(commands.StartOver)
    other = await session.send(commands.StartOver, seed=4)

    assert same.observation == first.observation
    assert (other.seed, other.step, other.return_, other.action) == (4, 0, 0.0, None)
    assert other.observation != first.observation


async def test_random_actions_are_reproducible_by_seed(session: TryoutSession) -> None:
    await session.open("CartPole-v1")
    first = [(await session.send(commands.Act)).action for _ in range(8)]
    await session.send(commands.StartOver)

    repeated = [(await session.send(commands.Act)).action for _ in range(8)]

    assert first == repeated
    assert set(first) == {0, 1}


async def test_the_end_of_an_episode_is_reported_and_no_step_follows(
    session: TryoutSession,
) -> None:
    transition = await session.open("CartPole-v1")
    while not transition.terminated:
        transition = await session.send(commands.Act, action=1)

    after = await session.send(commands.Act, action=1)

    assert after.step == transition.step
    assert transition.return_ == transition.step
    assert (transition.terminated, transition.truncated) == (True, False)


async def test_action_bounds_and_returns_of_random_actions_are_reported(
    session: TryoutSession,
) -> None:
    await session.open("Pendulum-v1", measures_random=True)
    while not isinstance(session.received[-1], messages.PlayedAtRandom):
        session.received.append(await session.worker.receive())

    opened, measured = session.received[0], session.received[-1]
    assert opened == messages.Opened(lows=(-2.0,), highs=(2.0,), fps=30.0)
    assert isinstance(measured, messages.PlayedAtRandom)
    assert len(measured.returns) >= 1
    assert -2_000 < np.mean(measured.returns) < -700


async def test_image_observations_are_not_sent_as_numbers(session: TryoutSession) -> None:
    transition = await session.open("CarRacing-v3", new_env_each=True)

    assert transition.observation is None
    assert any(isinstance(message, RenderedFrame) for message in session.received)


async def test_an_environment_without_rendering_can_be_stepped_through(
    session: TryoutSession,
) -> None:
    await session.open("GaussianBandit-v0", draws=False)

    transition = await session.send(commands.Act, action=9)

    assert transition.step == 1
    assert not any(isinstance(message, RenderedFrame) for message in session.received)


async def test_frames_are_rendered_only_while_there_are_viewers(session: TryoutSession) -> None:
    await session.open("CartPole-v1")
    await session.send(commands.Act, action=0)
    await session.send(commands.Act, action=0)
    frames = [message for message in session.received if isinstance(message, RenderedFrame)]

    session.worker.send(messages.encode(commands.SetRendering(on=True)))
    frame = await session.next_frame()

    assert [one.header.step for one in frames] == [0]
    assert (frame.header.kind, frame.header.step) == ("preview", 2)
    assert frame.header.return_ == 2.0
    assert frame.jpeg.startswith(b"\xff\xd8")


async def test_a_random_agent_plays_one_episode_after_another(session: TryoutSession) -> None:
    transition = await session.open("CartPole-v1", mode="random")
    while transition.episode < 2:
        transition = await session.next()

    assert (transition.step, transition.seed) == (0, 4)


async def test_a_game_waits_for_the_first_key_and_then_runs_by_itself(
    session: TryoutSession,
) -> None:
    await session.open("MountainCar-v0", mode="play")
    session.worker.send(messages.encode(commands.Hold(actions=(1,), begins=False)))
    waiting = await session.send(commands.SetMode, speed=0.5)

    session.worker.send(messages.encode(commands.Hold(actions=(2, 0), begins=True)))
    transitions = [await session.next() for _ in range(4)]

    assert waiting.step == 0
    assert [transition.step for transition in transitions] == [1, 2, 3, 4]
    assert [transition.action for transition in transitions] == [2, 0, 2, 0]


async def test_a_game_ends_with_the_episode_and_restarts_on_request(session: TryoutSession) -> None:
    transition = await session.open("CartPole-v1", mode="play")
    hold = messages.encode(commands.Hold(actions=(0,), begins=True))
    session.worker.send(hold)
    while not transition.terminated:
        transition = await session.next()

    restarted = await session.send(commands.StartOver, seed=8)
    session.worker.send(hold)

    assert (restarted.step, restarted.episode) == (0, 2)
    assert (await session.next()).step == 1
