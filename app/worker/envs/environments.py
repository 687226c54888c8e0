"""Make environments that Stable-Baselines3 can train on."""

import importlib
import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Literal, get_args

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec, registry

from app.protocol import FRAME_SKIP, ObservationWrapper
from app.worker.envs.atari import is_atari, make_atari

_OPTIONAL_PACKAGES = ("ale_py", "minigrid")
"""Packages that register their environments with Gymnasium when imported."""

_MIN_IMAGE_SIDE = 36
"""The smallest image side that SB3's convolutions can process."""


def make_env(
    env_id: str,
    env_kwargs: Mapping[str, Any],
    *,
    rendered: bool = False,
    evaluated: bool = False,
    unmonitored: bool = False,
) -> gym.Env[Any, Any]:
    """Make an environment to train on, to render (`rendered`) or to evaluate on (`evaluated`).

    Training on Atari clips rewards, and may end episodes at lost lives; rendered and evaluated
    games do neither, so their rewards are the original ones. An `unmonitored` environment is
    faster: the caller records returns and checks values. Atari games have no `Monitor`, either.
    """
    spec = find_environment(env_id)
    if is_atari(spec):
        return make_atari(spec, env_kwargs, rendered=rendered, original=rendered or evaluated)
    entry_point = str(spec.entry_point)
    if entry_point.startswith("gymnasium.envs.mujoco"):
        # The only way to render without a display.
        os.environ.setdefault("MUJOCO_GL", "egl")
    env = _make(spec, env_kwargs, rendered=rendered, unmonitored=unmonitored)
    if entry_point.startswith("minigrid"):
        env = _drop_mission(env)
    return _flatten_if_needed(env)


def make_raw_env(env_id: str) -> gym.Env[Any, Any]:
    """Make an environment without preprocessing, for rendering."""
    return _make(find_environment(env_id), {}, rendered=True)


def find_environment(env_id: str) -> EnvSpec:
    """Return Gymnasium's spec of an id; `module:Name-v0` is allowed.

    Raises:
        gymnasium.error.UnregisteredEnv: if the id is unknown.
        ImportError: if the module can't be imported.
    """
    register_project_envs()
    module, _, name = env_id.rpartition(":")
    if module:
        importlib.import_module(module)
    try:
        return gym.spec(name)
    except gym.error.UnregisteredEnv:
        for package in _OPTIONAL_PACKAGES:
            if find_spec(package) is not None:
                importlib.import_module(package)
        return gym.spec(name)


def register_project_envs() -> None:
    """Register the environments of this project."""
    if "GridWorld-v0" in registry:
        return
    gym.register(
        "GridWorld-v0",
        entry_point="app.worker.envs.grid_world:GridWorld",
        max_episode_steps=200,
        reward_threshold=0.8,
    )
    for kind, arguments in _BANDITS.items():
        gym.register(
            f"{kind}Bandit-v0",
            entry_point="app.worker.envs.bandits:Bandit",
            max_episode_steps=100,
            kwargs=arguments,
        )


_BANDITS: dict[str, dict[str, Any]] = {
    "Gaussian": {},
    "Bernoulli": {"all_or_nothing": True},
    "Contextual": {"contexts": 4},
}


def policy_kind(observation_space: spaces.Space[Any]) -> Literal["Mlp", "Cnn", "MultiInput"]:
    """Return the kind of SB3 policy for such observations."""
    if isinstance(observation_space, spaces.Dict):
        return "MultiInput"
    if len(observation_space.shape or ()) != 3:
        # Decided without importing SB3, which takes seconds.
        return "Mlp"
    from stable_baselines3.common.preprocessing import is_image_space

    if is_image_space(observation_space):
        sides = sorted(observation_space.shape or ())
        # The channels come first or last, but are always the smallest dimension.
        return "Cnn" if sides[1] >= _MIN_IMAGE_SIDE else "Mlp"
    return "Mlp"


def episode_limit(env: gym.Env[Any, Any]) -> int | None:
    """Return after how many steps of the agent an episode is truncated; None: never."""
    assert env.spec is not None
    limit = env.spec.max_episode_steps or getattr(env.unwrapped, "max_steps", None)
    if frames := env.spec.kwargs.get("max_num_frames_per_episode"):
        limit = frames // FRAME_SKIP
    return limit if isinstance(limit, int) else None


def success_in(info: Mapping[str, Any]) -> bool | None:
    """Return whether an episode reached its goal, by the info of its last step; None: unknown."""
    found = info.get("is_success")
    return bool(found) if isinstance(found, bool | int | float | np.bool_ | np.number) else None


def observation_wrappers(env: gym.Env[Any, Any]) -> tuple[ObservationWrapper, ...]:
    """Return the wrappers of `make_env` that flatten observations, innermost first."""
    found: list[ObservationWrapper] = []
    while isinstance(env, gym.Wrapper):
        name = type(env).__name__
        found += [
            wrapper for wrapper in get_args(ObservationWrapper) if wrapper.endswith(f":{name}")
        ]
        env = env.env
    return tuple(reversed(found))


def frame_stack(spec: EnvSpec) -> int:
    """Return how many observations must be stacked for an agent to observe motion."""
    return 4 if is_atari(spec) else 1


def _make(
    spec: EnvSpec,
    env_kwargs: Mapping[str, Any],
    *,
    rendered: bool = False,
    unmonitored: bool = False,
) -> gym.Env[Any, Any]:
    mode = "rgb_array" if rendered else None
    env = gym.make(spec, render_mode=mode, disable_env_checker=unmonitored, **env_kwargs)
    if rendered or unmonitored:
        return env
    from stable_baselines3.common.monitor import Monitor

    return Monitor(env)


def _drop_mission(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    """Drop MiniGrid's mission text from observations, unless missions differ."""
    from minigrid.core.mission import MissionSpace
    from minigrid.wrappers import FlatObsWrapper, ImgObsWrapper

    assert isinstance(env.observation_space, spaces.Dict)
    mission = env.observation_space["mission"]
    has_several = isinstance(mission, MissionSpace) and mission.ordered_placeholders
    if has_several:
        return FlatObsWrapper(env)
    image: gym.Env[Any, Any] = ImgObsWrapper(env)  # type: ignore[no-untyped-call]  # MiniGrid's
    return gym.wrappers.FlattenObservation(image)


def _flatten_if_needed(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    """Flatten nested observations, which SB3 can't process."""
    space = env.observation_space
    parts = space.spaces.values() if isinstance(space, spaces.Dict) else ()
    is_nested = any(isinstance(part, spaces.Dict | spaces.Tuple) for part in parts)
    if (is_nested or isinstance(space, spaces.Tuple)) and space.is_np_flattenable:
        return gym.wrappers.FlattenObservation(env)
    return env
