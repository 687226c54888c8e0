import importlib
import inspect
import os
import re
from typing import Any

import pytest

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

import gymnasium as gym
import numpy as np

from app.catalog.algorithms.catalogue import ALGORITHMS
from app.catalog.algorithms.spec import AlgorithmSpec, Group
from app.catalog.environments.catalogue import ENVIRONMENTS, get_environment
from app.catalog.environments.options import EnvOption
from app.catalog.environments.spec import ActionKind, EnvSpec, ObservationKind
from app.core.errors import InputError, NotInstalledError
from app.worker.envs.environments import (
    episode_limit,
    find_environment,
    frame_stack,
    make_env,
    observation_wrappers,
    policy_kind,
)

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
    # How data is stored, not how the algorithm learns.
    "rollout_buffer_class",
    "rollout_buffer_kwargs",
    "replay_buffer_class",
    "replay_buffer_kwargs",
    "optimize_memory_usage",
}


INSTALLED = [spec for spec in ENVIRONMENTS.values() if spec.is_installed]
MISSING = [spec for spec in ENVIRONMENTS.values() if not spec.is_installed]
OPTIONS = [
    (spec, option)
    for spec in INSTALLED
    for option in spec.options or ()
    if spec.family != "atari" or option.name == "full_action_space"
]
"""The options that are arguments of an environment; the others of games are the lab's."""


def by_id(value: object) -> str:
    return value.id if isinstance(value, EnvSpec) else getattr(value, "name", str(value))


@pytest.mark.parametrize("spec", INSTALLED, ids=by_id)
def test_the_description_of_an_environment_matches_it(spec: EnvSpec) -> None:
    env = make_env(spec.id, {})

    check_actions(spec, env.action_space)
    check_observations(spec, env.observation_space)
    assert env.spec is not None
    assert episode_limit(env) == spec.max_episode_steps
    assert env.spec.reward_threshold == spec.solved_threshold
    assert frame_stack(env.spec) == spec.default_frame_stack
    assert observation_wrappers(env) == spec.observation_wrappers
    assert ("rgb_array" in env.metadata["render_modes"]) == spec.renders
    env.close()


def check_actions(spec: EnvSpec, actions: gym.Space[Any]) -> None:
    if spec.action_kind is ActionKind.DISCRETE:
        assert isinstance(actions, gym.spaces.Discrete)
        assert actions.n == spec.n_actions == len(spec.action_labels)
    else:
        assert isinstance(actions, gym.spaces.Box)
        assert actions.shape == spec.action_shape == (len(spec.action_labels),)


def check_observations(spec: EnvSpec, space: gym.Space[Any]) -> None:
    is_image = policy_kind(space) == "Cnn"
    assert is_image == (spec.observation_kind is ObservationKind.IMAGE)
    if spec.observation_kind is ObservationKind.DISCRETE:
        assert isinstance(space, gym.spaces.Discrete)
        assert (space.n,) == spec.observation_shape
        assert [(component.low, component.high) for component in spec.observed] == [
            (0, space.n - 1)
        ]
        return
    assert isinstance(space, gym.spaces.Box)
    assert space.shape == spec.observation_shape
    if not is_image:
        lows = [-np.inf if component.low is None else component.low for component in spec.observed]
        highs = [
            np.inf if component.high is None else component.high for component in spec.observed
        ]
        np.testing.assert_allclose(space.low, lows, rtol=1e-6)
        np.testing.assert_allclose(space.high, highs, rtol=1e-6)


@pytest.mark.parametrize("spec", [spec for spec in INSTALLED if spec.family == "atari"], ids=by_id)
def test_the_action_labels_of_a_game_are_in_the_order_of_its_actions(spec: EnvSpec) -> None:
    env: Any = make_env(spec.id, {})

    meanings = env.unwrapped.get_action_meanings()

    labels = [label.replace("wait", "noop").replace(" and ", "") for label in spec.action_labels]
    assert [label.replace(" ", "").upper() for label in labels] == meanings
    env.close()


@pytest.mark.parametrize("spec", MISSING, ids=by_id)
def test_the_description_of_an_environment_that_is_not_installed_matches_gymnasium(
    spec: EnvSpec,
) -> None:
    registered = gym.spec(spec.id)

    assert registered.max_episode_steps == spec.max_episode_steps
    assert registered.reward_threshold == spec.solved_threshold
    with pytest.raises(NotInstalledError, match=re.escape(spec.install_hint or "no hint")):
        spec.check_installed()


@pytest.mark.slow
@pytest.mark.parametrize("spec", INSTALLED, ids=by_id)
def test_rewards_stay_in_the_described_range(spec: EnvSpec) -> None:
    # As rendered for viewers: in training, the rewards of some families are clipped.
    env = make_env(spec.id, {}, rendered=True)
    env.reset(seed=1)
    env.action_space.seed(1)

    for _ in range(100 if spec.observation_kind is ObservationKind.IMAGE else 1_000):
        _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        assert is_within(spec.reward_range, float(reward))
        if terminated or truncated:
            env.reset()
    env.close()


def is_within(bounds: tuple[float | None, float | None], reward: float) -> bool:
    low, high = bounds
    return (low is None or low <= reward) and (high is None or reward <= high)


@pytest.mark.parametrize(("spec", "option"), OPTIONS, ids=by_id)
def test_every_option_exists_in_the_environment_and_changes_its_description(
    spec: EnvSpec, option: EnvOption
) -> None:
    values = {option.default, option.min, option.max, *(option.choices or ())}
    if option.type == "bool":
        values = {True, False}
    if option.type == "text":
        values = {None, "S.#/.T5"}

    for value in values - (set() if option.nullable else {None}):
        given = {option.name: value}
        env = make_env(spec.id, spec.check_kwargs(given))
        check_actions(spec.configured(given), env.action_space)
        check_observations(spec.configured(given), env.observation_space)
        env.close()
    assert option.description.endswith(".")


@pytest.mark.parametrize(("spec", "option"), OPTIONS, ids=by_id)
def test_the_default_of_an_option_is_that_of_the_environment(
    spec: EnvSpec, option: EnvOption
) -> None:
    env = gym.make(find_environment(spec.id))
    assert env.spec is not None
    signature = inspect.signature(type(env.unwrapped)).parameters

    given = env.spec.kwargs.get(option.name, signature[option.name].default)

    assert given == option.default
    assert option.check(option.default, field=option.name) == option.default
    env.close()


@pytest.mark.parametrize(
    ("env_id", "env_kwargs", "field", "message"),
    [
        ("FrozenLake-v1", {"map_nam": "4x4"}, "env_kwargs.map_nam", "Did you mean map_name?"),
        ("FrozenLake-v1", {"map_name": "5x5"}, "env_kwargs.map_name", "one of 4x4, 8x8"),
        ("FrozenLake-v1", {"is_slippery": 1}, "env_kwargs.is_slippery", "true or false"),
        ("LunarLander-v3", {"gravity": 1.0}, "env_kwargs.gravity", "from -11.99 to -0.01"),
        ("LunarLander-v3", {"gravity": float("nan")}, "env_kwargs.gravity", "a number"),
        ("GaussianBandit-v0", {"arms": 10**400}, "env_kwargs.arms", "from 2 to 50"),
        ("GridWorld-v0", {"map": "S../..G/."}, "env_kwargs.map", "same length"),
        ("GridWorld-v0", {"map": "S../..x"}, "env_kwargs.map", "no 'x'"),
        ("GridWorld-v0", {"map": "S../S.G"}, "env_kwargs.map", "exactly one start"),
        ("GridWorld-v0", {"map": "S../..."}, "env_kwargs.map", "at least one goal"),
        ("GridWorld-v0", {"map": "S"}, "env_kwargs.map", "from 2 to 20"),
        ("BipedalWalker-v3", {"hardcore": True}, "env_kwargs.hardcore", "It has none."),
    ],
)
def test_an_invalid_option_is_refused_by_name(
    env_id: str, env_kwargs: dict[str, Any], field: str, message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as refusal:
        get_environment(env_id, env_kwargs)

    assert refusal.value.field == field


@pytest.mark.parametrize(
    ("former", "now"),
    [
        ("LunarLander-v2", "LunarLander-v3"),
        ("Taxi-v3", "Taxi-v4"),
        ("CliffWalking-v0", "CliffWalking-v1"),
        ("CarRacing-v2", "CarRacing-v3"),
        ("FrozenLake-v0", "FrozenLake-v1"),
        ("HalfCheetah-v4", "HalfCheetah-v5"),
        ("PongNoFrameskip-v4", "ALE/Pong-v5"),
        ("Pong-v4", "ALE/Pong-v5"),
    ],
)
def test_a_former_id_returns_its_successor(former: str, now: str) -> None:
    assert get_environment(former).id == now


def test_the_label_of_a_game_names_the_protocol_that_its_id_does_not_stand_for() -> None:
    plain, classic = get_environment("ALE/Pong-v5"), get_environment("PongNoFrameskip-v4")
    mixed = get_environment("PongNoFrameskip-v4", {"repeat_action_probability": 0.25})

    assert plain.label == "ALE/Pong-v5"
    assert classic.label == "ALE/Pong-v5 (NoFrameskip-v4)"
    assert mixed.label == "ALE/Pong-v5 (NoFrameskip-v4, sticky actions 0.25)"


def test_colors_are_three_channels() -> None:
    assert get_environment("ALE/Pong-v5", {"greyscale": False}).observation_shape == (84, 84, 3)


@pytest.mark.parametrize("spec", ALGORITHMS.values(), ids=lambda spec: spec.id)
def test_the_hyperparameters_are_those_of_the_library(spec: AlgorithmSpec) -> None:
    kind = getattr(importlib.import_module(spec.library), spec.id)
    known = inspect.signature(kind).parameters

    described = {one.name for one in spec.hyperparameters if one.group is not Group.NETWORK}

    assert described == set(known) - _NOT_HYPERPARAMETERS


@pytest.mark.parametrize("spec", ALGORITHMS.values(), ids=lambda spec: spec.id)
def test_every_default_is_within_its_own_bounds(spec: AlgorithmSpec) -> None:
    for parameter in spec.hyperparameters:
        assert parameter.check(parameter.default, field=parameter.name) == parameter.default
        assert parameter.description.endswith(".")
