"""Every family of environments can be trained on, rendered and described in a sandboxed worker."""

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

from app.catalog.environments.catalogue import ENVIRONMENTS
from app.protocol import commands, messages
from app.run_config.config import RunConfig
from app.run_config.request import RunRequest
from app.worker.envs.environments import find_environment, make_env, policy_kind
from app.workers.local_worker import LocalWorker
from app.workers.worker import Piece, Received

SMALL = {"n_steps": 32, "batch_size": 32, "n_epochs": 1, "net_arch": [8]}
ONE_PER_FAMILY = {
    spec.family: spec.id for spec in reversed(ENVIRONMENTS.values()) if spec.is_installed
}
OWN = ("GridWorld-v0", "GaussianBandit-v0", "BernoulliBandit-v0", "ContextualBandit-v0")


async def start() -> LocalWorker:
    worker = LocalWorker(memory_mb=2_048)
    await worker.start()
    return worker


@pytest.fixture
async def worker() -> AsyncIterator[LocalWorker]:
    started = await start()
    yield started
    started.kill()
    await started.wait()


async def receive_all(worker: LocalWorker) -> list[Received]:
    received: list[Received] = []
    while not isinstance(received[-1] if received else None, messages.Finished | messages.Failed):
        received.append(await worker.receive())
    await worker.wait()
    return received


def file_of(received: list[Received], name: str) -> bytes:
    pieces = [
        message
        for message in received
        if isinstance(message, Piece) and message.header.name == name
    ]
    return b"".join(piece.content for piece in pieces)


def files_of(received: list[Received]) -> list[bytes]:
    files = [b""]
    for piece in received:
        assert isinstance(piece, Piece)
        files[-1] += piece.content
        if piece.header.last:
            files.append(b"")
    return files[:-1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "env_id", [*ONE_PER_FAMILY.values(), "CarRacing-v3", "Blackjack-v1", "Taxi-v4"]
)
async def test_every_family_trains_in_a_sandboxed_worker(env_id: str) -> None:
    request = RunRequest(
        env_id=env_id,
        algorithm="PPO",
        total_timesteps=128,
        n_envs=2,
        hyperparameters=SMALL,
    )
    worker = await start()

    worker.send(messages.encode(RunConfig.from_request(request).job()))
    received = await receive_all(worker)

    assert received[-1] == messages.Finished(reason="budget"), received[-1]
    assert PPO.load(io.BytesIO(file_of(received, "model.zip"))).num_timesteps >= 128


@pytest.mark.slow
async def test_every_environment_is_rendered_in_a_sandboxed_worker(worker: LocalWorker) -> None:
    env_ids = tuple(spec.id for spec in ENVIRONMENTS.values() if spec.is_installed)

    worker.send(messages.encode(commands.RenderPreviews(env_ids=env_ids)))
    *received, end = await receive_all(worker)

    assert end == messages.Finished(reason="budget")
    for env_id, file in zip(env_ids, files_of(received), strict=True):
        frame = np.asarray(Image.open(io.BytesIO(file)))
        assert frame.ndim == 3, env_id
        assert np.ptp(frame) > 50, env_id


@pytest.mark.parametrize("env_id", OWN)
def test_our_own_environments_pass_gymnasiums_checker(env_id: str) -> None:
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
def test_large_enough_images_use_a_cnn_policy(space: spaces.Space[Any], kind: str) -> None:
    assert policy_kind(space) == kind


def test_the_agent_of_an_atari_game_observes_gray_images_and_viewers_see_the_full_frame() -> None:
    env = make_env("ALE/Breakout-v5", {}, rendered=True)

    observations, _ = env.reset(seed=1)
    frame = env.render()

    assert observations.shape == (84, 84, 1)
    assert isinstance(frame, np.ndarray)
    assert frame.shape == (210, 160, 3)
    env.close()


def test_a_slippery_grid_moves_the_agent_sideways() -> None:
    env = make_env("GridWorld-v0", {"slip": 1.0, "map": ".../.S./..G"}, rendered=True)

    rows = set()
    for seed in range(20):
        env.reset(seed=seed)
        (row, column), *_ = env.step(1)
        assert column == 0.5
        rows.add(float(row))

    assert rows == {0.0, 1.0}


def test_walls_block_and_terminal_cells_give_the_rewards_of_the_map() -> None:
    env = make_env("GridWorld-v0", {"map": "S#./7T."}, rendered=True)
    env.reset(seed=1)

    (row, column), reward, over, *_ = env.step(1)
    assert (row, column, reward, over) == (0.0, 0.0, pytest.approx(-0.01), False)
    _, reward, over, *_ = env.step(2)
    assert (reward, over) == (7.0, True)


def test_the_same_problem_number_gives_the_same_bandit() -> None:
    rewards = []
    for problem in (1, 1, 2):
        env = make_env("GaussianBandit-v0", {"problem": problem, "noise": 0.0}, rendered=True)
        env.reset(seed=1)
        rewards.append([float(env.step(arm)[1]) for arm in range(10)])

    assert rewards[0] == rewards[1] != rewards[2]


async def describe(worker: LocalWorker, env_id: str, **env_kwargs: Any) -> Received:
    worker.send(messages.encode(commands.Describe(env_id=env_id, env_kwargs=env_kwargs)))
    return await worker.receive()


@pytest.mark.slow
async def test_any_installed_environment_is_described(worker: LocalWorker) -> None:
    message = await describe(worker, "CartPole-v0")

    assert isinstance(message, messages.Described)
    assert (message.action_kind, message.n_actions) == ("discrete", 2)
    assert (message.observation_kind, message.observation_shape) == ("box", (4,))
    assert message.observed[1] == messages.Component(name="component 2", low=None, high=None)
    assert message.max_episode_steps == 200
    assert message.reward_threshold == 195.0
    assert message.renders


@pytest.mark.slow
async def test_an_environment_is_described_after_its_familys_preprocessing(
    worker: LocalWorker,
) -> None:
    message = await describe(worker, "ALE/Tetris-v5")

    assert isinstance(message, messages.Described)
    assert (message.observation_kind, message.observation_shape) == ("image", (84, 84, 1))
    assert message.frame_stack == 4
    assert message.max_episode_steps == 27_000


@pytest.mark.slow
async def test_ids_may_name_a_module_and_arguments_are_passed_on(worker: LocalWorker) -> None:
    message = await describe(worker, "minigrid:MiniGrid-Empty-5x5-v0", agent_view_size=5)

    assert isinstance(message, messages.Described)
    assert message.observation_shape == (75,)
    assert message.max_episode_steps == 100


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
async def test_an_environment_that_cannot_be_created_is_reported_with_the_reason(
    worker: LocalWorker, env_id: str, *, is_known: bool, words: str
) -> None:
    message = await describe(worker, env_id)

    assert isinstance(message, messages.NotDescribed), message
    assert message.is_known == is_known
    assert words in message.why


class _Custom(gym.Env[Any, Any]):
    """An environment with given spaces."""

    def __init__(self, observations: spaces.Space[Any], actions: spaces.Space[Any]) -> None:
        self.observation_space, self.action_space = observations, actions

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
    ("observations", "actions", "words"),
    [
        (_BOX, spaces.Dict({"a": _TWO}), "supports Dict actions"),
        (_BOX, spaces.Tuple((_TWO, _TWO)), "supports Tuple actions"),
        (_BOX, spaces.Discrete(3, start=1), "starts at 1"),
        (spaces.Text(5), _TWO, "supports Text observations"),
        (spaces.Dict({"a": _BOX, "b": spaces.Text(5)}), _TWO, "supports Text observations"),
        (spaces.Tuple((_BOX, spaces.Sequence(_BOX))), _TWO, "supports Tuple observations"),
        (spaces.Sequence(_BOX), _TWO, "supports Sequence observations"),
    ],
)
def test_spaces_that_no_algorithm_supports_are_rejected_with_a_reason(
    observations: spaces.Space[Any], actions: spaces.Space[Any], words: str
) -> None:
    from app.worker.envs.describe import describe

    gym.register("Odd-v0", entry_point=lambda **_: _Custom(observations, actions))

    message = describe(commands.Describe(env_id="Odd-v0"))

    gym.registry.pop("Odd-v0")
    assert isinstance(message, messages.NotDescribed)
    assert words in message.why
    assert message.why.endswith(".")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("observations", "kind", "shape"),
    [
        (spaces.Tuple((_BOX, _TWO)), "box", (4,)),
        (spaces.Dict({"a": _BOX, "b": _TWO}), "dict", (4,)),
        (spaces.Dict({"a": _BOX, "b": spaces.Dict({"c": _TWO})}), "box", (4,)),
        (spaces.MultiBinary(3), "multi_binary", (3,)),
        (spaces.MultiDiscrete([2, 3]), "multi_discrete", (2,)),
    ],
)
def test_nested_observations_are_flattened(
    observations: spaces.Space[Any], kind: str, shape: tuple[int, ...]
) -> None:
    from app.worker.envs.describe import describe

    gym.register("Odd-v0", entry_point=lambda **_: _Custom(observations, _TWO))

    message = describe(commands.Describe(env_id="Odd-v0"))

    gym.registry.pop("Odd-v0")
    assert isinstance(message, messages.Described), message
    assert (message.observation_kind, message.observation_shape) == (kind, shape)
