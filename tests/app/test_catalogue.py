import inspect
import os

import pytest

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

import gymnasium as gym
import numpy as np
import sb3_contrib
import stable_baselines3

from app.algorithms.catalogue import CATALOGUE as ALGORITHMS
from app.algorithms.spec import AlgorithmSpec
from app.environments.catalogue import CATALOGUE as ENVIRONMENTS
from app.environments.spec import ActionKind, EnvSpec

_OF_THE_POLICY = {"net_arch", "activation_fn"}
_NOT_HYPERPARAMETERS = {
    "policy",
    "env",
    "seed",
    "device",
    "verbose",
    "policy_kwargs",
    "tensorboard_log",
    "stats_window_size",
    "_init_setup_model",
    # How data is held, not how it is learned from.
    "rollout_buffer_class",
    "rollout_buffer_kwargs",
    "replay_buffer_class",
    "replay_buffer_kwargs",
    "optimize_memory_usage",
}


@pytest.mark.parametrize("spec", ENVIRONMENTS.values(), ids=lambda spec: spec.id)
def test_what_we_say_of_an_environment_is_true(spec: EnvSpec) -> None:
    env = gym.make(spec.id)
    space, actions = env.observation_space, env.action_space
    assert isinstance(space, gym.spaces.Box)
    lows = [-np.inf if seen.low is None else seen.low for seen in spec.observed]
    highs = [np.inf if seen.high is None else seen.high for seen in spec.observed]

    assert space.shape == spec.observation_shape
    np.testing.assert_allclose(space.low, lows, rtol=1e-6)
    np.testing.assert_allclose(space.high, highs, rtol=1e-6)
    assert env.spec is not None
    assert env.spec.max_episode_steps == spec.max_episode_steps
    assert env.spec.reward_threshold == spec.solved_threshold
    if spec.action_kind is ActionKind.DISCRETE:
        assert isinstance(actions, gym.spaces.Discrete)
        assert actions.n == spec.n_actions == len(spec.action_labels)
    else:
        assert actions.shape == spec.action_shape == (len(spec.action_labels),)
    env.close()


@pytest.mark.parametrize("spec", ENVIRONMENTS.values(), ids=lambda spec: spec.id)
def test_rewards_stay_in_the_range_we_name(spec: EnvSpec) -> None:
    env = gym.make(spec.id)
    env.reset(seed=1)
    env.action_space.seed(1)
    low, high = (
        (-np.inf if spec.reward_range[0] is None else spec.reward_range[0]),
        (np.inf if spec.reward_range[1] is None else spec.reward_range[1]),
    )

    for _ in range(2_000):
        _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        assert low <= reward <= high
        if terminated or truncated:
            env.reset()
    env.close()


@pytest.mark.parametrize("spec", ALGORITHMS.values(), ids=lambda spec: spec.id)
def test_every_hyperparameter_is_one_of_the_library_s(spec: AlgorithmSpec) -> None:
    library = stable_baselines3 if hasattr(stable_baselines3, spec.id) else sb3_contrib
    known = inspect.signature(getattr(library, spec.id)).parameters

    ours = {parameter.name for parameter in spec.hyperparameters} - _OF_THE_POLICY

    assert ours == set(known) - _NOT_HYPERPARAMETERS


@pytest.mark.parametrize("spec", ALGORITHMS.values(), ids=lambda spec: spec.id)
def test_every_default_is_within_its_own_bounds(spec: AlgorithmSpec) -> None:
    for parameter in spec.hyperparameters:
        assert parameter.check(parameter.default, field=parameter.name) == parameter.default
        assert parameter.description.endswith(".")
