"""Compute the terms of a custom reward in an evaluation; its score stays the environment's."""

from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from app.protocol import UserCodeError, commands
from app.worker.envs.reward_functions import MAX_TERMS, RewardFunction, number
from app.worker.envs.vectorized.pipeline import wrap_single_env
from app.worker.envs.wrappers import environments_actions

_UNNAMED_TERM = "reward"
_DIGITS = 4


class RewardTerms(gym.Wrapper[Any, Any, Any, Any]):
    """Calls the reward at every step; an error in it ends the terms, not the evaluation."""

    def __init__(self, env: gym.Env[Any, Any], reward_function: RewardFunction) -> None:
        super().__init__(env)
        self._actions_of_env = environments_actions(env)
        self.latest: dict[str, float] = {}
        """The terms of the last step."""
        self._call, self._reset_reward = reward_function.for_one_environment()
        has_names = env.observation_space.shape == (len(reward_function.components),)
        self._array_type = reward_function.array_type if has_names else np.ndarray
        self._observation: Any = None
        self._has_failed = False

    @classmethod
    def insert_into(cls, envs: VecEnv, reward: commands.Reward) -> "RewardTerms | None":
        """Wrap the single environment inside `envs`; return None if the code can't be loaded."""
        try:
            reward_function = RewardFunction(reward.code, reward.components)
            return wrap_single_env(envs, lambda env: cls(env, reward_function))
        except UserCodeError:
            return None

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Reset the environment and the reward."""
        observation, info = self.env.reset(**options)
        self._observation = self._named_copy(observation)
        self._try(self._reset_reward)
        return observation, info

    def step(
        self,
        action: Any,  # noqa: ANN401 - whatever the environment takes
    ) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take a step and compute the terms."""
        observation, own, terminated, truncated, info = self.env.step(action)
        if self._actions_of_env is not None:
            action = self._actions_of_env[action]
        after = self._named_copy(observation)
        # Atari: the reward that the code got in training.
        given = float(info.get("clipped_reward", own))
        arguments = (self._observation, action, after, given, terminated, truncated, info)
        self.latest = _terms(self._try(lambda: self._call(*arguments)))
        self._observation = after
        return observation, own, terminated, truncated, info

    def _named_copy(self, observation: Any) -> Any:  # noqa: ANN401 - of any space
        is_array = isinstance(observation, np.ndarray)
        return observation.copy().view(self._array_type) if is_array else observation

    def _try(self, call: Any) -> Any:  # noqa: ANN401 - whatever a user's code returns
        if self._has_failed:
            return None
        try:
            return call()
        except BaseException:  # noqa: BLE001 - a user's code: the score is valid without it
            self._has_failed = True
            return None


def _terms(returned: Any) -> dict[str, float]:  # noqa: ANN401 - whatever a user's code returns
    parts = returned if isinstance(returned, dict) else {_UNNAMED_TERM: returned}
    try:
        named = {str(name)[:40]: number(part) for name, part in parts.items()}
    except Exception:  # noqa: BLE001 - not a number: there is nothing to show
        return {}
    finite = {name: round(part, _DIGITS) for name, part in named.items() if np.isfinite(part)}
    return finite if len(finite) <= MAX_TERMS else {}
