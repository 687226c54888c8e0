"""Array environments are bit-identical to Gymnasium's in every step."""

import pickle
from collections.abc import Iterator
from dataclasses import astuple
from itertools import count, islice
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

from app.protocol import commands
from app.protocol.wrappers import Wrappers
from app.run_config.config import RunConfig
from app.run_config.request import RunRequest
from app.worker.envs.replayable import EpisodeSoFar, Replayable
from app.worker.envs.vectorized import array_envs as selection
from app.worker.envs.vectorized import pipeline
from app.worker.envs.vectorized.array_envs import array_envs, make_array_envs
from app.worker.envs.vectorized.array_vec_env import ArrayVecEnv
from app.worker.envs.vectorized.pipeline import (
    make_evaluation_envs,
    make_training_envs,
    make_wrapped,
)
from app.worker.models.models import build_model
from app.worker.training.checkpoint import restore, take_checkpoint

# As in a worker; several threads on tiny tensors only contend.
torch.set_num_threads(1)

ALL = ("CartPole-v1", "MountainCar-v0", "Pendulum-v1", "Acrobot-v1")
STEPS = {1: 1_100, 3: 600, 8: 300, 17: 210, 64: 100}
"""Steps to compare by number of environments; a single one reaches the longest time limit."""
EXTREME = np.array([-np.inf, -1e15, -2, -1, -0.0, 1e-42, 1, 1.0000001, 2, 1e15, np.inf, np.nan])


def setup_of(env_id: str, **options: Any) -> commands.Setup:
    return commands.Setup(env_id=env_id, algorithm="PPO", hyperparameters={}, **options)


def arrays(setup: commands.Setup, n_envs: int) -> ArrayVecEnv:
    envs = make_array_envs(setup, n_envs)
    assert envs is not None
    return envs


def separate(setup: commands.Setup, n_envs: int) -> DummyVecEnv:
    return DummyVecEnv([lambda: Replayable(make_wrapped(setup, setup.wrappers))] * n_envs)


IMPLEMENTATIONS = {"arrays": arrays, "separate": separate}


def random_actions(envs: VecEnv, seed: int = 0) -> Iterator[Any]:
    random = np.random.default_rng(seed)
    space: Any = envs.action_space
    while True:
        if isinstance(space, gym.spaces.Discrete):
            yield random.integers(space.n, size=envs.num_envs)
        else:
            size = (envs.num_envs, *space.shape)
            yield random.uniform(space.low, space.high, size).astype(np.float32)


def extreme_actions(envs: VecEnv) -> Iterator[Any]:
    """Repeat one direction for long, or play invalid and huge values."""
    random = np.random.default_rng(0)
    space: Any = envs.action_space
    for step in count():
        if isinstance(space, gym.spaces.Discrete):
            yield np.full(envs.num_envs, step // 60 % space.n)
        else:
            likely = np.where(np.isnan(EXTREME), 0.002, 1.0)
            size = (envs.num_envs, *space.shape)
            yield random.choice(EXTREME, size, p=likely / likely.sum()).astype(np.float32)


def good_actions(env_id: str, observations: Any) -> Any:
    """Play well enough to reach the goal or the time limit, which random actions never do."""
    match env_id:
        case "CartPole-v1":
            return (observations[:, 2] + observations[:, 3] > 0).astype(np.int64)
        case "MountainCar-v0":
            return np.where(observations[:, 1] >= 0, 2, 0)
        case "Acrobot-v1":
            return np.where(observations[:, 4] >= 0, 0, 2)
    return np.where(observations[:, -1:] >= 0, 1, -1).astype(np.float32)


def assert_same(one: Any, other: Any) -> None:
    """Compare values and types; only times may differ."""
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one.keys() - {"t"}:
            assert_same(one[name], other[name])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for ours, theirs in zip(one, other, strict=True):
            assert_same(ours, theirs)
    elif isinstance(one, np.ndarray | np.generic):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if one.tobytes() != other.tobytes():
            assert np.isnan(one).any()
            np.testing.assert_array_equal(one, other)
    else:
        assert type(one) is type(other)
        assert one == other or (one != one and other != other)


def step_both(ours: VecEnv, theirs: VecEnv, actions: Any) -> Any:
    """Compare the results, and the underlying states in double precision."""
    answer = ours.step(actions)
    assert_same(answer, theirs.step(actions))
    states = np.array(theirs.get_attr("state"), dtype=np.float64)
    assert_same(np.array(ours.get_attr("state"))[:, : states.shape[1]], states)
    # Monitor keeps the rewards of current episodes; finished ones are part of the results.
    running = [i for i, is_over in enumerate(answer[2]) if not is_over]
    returns = (envs.get_attr("rewards", indices=running) for envs in (ours, theirs))
    assert_same(*([rewards[-1] for rewards in one] for one in returns))
    return answer


def reset_both(setup: commands.Setup, n_envs: int, seed: int = 5) -> tuple[VecEnv, VecEnv]:
    ours, theirs = arrays(setup, n_envs), separate(setup, n_envs)
    ours.seed(seed)
    theirs.seed(seed)
    assert_same(ours.reset(), theirs.reset())
    return ours, theirs


@pytest.mark.parametrize("env_id", ALL)
@pytest.mark.parametrize("n_envs", STEPS)
def test_every_step_equals_gymnasiums_for_any_number_of_environments(
    env_id: str, n_envs: int
) -> None:
    ours, theirs = reset_both(setup_of(env_id), n_envs)

    for actions in islice(random_actions(ours), STEPS[n_envs]):
        step_both(ours, theirs, actions)


@pytest.mark.filterwarnings("ignore::UserWarning")  # Gymnasium's checker, of observations
@pytest.mark.parametrize("env_id", ALL)
def test_every_step_equals_gymnasiums_with_extreme_actions(env_id: str) -> None:
    ours, theirs = reset_both(setup_of(env_id), 17)

    for actions in islice(extreme_actions(ours), 200):
        step_both(ours, theirs, actions)


@pytest.mark.parametrize("env_id", ALL)
def test_every_step_equals_gymnasiums_up_to_the_goal(env_id: str) -> None:
    ours, theirs = reset_both(setup_of(env_id), 3)
    observed: Any = ours.reset()
    theirs.reset()
    endings = set()

    for _ in range(600):
        observed, _, _, infos = step_both(ours, theirs, good_actions(env_id, observed))
        endings |= {info["TimeLimit.truncated"] for info in infos if "episode" in info}

    assert endings == {env_id in ("CartPole-v1", "Pendulum-v1")}


@pytest.mark.parametrize(("env_id", "name", "value"), [
    ("Pendulum-v1", "g", 9.81),
    ("MountainCar-v0", "goal_velocity", 0.05),
])  # fmt: skip
def test_arguments_of_an_environment_change_its_physics_as_in_gymnasium(
    env_id: str, name: str, value: float
) -> None:
    ours, theirs = reset_both(setup_of(env_id, env_kwargs={name: value}), 8)

    observed: Any = ours.reset()
    theirs.reset()

    for _ in range(250):
        observed, *_ = step_both(ours, theirs, good_actions(env_id, observed))

    assert ours.get_attr(name) == theirs.get_attr(name) == [value] * 8


def test_the_time_limit_truncates_an_episode_and_the_next_begins_immediately() -> None:
    setup = setup_of("Pendulum-v1", wrappers=Wrappers(time_limit=7))
    ours, theirs = reset_both(setup, 8)

    for step, actions in enumerate(islice(random_actions(ours), 30), start=1):
        answer = ours.step(actions)
        assert_same(answer, theirs.step(actions))
        observed, _, dones, infos = answer
        assert dones.all() == dones.any() == (step % 7 == 0)
        if dones.all():
            assert {info["episode"]["l"] for info in infos} == {7}
            assert all(info["TimeLimit.truncated"] for info in infos)
            assert not np.array_equal(infos[0]["terminal_observation"], observed[0])


def test_a_seed_applies_to_one_reset_only() -> None:
    ours, theirs = reset_both(setup_of("CartPole-v1"), 3)

    again = ours.reset()

    assert_same(again, theirs.reset())
    ours.seed(5)
    first = ours.reset()
    assert not np.array_equal(first, again)
    ours.seed(5)
    ours._reset_seeds()
    assert not np.array_equal(ours.reset(), first)
    states = [random.bit_generator.state for random in ours.get_attr("np_random")]
    assert len({state["state"]["state"] for state in states}) == 3


def test_without_a_seed_all_environments_differ() -> None:
    setup = setup_of("CartPole-v1")

    first = np.concatenate([arrays(setup, 4).reset(), arrays(setup, 4).reset()])

    assert len(np.unique(first, axis=0)) == 8


@pytest.mark.parametrize("env_id", ALL)
def test_results_have_gymnasiums_types_and_are_copies(env_id: str) -> None:
    ours, theirs = reset_both(setup_of(env_id), 8)
    actions = next(random_actions(ours))

    def stored() -> Any:
        return ours.env_method("current_episode", indices=0)[0].observation

    ours.reset()[:] = 7
    assert not (stored() == 7).any()
    observed, rewards, dones, infos = ours.step(actions)
    observed[:] = 7
    assert not (stored() == 7).any()
    stored()[:] = 7
    assert not (stored() == 7).any()
    infos[0]["more"] = 1
    assert not any("more" in info for info in infos[1:] + ours.step(actions)[3])
    assert (observed.dtype, rewards.dtype, dones.dtype) == (np.float32, np.float32, np.bool_)
    assert observed.flags.c_contiguous
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.render_mode is theirs.render_mode is None
    assert ours.env_is_wrapped(Monitor) == theirs.env_is_wrapped(Monitor)


@pytest.mark.parametrize("actions", [[0, 1, 2], [0, -1, 1]])
def test_an_invalid_action_is_rejected(actions: list[int]) -> None:
    envs = arrays(setup_of("CartPole-v1"), 3)
    envs.reset()

    with pytest.raises(ValueError, match=r"aren't in Discrete\(2\)"):
        envs.step(np.array(actions))


@pytest.mark.parametrize(("env_id", "actions"), [
    ("CartPole-v1", [0.0, 1.0]), ("Pendulum-v1", [[0.1], [0.2]]),
])  # fmt: skip
def test_actions_of_another_dtype_are_rejected(env_id: str, actions: list[Any]) -> None:
    envs = arrays(setup_of(env_id), 2)
    envs.reset()

    with pytest.raises(TypeError, match="Cannot cast"):
        envs.step(np.array(actions))


def test_a_single_environment_can_be_reset() -> None:
    ours, theirs = reset_both(setup_of("Acrobot-v1"), 3)

    for indices, options in ((1, {}), (2, {"seed": 9})):
        answers = ours.env_method("reset", indices=indices, **options)
        assert_same(answers, theirs.env_method("reset", indices=indices, **options))

    for actions in islice(random_actions(ours), 20):
        assert_same(ours.step(actions), theirs.step(actions))


def test_the_current_episode_equals_that_of_replayable() -> None:
    ours, theirs = reset_both(setup_of("CartPole-v1"), 8)

    for actions in islice(random_actions(ours), 60):
        ours.step(actions)
        theirs.step(actions)

        actual, expected = ours.env_method("current_episode"), theirs.env_method("current_episode")
        assert_same([astuple(one) for one in actual], [astuple(one) for one in expected])


@pytest.mark.parametrize("env_id", ALL)
@pytest.mark.parametrize(("before", "after"), [
    ("arrays", "separate"), ("separate", "arrays"), ("arrays", "arrays"),
])  # fmt: skip
def test_an_episode_continues_in_the_other_implementation(
    env_id: str, before: str, after: str
) -> None:
    setup = setup_of(env_id, wrappers=Wrappers(time_limit=40))
    source = IMPLEMENTATIONS[before](setup, 8)
    source.seed(5)
    source.reset()
    for actions in islice(random_actions(source), 65):
        source.step(actions)
    episodes = pickle.loads(pickle.dumps(source.env_method("current_episode")))

    target = IMPLEMENTATIONS[after](setup, 8)
    target.reset()
    for actions in islice(random_actions(target, seed=1), 27):
        target.step(actions)
    replayed = [
        target.env_method("replay_episode", one, indices=i)[0] for i, one in enumerate(episodes)
    ]

    assert replayed == [True] * 8
    for actions in islice(random_actions(source, seed=2), 100):
        assert_same(source.step(actions), target.step(actions))


def test_a_replay_that_diverges_is_reported() -> None:
    envs = arrays(setup_of("CartPole-v1"), 3)
    envs.seed(5)
    envs.reset()
    for actions in islice(random_actions(envs), 5):
        envs.step(actions)
    seed, state, actions, observation, _ = astuple(envs.env_method("current_episode", indices=1)[0])

    def replays(*episode: Any) -> bool:
        answers: list[bool] = envs.env_method("replay_episode", EpisodeSoFar(*episode), indices=1)
        return answers[0]

    assert replays(seed, state, actions, observation)
    assert not replays(seed, state, actions, observation + 1)
    assert not replays(seed, state, [np.int64(1)] * 100, observation)
    assert not replays(seed, state, [np.int64(1)] * 1_000, observation)
    assert replays(seed, state, actions, observation)


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
@pytest.mark.parametrize("arrays_first", [True, False])
def test_a_checkpoint_resumes_in_the_other_implementation(
    monkeypatch: pytest.MonkeyPatch, env_id: str, *, arrays_first: bool
) -> None:
    request = RunRequest(env_id=env_id, algorithm="A2C", hyperparameters={"net_arch": [8]})
    setup = RunConfig.from_request(request).setup()

    def envs_of(*, use_arrays: bool) -> VecEnv:
        offered = array_envs if use_arrays else lambda *_: None
        monkeypatch.setattr(pipeline, "array_envs", offered)
        envs = make_training_envs(setup, 8)
        assert isinstance(envs.unwrapped, ArrayVecEnv) == use_arrays
        return envs

    envs = envs_of(use_arrays=arrays_first)
    whole = build_model(setup, envs, seed=3)
    whole.learn(400)
    checkpoint = take_checkpoint(whole, envs, {})
    whole.learn(800, reset_num_timesteps=False)
    restored = restore(checkpoint, setup, envs_of(use_arrays=not arrays_first))
    restored.model.learn(800, reset_num_timesteps=False)

    assert restored.notes == []
    ours, theirs = whole.policy.state_dict(), restored.model.policy.state_dict()
    assert all((ours[name] == theirs[name]).all() for name in ours)


@pytest.mark.parametrize(
    "setup",
    [
        setup_of("CartPole-v1", wrappers=Wrappers(frame_skip=2)),
        setup_of("CartPole-v1", wrappers=Wrappers(sticky_actions=0.1)),
        setup_of("CartPole-v1", wrappers=Wrappers(action_noise=0.1)),
        setup_of("CartPole-v1", wrappers=Wrappers(observation_noise=0.1)),
        setup_of("CartPole-v1", wrappers=Wrappers(randomize={"gravity": (9.0, 10.0)})),
        setup_of("CartPole-v1", wrappers=Wrappers(time_limit=1_000_000)),
        setup_of("CartPole-v1", env_kwargs={"sutton_barto_reward": True}),
        setup_of("CartPole-v1", masks_actions=True),
        setup_of("GridWorld-v0"),
        setup_of("MountainCarContinuous-v0"),
    ],
)
def test_unsupported_options_use_ordinary_environments(
    setup: commands.Setup,
) -> None:
    assert array_envs(setup, 64) is None


def test_few_environments_are_stepped_one_by_one() -> None:
    assert array_envs(setup_of("CartPole-v1"), 2) is None


def test_processors_that_round_arrays_differently_use_ordinary_environments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check = selection._arrays_round_like_scalars.__wrapped__
    assert check()
    sin = np.sin

    monkeypatch.setattr(np, "sin", lambda x: sin(x) + (np.size(x) > 1) * 1e-16)

    assert not check()


def test_only_training_uses_array_environments() -> None:
    setup = setup_of("CartPole-v1", wrappers=Wrappers(frame_stack=2, normalize_observation=True))

    assert isinstance(make_training_envs(setup, 8).unwrapped, ArrayVecEnv)
    assert isinstance(make_evaluation_envs(setup).unwrapped, DummyVecEnv)
