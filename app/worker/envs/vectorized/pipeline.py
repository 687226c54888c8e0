"""From one environment to what a model sees: copies, checks, stacking, scaling."""

import pickle
from collections.abc import Callable
from typing import Any, TypeVar

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import (
    DummyVecEnv,
    VecEnv,
    VecFrameStack,
    VecNormalize,
    VecTransposeImage,
)
from stable_baselines3.common.vec_env.base_vec_env import VecEnvWrapper

from app.protocol import commands
from app.protocol.wrappers import Wrappers
from app.worker.envs.custom_reward import CustomReward
from app.worker.envs.environments import make_env, policy_kind
from app.worker.envs.rendering import KeepsLastPicture
from app.worker.envs.replayable import Replayable
from app.worker.envs.reward_functions import RewardFunction
from app.worker.envs.vectorized.checked import CheckedVecEnv
from app.worker.envs.vectorized.envpool import PooledVecEnv
from app.worker.envs.vectorized.offer import array_envs, offers_arrays
from app.worker.envs.vectorized.stepping import LeanVecEnv
from app.worker.envs.wrappers import Masked, wrap

Statistics = dict[str, float | list[float] | list[int]]
"""Mean, variance and count of what was observed, as plain numbers."""

Layer = TypeVar("Layer", bound=gym.Env[Any, Any])


def make_training_envs(
    setup: commands.Setup, n_envs: int, reward: RewardFunction | None = None
) -> VecEnv:
    """Make the environments that a model collects from, with a reward that somebody wrote if any.

    Without a render mode: LunarLander would simulate its exhaust as soon as it could be drawn.
    """
    is_step_by_step = setup.wrappers.frame_skip == 1

    def make() -> gym.Env[Any, Any]:
        env = make_wrapped(setup, setup.wrappers, counted=is_step_by_step)
        return Replayable(env) if reward is None else CustomReward(env, reward)

    makers: list[Callable[[], gym.Env[Any, Any]]] = [make] * n_envs
    if reward is not None:
        envs: VecEnv = LeanVecEnv(makers)
    elif setup.wrappers.simulator == "envpool":
        envs = PooledVecEnv(setup.env_id, n_envs)
    else:
        envs = array_envs(setup, n_envs) or LeanVecEnv(makers)
    return _for_a_model(CheckedVecEnv(envs), setup, is_training=True)


def why_one_by_one(setup: commands.Setup, n_envs: int) -> str | None:
    """Say what a reward that somebody wrote costs, beside the time that it takes itself."""
    if setup.wrappers.simulator == "envpool":
        left_out = "EnvPool is left out"
    elif offers_arrays(setup, n_envs):
        left_out = "The environments aren't stepped by one call"
    else:
        return None
    return f"{left_out}: the reward function is asked in each environment at each step."


def make_evaluation_envs(setup: commands.Setup, *, drawn: bool = False) -> VecEnv:
    """Make one environment like those in training, without what makes them harder."""

    def make() -> gym.Env[Any, Any]:
        env = make_wrapped(setup, setup.wrappers.for_evaluation(), drawn=drawn, judged=True)
        return KeepsLastPicture(env) if drawn else env

    return _for_a_model(DummyVecEnv([make]), setup, is_training=False)


def the_environment(envs: VecEnv) -> gym.Env[Any, Any]:
    """Return the only environment inside all layers."""
    return _innermost(envs).envs[0]


def put_around(envs: VecEnv, make: Callable[[gym.Env[Any, Any]], Layer]) -> Layer:
    """Put another layer around the only environment, and return it."""
    inner = _innermost(envs)
    layer = inner.envs[0] = make(inner.envs[0])
    return layer


def _innermost(envs: VecEnv) -> DummyVecEnv:
    while isinstance(envs, VecEnvWrapper):
        envs = envs.venv
    assert isinstance(envs, DummyVecEnv)
    return envs


def drawn_environment(envs: VecEnv) -> KeepsLastPicture:
    """Return the only environment inside all layers, which was made to be drawn."""
    env = the_environment(envs)
    assert isinstance(env, KeepsLastPicture)
    return env


def as_the_environment_sees(envs: VecEnv, observation: Any) -> Any:  # noqa: ANN401 - an array
    """Return the observation of the only environment as it gave it; None where that is pixels."""
    scaling = normalizer(envs)
    if scaling is not None and scaling.norm_obs:
        observation = scaling.unnormalize_obs(observation)
    if not isinstance(observation, np.ndarray) or observation.ndim > 2:
        return None
    size = int(np.prod(the_environment(envs).observation_space.shape or ()))
    return observation.ravel()[-size:]


def make_wrapped(setup: commands.Setup, options: Wrappers, **purpose: bool) -> gym.Env[Any, Any]:
    """Make a single environment with the options that concern it alone; see `make_env`."""
    arguments = dict(setup.env_kwargs)
    if options.time_limit is not None:
        arguments["max_episode_steps"] = options.time_limit
    env = wrap(make_env(setup.env_id, arguments, **purpose), options)
    return Masked(env) if setup.algorithm == "MaskablePPO" else env


def normalizer(envs: VecEnv) -> VecNormalize | None:
    """Return the layer that scales observations or rewards, if there is one."""
    found: VecNormalize | None = _layer(envs, VecNormalize)
    return found


def save_statistics(envs: VecEnv) -> Statistics | None:
    """Return how observations are scaled, or None if they aren't."""
    scaling = normalizer(envs)
    if scaling is None or not scaling.norm_obs:
        return None
    seen: Any = scaling.obs_rms
    return {
        "shape": list(seen.mean.shape),
        "mean": seen.mean.ravel().tolist(),
        "var": seen.var.ravel().tolist(),
        "count": float(seen.count),
    }


def load_statistics(envs: VecEnv, statistics: Statistics | None) -> None:
    """Scale observations as `save_statistics` found them scaled."""
    scaling = normalizer(envs)
    if scaling is None or statistics is None:
        return
    seen: Any = scaling.obs_rms
    seen.mean = np.array(statistics["mean"]).reshape(statistics["shape"])
    seen.var = np.array(statistics["var"]).reshape(statistics["shape"])
    seen.count = statistics["count"]


def save_scaling(envs: VecEnv) -> bytes | None:
    """Return the scaling as SB3 saves it, for those who load the model without this program."""
    scaling = normalizer(envs)
    return None if scaling is None else pickle.dumps(scaling)


def save_layers(envs: VecEnv) -> dict[str, Any]:
    """Return what the layers around the environments remember."""
    kept: dict[str, Any] = {}
    if (stack := _layer(envs, VecFrameStack)) is not None:
        kept["stacked"] = stack.stacked_obs.stacked_obs.copy()
    if (scaling := normalizer(envs)) is not None:
        names = ("obs_rms", "ret_rms", "returns", "old_obs", "old_reward")
        kept["scaling"] = {name: getattr(scaling, name, None) for name in names}
    return kept


def load_layers(envs: VecEnv, kept: dict[str, Any]) -> None:
    """Let the layers remember what `save_layers` returned."""
    if (stack := _layer(envs, VecFrameStack)) is not None:
        stack.stacked_obs.stacked_obs = kept["stacked"]
    if (scaling := normalizer(envs)) is not None:
        for name, value in kept["scaling"].items():
            setattr(scaling, name, value)


def see_anew(envs: VecEnv, observed: Any) -> Any:  # noqa: ANN401 - whatever is observed
    """Return what a model sees of observations with which new episodes begin."""
    if not isinstance(envs, VecEnvWrapper):
        return observed
    inner = see_anew(envs.venv, observed)
    match envs:
        case VecFrameStack():
            return envs.stacked_obs.reset(inner)
        case VecTransposeImage():
            return envs.transpose_observations(inner)
        case VecNormalize():
            return envs.normalize_obs(inner)
    return inner


def _for_a_model(envs: VecEnv, setup: commands.Setup, *, is_training: bool) -> VecEnv:
    options = setup.wrappers
    if options.frame_stack > 1:
        envs = VecFrameStack(envs, options.frame_stack)
    if policy_kind(envs.observation_space) == "Cnn":
        envs = VecTransposeImage(envs, skip=_has_channels_first(envs))
    if options.normalize_observation or options.normalize_reward:
        envs = VecNormalize(
            envs,
            training=is_training,
            norm_obs=options.normalize_observation,
            norm_reward=options.normalize_reward and is_training,
            gamma=float(setup.hyperparameters.get("gamma", 0.99)),  # type: ignore[arg-type]
        )
    return envs


def _has_channels_first(envs: VecEnv) -> bool:
    shape = envs.observation_space.shape
    return shape is not None and len(shape) == 3 and shape[0] < shape[2]


def _layer(envs: VecEnv, kind: type[Any]) -> Any:  # noqa: ANN401 - an instance of `kind`
    while isinstance(envs, VecEnvWrapper):
        if isinstance(envs, kind):
            return envs
        envs = envs.venv
    return None
