"""Make environments the way Stable-Baselines3 can train on them."""

import importlib
import os
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Literal

import gymnasium as gym
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec, registry

_OF_EXTRAS = ("ale_py", "minigrid")
"""Packages that add their ids to Gymnasium when they are imported."""

_ONE_FRAME_EACH = {"frameskip": 1, "repeat_action_probability": 0.0}
"""The preprocessing skips frames itself, and sticky actions are for a person to ask for."""
_FRAME_SKIP = 4
_SMALLEST_PICTURE = 36
"""The side of a picture below which SB3's convolutions have nothing left to look at."""


def make_env(
    env_id: str,
    env_kwargs: Mapping[str, Any],
    *,
    drawn: bool = False,
    judged: bool = False,
    counted: bool = False,
) -> gym.Env[Any, Any]:
    """Make an environment that can be trained on, or, if `drawn`, watched, or only `judged`.

    The return of whole, untouched episodes is noted before anything is clipped or cut short; one
    that is drawn or judged is neither, so that its rewards are the game's own. Where nothing is
    clipped or cut, whoever asks may have it `counted` and checked further outside, which is faster.
    """
    spec = find_environment(env_id)
    if _is_atari(spec):
        return _atari(spec, env_kwargs, drawn=drawn, is_whole=drawn or judged)
    comes_from = str(spec.entry_point)
    if comes_from.startswith("gymnasium.envs.mujoco"):
        # Without a screen there is no other way to draw.
        os.environ.setdefault("MUJOCO_GL", "egl")
    env = _make(spec, env_kwargs, drawn=drawn, counted=counted)
    if comes_from.startswith("minigrid"):
        env = _without_text(env)
    return _flat_where_needed(env)


def make_untouched_env(env_id: str) -> gym.Env[Any, Any]:
    """Make an environment as its authors meant it, to be drawn."""
    return _make(find_environment(env_id), {}, drawn=True)


def find_environment(env_id: str) -> EnvSpec:
    """Return Gymnasium's entry for an id, `module:Name-v0` included.

    Raises:
        gymnasium.error.UnregisteredEnv: if there is none.
        ImportError: if the module can't be imported.
    """
    register_own()
    module, _, name = env_id.rpartition(":")
    if module:
        importlib.import_module(module)
    try:
        return gym.spec(name)
    except gym.error.UnregisteredEnv:
        for package in _OF_EXTRAS:
            if find_spec(package) is not None:
                importlib.import_module(package)
        return gym.spec(name)


def register_own() -> None:
    """Let Gymnasium know the environments of this project."""
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
    """Return which of SB3's policies can see such observations."""
    if isinstance(observation_space, spaces.Dict):
        return "MultiInput"
    if len(observation_space.shape or ()) != 3:
        # Said without SB3, which takes seconds to import.
        return "Mlp"
    from stable_baselines3.common.preprocessing import is_image_space

    if is_image_space(observation_space):
        sides = sorted(observation_space.shape or ())
        # The channels come first or last, but are the fewest either way.
        return "Cnn" if sides[1] >= _SMALLEST_PICTURE else "Mlp"
    return "Mlp"


def episode_limit(env: gym.Env[Any, Any]) -> int | None:
    """Return after how many steps of the agent an episode is cut off, if it is."""
    assert env.spec is not None
    limit = env.spec.max_episode_steps or getattr(env.unwrapped, "max_steps", None)
    if frames := env.spec.kwargs.get("max_num_frames_per_episode"):
        limit = frames // _FRAME_SKIP
    return limit if isinstance(limit, int) else None


def frame_stack(spec: EnvSpec) -> int:
    """Return how many observations in a row an agent needs to see what moves where."""
    return 4 if _is_atari(spec) else 1


def _is_atari(spec: EnvSpec) -> bool:
    return str(spec.entry_point).startswith("ale_py")


def _make(
    spec: EnvSpec, env_kwargs: Mapping[str, Any], *, drawn: bool = False, counted: bool = False
) -> gym.Env[Any, Any]:
    mode = "rgb_array" if drawn else None
    env = gym.make(spec, render_mode=mode, disable_env_checker=counted, **env_kwargs)
    if drawn or counted:
        return env
    from stable_baselines3.common.monitor import Monitor

    return Monitor(env)


def _atari(
    spec: EnvSpec, env_kwargs: Mapping[str, Any], *, drawn: bool, is_whole: bool
) -> gym.Env[Any, Any]:
    from stable_baselines3.common.atari_wrappers import AtariWrapper

    env = _make(spec, {**_ONE_FRAME_EACH, **env_kwargs}, drawn=drawn)
    return AtariWrapper(
        env, frame_skip=_FRAME_SKIP, terminal_on_life_loss=not is_whole, clip_reward=not is_whole
    )


def _without_text(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    """Keep what MiniGrid's agent sees, and its mission only where there are several."""
    from minigrid.core.mission import MissionSpace
    from minigrid.wrappers import FlatObsWrapper, ImgObsWrapper

    assert isinstance(env.observation_space, spaces.Dict)
    mission = env.observation_space["mission"]
    has_several = isinstance(mission, MissionSpace) and mission.ordered_placeholders
    if has_several:
        return FlatObsWrapper(env)
    seen: gym.Env[Any, Any] = ImgObsWrapper(env)  # type: ignore[no-untyped-call]  # MiniGrid's
    return gym.wrappers.FlattenObservation(seen)


def _flat_where_needed(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    """Make one list of numbers of what SB3 can't take apart by itself."""
    space = env.observation_space
    parts = space.spaces.values() if isinstance(space, spaces.Dict) else ()
    is_nested = any(isinstance(part, spaces.Dict | spaces.Tuple) for part in parts)
    if (is_nested or isinstance(space, spaces.Tuple)) and space.is_np_flattenable:
        return gym.wrappers.FlattenObservation(env)
    return env
