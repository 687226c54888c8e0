"""Every family really trains in a locked worker, is drawn there, and is described there."""

import io
from collections.abc import AsyncIterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from PIL import Image
from stable_baselines3 import PPO

from app.catalog.environments.catalogue import CATALOGUE
from app.protocol import commands, messages
from app.run_config.config import RunConfig, RunRequest
from app.worker.envs.environments import find_environment, make_env, policy_kind
from app.worker.envs.vectorized.pipeline import make_training_envs
from app.workers.local_worker import LocalWorker, Piece, Received

SMALL = {"n_steps": 32, "batch_size": 32, "n_epochs": 1, "net_arch": [8]}
ONE_OF_EACH_FAMILY = {
    spec.family: spec.id for spec in reversed(CATALOGUE.values()) if spec.is_installed
}
OWN = ("GridWorld-v0", "GaussianBandit-v0", "BernoulliBandit-v0", "ContextualBandit-v0")


async def start() -> LocalWorker:
    worker = LocalWorker(memory_mb=2_048)
    await worker.start()
    return worker


@pytest.fixture
async def painter() -> AsyncIterator[LocalWorker]:
    worker = await start()
    yield worker
    worker.kill()
    await worker.wait()


async def hear_to_the_end(worker: LocalWorker) -> list[Received]:
    heard: list[Received] = []
    while not isinstance(heard[-1] if heard else None, messages.Finished | messages.Failed):
        heard.append(await worker.receive())
    await worker.wait()
    return heard


def file_of(heard: list[Received], name: str) -> bytes:
    pieces = [said for said in heard if isinstance(said, Piece) and said.header.name == name]
    return b"".join(piece.content for piece in pieces)


def files_of(heard: list[Received]) -> list[bytes]:
    files = [b""]
    for piece in heard:
        assert isinstance(piece, Piece)
        files[-1] += piece.content
        if piece.header.last:
            files.append(b"")
    return files[:-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "env_id", [*ONE_OF_EACH_FAMILY.values(), "CarRacing-v3", "Blackjack-v1", "Taxi-v4"]
)
async def test_every_family_trains_in_a_locked_worker(env_id: str) -> None:
    request = RunRequest(
        env_id=env_id,
        algorithm="PPO",
        total_timesteps=128,
        n_envs=2,
        hyperparameters=SMALL,
    )
    worker = await start()

    worker.send(messages.encode(RunConfig.from_request(request).job()))
    heard = await hear_to_the_end(worker)

    assert heard[-1] == messages.Finished(reason="budget"), heard[-1]
    assert PPO.load(io.BytesIO(file_of(heard, "model.zip"))).num_timesteps >= 128


@pytest.mark.slow
async def test_every_environment_is_drawn_in_a_locked_worker(painter: LocalWorker) -> None:
    env_ids = tuple(spec.id for spec in CATALOGUE.values() if spec.is_installed)

    painter.send(messages.encode(commands.Picture(env_ids=env_ids)))
    *heard, end = await hear_to_the_end(painter)

    assert end == messages.Finished(reason="budget")
    for env_id, file in zip(env_ids, files_of(heard), strict=True):
        picture = np.asarray(Image.open(io.BytesIO(file)))
        assert picture.ndim == 3, env_id
        assert np.ptp(picture) > 50, env_id


@pytest.mark.parametrize("env_id", OWN)
def test_our_own_environments_keep_gymnasium_s_rules(env_id: str) -> None:
    env = gym.make(find_environment(env_id), render_mode="rgb_array")

    check_env(env.unwrapped)

    env.close()


@pytest.mark.parametrize(
    ("space", "kind"),
    [
        (spaces.Box(-1, 1, (4,)), "Mlp"),
        (spaces.Discrete(5), "Mlp"),
        (spaces.Dict({"a": spaces.Box(-1, 1, (4,))}), "MultiInput"),
        (spaces.Box(0, 255, (84, 84, 1), np.uint8), "Cnn"),
        (spaces.Box(0, 255, (4, 84, 84), np.uint8), "Cnn"),
        (spaces.Box(0, 255, (36, 36, 3), np.uint8), "Cnn"),
        (spaces.Box(0, 255, (35, 84, 3), np.uint8), "Mlp"),
        (spaces.Box(0, 255, (7, 7, 3), np.uint8), "Mlp"),
    ],
)
def test_pictures_are_seen_by_convolutions_if_they_are_large_enough(
    space: spaces.Space[Any], kind: str
) -> None:
    assert policy_kind(space) == kind


def test_the_agent_of_an_atari_game_sees_grey_pictures_and_its_viewer_the_game() -> None:
    env = make_env("ALE/Breakout-v5", {}, drawn=True)

    seen, _ = env.reset(seed=1)
    shown = env.render()

    assert seen.shape == (84, 84, 1)
    assert isinstance(shown, np.ndarray)
    assert shown.shape == (210, 160, 3)
    env.close()


def test_the_return_of_an_atari_game_is_the_whole_game_s_though_lives_end_episodes() -> None:
    envs = make_training_envs(
        RunConfig.from_request(RunRequest(env_id="ALE/SpaceInvaders-v5", algorithm="PPO")).setup(),
        1,
    )
    envs.seed(3)
    envs.action_space.seed(3)
    envs.reset()
    learned_from: list[float] = []
    lives_lost = 0

    while True:
        _, rewards, dones, infos = envs.step([envs.action_space.sample()])
        learned_from.append(float(rewards[0]))
        lives_lost += int(dones[0])
        if "episode" in infos[0]:
            break

    assert lives_lost == 3
    assert set(learned_from) == {0.0, 1.0}
    assert infos[0]["episode"]["r"] > 3 * sum(learned_from)
    envs.close()


def test_an_atari_game_does_what_it_is_told_unless_asked_otherwise() -> None:
    env = make_env("ALE/Pong-v5", {})

    assert env.spec is not None
    assert env.spec.kwargs["repeat_action_probability"] == 0.0
    assert env.spec.kwargs["frameskip"] == 1
    env.close()


def test_a_slippery_grid_carries_the_agent_to_the_side() -> None:
    env = make_env("GridWorld-v0", {"slip": 1.0, "map": ".../.S./..G"}, drawn=True)

    rows = set()
    for seed in range(20):
        env.reset(seed=seed)
        (row, column), *_ = env.step(1)
        assert column == 0.5
        rows.add(float(row))

    assert rows == {0.0, 1.0}


def test_walls_stop_and_ends_pay_what_the_map_says() -> None:
    env = make_env("GridWorld-v0", {"map": "S#./7T."}, drawn=True)
    env.reset(seed=1)

    (row, column), reward, over, *_ = env.step(1)
    assert (row, column, reward, over) == (0.0, 0.0, pytest.approx(-0.01), False)
    _, reward, over, *_ = env.step(2)
    assert (reward, over) == (7.0, True)


def test_the_same_problem_is_the_same_bandit() -> None:
    rewards = []
    for problem in (1, 1, 2):
        env = make_env("GaussianBandit-v0", {"problem": problem, "noise": 0.0}, drawn=True)
        env.reset(seed=1)
        rewards.append([float(env.step(arm)[1]) for arm in range(10)])

    assert rewards[0] == rewards[1] != rewards[2]


async def describe(painter: LocalWorker, env_id: str, **env_kwargs: Any) -> Received:
    painter.send(messages.encode(commands.Describe(env_id=env_id, env_kwargs=env_kwargs)))
    return await painter.receive()


@pytest.mark.slow
async def test_any_installed_environment_is_described(painter: LocalWorker) -> None:
    said = await describe(painter, "CartPole-v0")

    assert isinstance(said, messages.Described)
    assert (said.action_kind, said.n_actions) == ("discrete", 2)
    assert (said.observation_kind, said.observation_shape) == ("box", (4,))
    assert said.observed[1] == messages.Component(name="component 2", low=None, high=None)
    assert said.max_episode_steps == 200
    assert said.reward_threshold == 195.0
    assert said.renders


@pytest.mark.slow
async def test_an_environment_of_a_family_is_described_as_its_agent_sees_it(
    painter: LocalWorker,
) -> None:
    said = await describe(painter, "ALE/Tetris-v5")

    assert isinstance(said, messages.Described)
    assert (said.observation_kind, said.observation_shape) == ("image", (84, 84, 1))
    assert said.frame_stack == 4
    assert said.max_episode_steps == 27_000


@pytest.mark.slow
async def test_a_module_may_be_named_and_options_are_passed_on(painter: LocalWorker) -> None:
    said = await describe(painter, "minigrid:MiniGrid-Empty-5x5-v0", agent_view_size=5)

    assert isinstance(said, messages.Described)
    assert said.observation_shape == (75,)
    assert said.max_episode_steps == 100


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env_id", "is_known", "words"),
    [
        ("NoSuchThing-v0", False, "NameNotFound"),
        ("nosuchmodule:Thing-v0", False, "nosuchmodule"),
        ("os:Thing-v0", False, "NameNotFound"),
        ("HalfCheetah-v1", False, ""),
        ("phys2d/CartPole-v1", True, "jax"),
        ("GymV26Environment-v0", True, ""),
    ],
)
async def test_what_can_not_be_made_is_told_with_the_reason(
    painter: LocalWorker, env_id: str, *, is_known: bool, words: str
) -> None:
    said = await describe(painter, env_id)

    assert isinstance(said, messages.NotDescribed), said
    assert said.is_known == is_known
    assert words in said.why


class _Odd(gym.Env[Any, Any]):
    """An environment with one odd thing about it."""

    def __init__(self, seen: spaces.Space[Any], actions: spaces.Space[Any]) -> None:
        self.observation_space, self.action_space = seen, actions

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self.observation_space.sample(), 0.0, False, False, {}


_BOX = spaces.Box(-1.0, 1.0, (2,))
_TWO = spaces.Discrete(2)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("seen", "actions", "words"),
    [
        (_BOX, spaces.Dict({"a": _TWO}), "actions of the kind Dict"),
        (_BOX, spaces.Tuple((_TWO, _TWO)), "actions of the kind Tuple"),
        (_BOX, spaces.Discrete(3, start=1), "counted from 1"),
        (spaces.Text(5), _TWO, "observations of the kind Text"),
        (spaces.Dict({"a": _BOX, "b": spaces.Text(5)}), _TWO, "observations of the kind Text"),
        (spaces.Tuple((_BOX, spaces.Sequence(_BOX))), _TWO, "observations of the kind Tuple"),
        (spaces.Sequence(_BOX), _TWO, "observations of the kind Sequence"),
    ],
)
def test_what_no_algorithm_can_take_is_refused_with_a_sentence(
    seen: spaces.Space[Any], actions: spaces.Space[Any], words: str
) -> None:
    from app.worker.envs.describe import describe

    gym.register("Odd-v0", entry_point=lambda **_: _Odd(seen, actions))

    said = describe(commands.Describe(env_id="Odd-v0"))

    gym.registry.pop("Odd-v0")
    assert isinstance(said, messages.NotDescribed)
    assert words in said.why
    assert said.why.endswith(".")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("seen", "kind", "shape"),
    [
        (spaces.Tuple((_BOX, _TWO)), "box", (4,)),
        (spaces.Dict({"a": _BOX, "b": _TWO}), "dict", (4,)),
        (spaces.Dict({"a": _BOX, "b": spaces.Dict({"c": _TWO})}), "box", (4,)),
        (spaces.MultiBinary(3), "multi_binary", (3,)),
        (spaces.MultiDiscrete([2, 3]), "multi_discrete", (2,)),
    ],
)
def test_what_can_be_made_one_list_of_numbers_is(
    seen: spaces.Space[Any], kind: str, shape: tuple[int, ...]
) -> None:
    from app.worker.envs.describe import describe

    gym.register("Odd-v0", entry_point=lambda **_: _Odd(seen, _TWO))

    said = describe(commands.Describe(env_id="Odd-v0"))

    gym.registry.pop("Odd-v0")
    assert isinstance(said, messages.Described), said
    assert (said.observation_kind, said.observation_shape) == (kind, shape)
