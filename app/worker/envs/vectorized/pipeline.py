"""Build the vectorized environments of a model: wrappers, checks, stacking, normalization."""

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

from app.protocol import Wrappers, commands
from app.worker.envs.atari import WholeGames, is_atari
from app.worker.envs.custom_reward import CustomReward
from app.worker.envs.environments import (
    episode_limit,
    find_environment,
    make_env,
    policy_kind,
)
from app.worker.envs.rendering import KeepsLastFrame
from app.worker.envs.replayable import Replayable
from app.worker.envs.reward_functions import RewardFunction
from app.worker.envs.vectorized.array_envs import array_envs, prefers_array_envs
from app.worker.envs.vectorized.checked import CheckedVecEnv
from app.worker.envs.vectorized.envpool import PooledVecEnv
from app.worker.envs.vectorized.episode_envs import EpisodeEnvs, NewEachEpisode
from app.worker.envs.vectorized.lean_vec_env import LeanVecEnv
from app.worker.envs.wrappers import EvaluationLimit, Masked, wrap

Statistics = dict[str, float | list[float] | list[int]]
"""Mean, variance and count of observations, as plain numbers."""

WrapperT = TypeVar("WrapperT", bound=gym.Env[Any, Any])


def make_training_envs(
    setup: commands.Setup, n_envs: int, reward: RewardFunction | None = None
) -> VecEnv:
    """Make the environments for training, with a custom reward if there is one.

    They have no render mode: LunarLander simulates its exhaust if it can be rendered.
    """

    def make() -> gym.Env[Any, Any]:
        env = make_wrapped(setup, setup.wrappers, unmonitored=True)
        return Replayable(env) if reward is None else CustomReward(env, reward)

    makers: list[Callable[[], gym.Env[Any, Any]]] = [make] * n_envs
    if reward is not None:
        envs: VecEnv = LeanVecEnv(makers)
    elif setup.wrappers.simulator == "envpool":
        envs = PooledVecEnv(setup.env_id, n_envs)
    else:
        envs = array_envs(setup, n_envs) or LeanVecEnv(makers)
    return _add_model_wrappers(CheckedVecEnv(envs), setup, is_training=True)


def single_stepping_notice(setup: commands.Setup, n_envs: int) -> str | None:
    """Return a notice that the custom reward prevents faster stepping, if it does."""
    if setup.wrappers.simulator == "envpool":
        effect = "EnvPool is not used"
    elif prefers_array_envs(setup, n_envs):
        effect = "The environments are stepped one by one"
    else:
        return None
    return f"{effect}: the custom reward is computed in each environment."


def make_evaluation_envs(
    setup: commands.Setup, *, rendered: bool = False, disturbed: bool = False
) -> VecEnv:
    """Make one environment like those in training.

    Without sticky actions, noise and randomization, unless it is `disturbed`.
    """

    def make() -> gym.Env[Any, Any]:
        env = _make_for_evaluation(setup, rendered=rendered, disturbed=disturbed)
        return KeepsLastFrame(env) if rendered else env

    return _add_model_wrappers(DummyVecEnv([make]), setup, is_training=False)


def make_episode_envs(setup: commands.Setup, count: int, *, disturbed: bool) -> VecEnv:
    """Make several environments like that of `make_evaluation_envs`, for one episode each."""

    def make() -> gym.Env[Any, Any]:
        return _make_for_evaluation(setup, rendered=False, disturbed=disturbed)

    return _add_model_wrappers(EpisodeEnvs([make] * count), setup, is_training=False)


def _make_for_evaluation(
    setup: commands.Setup, *, rendered: bool, disturbed: bool
) -> gym.Env[Any, Any]:
    options = setup.wrappers if disturbed else setup.wrappers.for_evaluation()

    def make() -> gym.Env[Any, Any]:
        env = make_wrapped(setup, options, rendered=rendered, evaluated=True)
        return env if episode_limit(env) is not None else EvaluationLimit(env)

    return make() if setup.repeats_itself else NewEachEpisode(make)


def evaluation_limit(envs: VecEnv) -> int | None:
    """Return the step at which evaluations cut episodes; None: the environment has a time limit."""
    return EvaluationLimit.STEPS if any(envs.env_is_wrapped(EvaluationLimit)) else None


def single_env(envs: VecEnv) -> gym.Env[Any, Any]:
    """Return the environment inside all vectorized wrappers; there must be only one."""
    return _innermost(envs).envs[0]


def wrap_single_env(envs: VecEnv, make: Callable[[gym.Env[Any, Any]], WrapperT]) -> WrapperT:
    """Put another wrapper around the single environment, and return it."""
    inner = _innermost(envs)
    wrapper = inner.envs[0] = make(inner.envs[0])
    return wrapper


def _innermost(envs: VecEnv) -> DummyVecEnv:
    while isinstance(envs, VecEnvWrapper):
        envs = envs.venv
    assert isinstance(envs, DummyVecEnv)
    return envs


def rendered_environment(envs: VecEnv) -> KeepsLastFrame:
    """Return the single environment of `make_evaluation_envs(..., rendered=True)`."""
    env = single_env(envs)
    assert isinstance(env, KeepsLastFrame)
    return env


def original_observation(envs: VecEnv, observation: Any) -> Any:  # noqa: ANN401 - an array
    """Undo the stacking and normalization of an observation; None if it is an image."""
    normalization = normalizer(envs)
    if normalization is not None and normalization.norm_obs:
        observation = normalization.unnormalize_obs(observation)
    if not isinstance(observation, np.ndarray) or observation.ndim > 2:
        return None
    size = int(np.prod(single_env(envs).observation_space.shape or ()))
    return observation.ravel()[-size:]


def make_wrapped(setup: commands.Setup, options: Wrappers, **purpose: bool) -> gym.Env[Any, Any]:
    """Make a single environment with its wrappers; `purpose` is passed to `make_env`."""
    arguments = dict(setup.env_kwargs)
    is_game = is_atari(find_environment(setup.env_id))
    counts_frames = options.time_limit_unit == "frames"
    if options.time_limit is not None and (counts_frames or not is_game):
        repeats = 1 if counts_frames else options.frame_skip
        arguments["max_episode_steps"] = options.time_limit * repeats
    env = wrap(make_env(setup.env_id, arguments, **purpose), options)
    if is_game:
        env = WholeGames(env, None if counts_frames else options.time_limit)
    return Masked(env) if setup.masks_actions else env


def normalizer(envs: VecEnv) -> VecNormalize | None:
    """Return the wrapper that normalizes observations or rewards, if there is one."""
    found: VecNormalize | None = _find_wrapper(envs, VecNormalize)
    return found


def save_statistics(envs: VecEnv) -> Statistics | None:
    """Return the normalization statistics of observations, or None if they aren't normalized."""
    normalization = normalizer(envs)
    if normalization is None or not normalization.norm_obs:
        return None
    running: Any = normalization.obs_rms
    return {
        "shape": list(running.mean.shape),
        "mean": running.mean.ravel().tolist(),
        "var": running.var.ravel().tolist(),
        "count": float(running.count),
    }


def load_statistics(envs: VecEnv, statistics: Statistics | None) -> None:
    """Restore the statistics that `save_statistics` returned."""
    normalization = normalizer(envs)
    if normalization is None or statistics is None:
        return
    running: Any = normalization.obs_rms
    running.mean = np.array(statistics["mean"]).reshape(statistics["shape"])
    running.var = np.array(statistics["var"]).reshape(statistics["shape"])
    running.count = statistics["count"]


def save_normalization(envs: VecEnv) -> bytes | None:
    """Return the pickled `VecNormalize`, so that the model can be used without this program."""
    normalization = normalizer(envs)
    return None if normalization is None else pickle.dumps(normalization)


def save_wrapper_state(envs: VecEnv) -> dict[str, Any]:
    """Return the state of the wrappers around the environments."""
    state: dict[str, Any] = {}
    if (stack := _find_wrapper(envs, VecFrameStack)) is not None:
        state["stacked"] = stack.stacked_obs.stacked_obs.copy()
    if (normalization := normalizer(envs)) is not None:
        names = ("obs_rms", "ret_rms", "returns", "old_obs", "old_reward")
        # The name of this key is part of the checkpoint format.
        state["scaling"] = {name: getattr(normalization, name, None) for name in names}
    return state


def load_wrapper_state(envs: VecEnv, state: dict[str, Any]) -> None:
    """Restore the state that `save_wrapper_state` returned."""
    if (stack := _find_wrapper(envs, VecFrameStack)) is not None:
        stack.stacked_obs.stacked_obs = state["stacked"]
    if (normalization := normalizer(envs)) is not None:
        for name, value in state["scaling"].items():
            setattr(normalization, name, value)


def observe_reset(envs: VecEnv, observed: Any) -> Any:  # noqa: ANN401 - any observation
    """Process the first observations of new episodes for a model."""
    if not isinstance(envs, VecEnvWrapper):
        return observed
    inner = observe_reset(envs.venv, observed)
    match envs:
        case VecFrameStack():
            return envs.stacked_obs.reset(inner)
        case VecTransposeImage():
            return envs.transpose_observations(inner)
        case VecNormalize():
            return envs.normalize_obs(inner)
    return inner


def _add_model_wrappers(envs: VecEnv, setup: commands.Setup, *, is_training: bool) -> VecEnv:
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


def _find_wrapper(envs: VecEnv, kind: type[Any]) -> Any:  # noqa: ANN401 - an instance of `kind`
    while isinstance(envs, VecEnvWrapper):
        if isinstance(envs, kind):
            return envs
        envs = envs.venv
    return None
