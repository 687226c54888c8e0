"""Check the values that environments return, and explain errors in one sentence."""

import math
import traceback
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvObs, VecEnvStepReturn

from app.protocol import UserCodeError

_OTHER_MODULES = (
    "app.worker",
    "stable_baselines3",
    "gymnasium.core",
    "gymnasium.spaces",
    "gymnasium.utils",
    "gymnasium.wrappers",
    "numpy",
)
"""Modules that call the environment or are called by it; skipped to find its own code."""


class BadEnvironmentError(Exception):
    """An environment raised or returned something invalid; the message is for users."""


class CheckedVecEnv(VecEnvWrapper):
    """Passes on the results of environments if they are valid, and otherwise raises an error.

    A NaN that is missed here appears much later, as a policy whose weights are NaN.
    """

    def __init__(self, envs: VecEnv, components: Sequence[str] = ()) -> None:
        """Check `envs`; `components` are the names of the observation's components, if any."""
        super().__init__(envs)
        self._components = components
        self._shapes = {key: space.shape for key, space in _parts(_spaces(envs.observation_space))}
        self._step = 0
        self._episode_starts = np.zeros(envs.num_envs, dtype=np.int64)
        """The step at which each environment's episode began."""

    def reset(self) -> VecEnvObs:
        """Begin an episode in each environment.

        Raises:
            BadEnvironmentError: if an environment raises, or returns something invalid.
        """
        self._episode_starts[:] = self._step
        try:
            observations = self.venv.reset()
        except (MemoryError, UserCodeError):
            raise
        except Exception as error:
            raise self._explain(error, "reset") from error
        self._check_observations(observations)
        return observations

    def step_wait(self) -> VecEnvStepReturn:
        """Return the results of the last actions.

        Raises:
            BadEnvironmentError: if an environment raises, or returns something invalid.
        """
        self._step += 1
        try:
            observations, rewards, dones, infos = self.venv.step_wait()
        except (MemoryError, UserCodeError):
            raise
        except Exception as error:
            raise self._explain(error, "step") from error
        if not _is_finite(rewards):
            index = int(np.flatnonzero(~np.isfinite(rewards))[0])
            raise BadEnvironmentError(
                f"The environment returned {_name(rewards[index])} as reward "
                f"{self._position(index)}."
            )
        if np.count_nonzero(dones):
            self._check_ends(np.flatnonzero(dones).tolist(), infos)
            self._episode_starts[dones] = self._step
        self._check_observations(observations)
        return observations, rewards, dones, infos

    def _check_ends(self, ended: Sequence[int], infos: Sequence[Mapping[str, Any]]) -> None:
        """Check the episodes' last observations, which the batch does not contain."""
        for index in ended:
            for key, value in _parts(infos[index]["terminal_observation"]):
                if _shape(value) != self._shapes.get(key):
                    raise self._wrong_shape(key, value, index)
                if not _is_finite(value):
                    raise self._not_finite(key, value, index)

    def _wrong_shape(self, key: str | None, value: Any, index: int) -> BadEnvironmentError:  # noqa: ANN401 - any observation
        return BadEnvironmentError(
            f"The environment returned an observation{_of(key)} of shape {_shape(value)} "
            f"{self._position(index)}; its observation space says {self._shapes.get(key)}."
        )

    def _check_observations(self, observations: VecEnvObs) -> None:
        for key, batch in _parts(observations):
            if not _is_finite(batch):
                index = next(i for i, one in enumerate(batch) if not _is_finite(one))
                raise self._not_finite(key, batch[index], index)

    def _not_finite(self, key: str | None, observation: Any, index: int) -> BadEnvironmentError:  # noqa: ANN401 - an array of any type
        flat = np.ravel(observation)
        component = int(np.flatnonzero(~np.isfinite(flat))[0])
        name = self._components[component] if component < len(self._components) else None
        called = f" ('{name}')" if name and key is None else ""
        return BadEnvironmentError(
            f"The environment returned {_name(flat[component])} in observation component "
            f"{component}{called}{_of(key)} {self._position(index)}."
        )

    def _position(self, index: int) -> str:
        step = self._step - int(self._episode_starts[index])
        when = f"at step {step:,} of an episode" if step else "at the beginning of an episode"
        return when if self.num_envs == 1 else f"{when} (environment {index + 1})"

    def _explain(self, error: Exception, call: str) -> BadEnvironmentError:
        """Return the error with its location in the environment's own code."""
        frames = list(traceback.walk_tb(error.__traceback__))
        index = _index(frames)
        if "obs" in frames[-1][0].f_locals:
            for key, value in _parts(frames[-1][0].f_locals["obs"]):
                if _shape(value) != self._shapes.get(key):
                    return self._wrong_shape(key, value, index)
        what = f"{type(error).__name__}: {error}".removesuffix(": ").partition("\n")[0]
        own = [(frame, line) for frame, line in frames if not _is_other_code(frame)]
        if not own:
            return BadEnvironmentError(
                f"The environment returned something invalid from {call} {self._position(index)} "
                f"({what})."
            )
        frame, line = own[-1]
        place = f"{Path(frame.f_code.co_filename).name}, line {line}, in {frame.f_code.co_name}"
        return BadEnvironmentError(
            f"The environment raised {what} {self._position(index)} ({place})."
        )


def _parts(observation: Any) -> Iterable[tuple[str | None, Any]]:  # noqa: ANN401 - any observation
    """Return each array of an observation, with its key if it has one."""
    if isinstance(observation, np.ndarray):
        return ((None, observation),)
    return observation.items() if isinstance(observation, Mapping) else ((None, observation),)


def _spaces(space: gym.Space[Any]) -> Any:  # noqa: ANN401 - a space or several with their keys
    return space.spaces if isinstance(space, gym.spaces.Dict) else space


def _shape(value: Any) -> tuple[int, ...]:  # noqa: ANN401 - any observation
    try:
        return value.shape if isinstance(value, np.ndarray) else np.shape(value)
    except ValueError:  # lists of different lengths
        return (len(value),)


def _is_finite(values: Any) -> bool:  # noqa: ANN401 - an array of any type
    values = np.asarray(values)
    if values.dtype.kind != "f":
        return True
    # A dot product is faster than checking each number, which is needed only if it overflows.
    return math.isfinite(np.vdot(values, values)) or bool(np.isfinite(values).all())


def _name(value: float) -> str:
    return "NaN" if np.isnan(value) else "infinity" if value > 0 else "minus infinity"


def _of(key: str | None) -> str:
    return "" if key is None else f" of '{key}'"


def _is_other_code(frame: FrameType) -> bool:
    module = str(frame.f_globals.get("__name__", ""))
    return any(module == name or module.startswith(f"{name}.") for name in _OTHER_MODULES)


def _index(frames: Sequence[tuple[FrameType, int]]) -> int:
    """Return the index of the environment that raised the error."""
    return next((f.f_locals["env_idx"] for f, _ in frames if "env_idx" in f.f_locals), 0)
