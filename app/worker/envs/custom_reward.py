"""Replace an environment's rewards with those of a custom reward function."""

from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np

from app.protocol import REWARD_FILE
from app.worker.envs.replayable import Replayable
from app.worker.envs.reward_functions import MAX_REWARD, RewardFunction, number, reject_reward
from app.worker.envs.wrappers import environments_actions
from app.worker.user_code.loader import explain

_ARRAY = np.ndarray


class CustomReward(Replayable):
    """Replaces the rewards of a single environment, as its outermost wrapper.

    When an episode is replayed, its rewards are recomputed, which restores the state that a
    `Reward` has in the current episode. Episode returns remain those of the original rewards.
    """

    _must_replay = True

    def __init__(self, env: gym.Env[Any, Any], function: RewardFunction) -> None:
        """Wrap an environment so that `function` computes its rewards.

        Raises:
            UserCodeError: if the code raises.
        """
        super().__init__(env)
        self._function = function
        self._call, self._reset_reward = function.for_one_environment()
        self._is_array = isinstance(env.observation_space, gym.spaces.Box)
        has_names = env.observation_space.shape == (len(function.components),)
        self._array_type = function.array_type if has_names else np.ndarray
        self._last_obs: Any = None
        """The last observation as passed to the custom code."""
        self._first_obs: Any = None
        """The first observation itself, to detect whether the environment overwrites it."""
        self._must_copy: bool | None = None
        """Whether observations must be copied; None: not known yet."""
        self._actions_of_env = environments_actions(env)
        self._continues = False
        self._total = 0.0
        self._terms: dict[str, float] = {}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, and reset the reward function.

        Raises:
            UserCodeError: if that raises.
        """
        observation, info = super().reset(seed=seed, options=options)
        if not self._continues:
            # The episode continues if only one of several lives was lost.
            self._total, self._terms = 0.0, {}
        self._continues = False
        try:
            self._reset_reward()
        except BaseException as error:
            raise explain(error, REWARD_FILE) from error
        self._first_obs = observation
        self._last_obs = observation
        if self._is_array:
            self._last_obs = observation.copy().view(self._array_type)
            self._last_obs.setflags(False)
        return observation, info

    def step(
        self,
        action: Any,  # noqa: ANN401 - any action
    ) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Act, and compute the reward.

        Raises:
            UserCodeError: if the code raises, or returns an unusable value.
        """
        observation, original, terminated, truncated, info = super().step(action)
        last_obs, next_obs, original = self._last_obs, observation, float(original)
        # Inlined to save function calls: this runs millions of times.
        if self._is_array:
            if self._must_copy is not False:
                next_obs = self._copy_if_needed(next_obs)
            next_obs = next_obs.view(self._array_type)
            next_obs.setflags(False)
        if self._actions_of_env is not None:
            action = self._actions_of_env[action]
        if type(action) is _ARRAY:
            action = action.view()
            action.setflags(False)
        try:
            returned = self._call(last_obs, action, next_obs, original, terminated, truncated, info)
            reward = returned if type(returned) is float else self._sum_terms(returned)
            if not -MAX_REWARD <= reward <= MAX_REWARD:
                reject_reward(reward, returned)
        except BaseException as error:
            arguments = (last_obs, action, next_obs, original, terminated, truncated, info)
            raise self._function.explained(error, self._call, arguments) from error
        self._last_obs = next_obs
        self._total += reward
        if terminated or truncated:
            self._add_episode_info(info)
        return observation, reward, terminated, truncated, info

    def _copy_if_needed(self, observation: Any) -> Any:  # noqa: ANN401 - an array
        """Return an observation, or a copy if the environment overwrites its arrays."""
        if self._must_copy is None:
            self._must_copy = bool(np.may_share_memory(observation, self._first_obs))
        return observation.copy() if self._must_copy else observation

    def _sum_terms(self, returned: Any) -> float:  # noqa: ANN401 - any value
        if not isinstance(returned, dict):
            return number(returned)
        total, terms = 0.0, self._terms
        for name, part in returned.items():
            value = part if type(part) is float else number(part, name)
            total += value
            sum_before = terms.get(name)
            if sum_before is None:
                self._function.add_term(name)
                terms[name] = value
            else:
                terms[name] = sum_before + value
        return total

    def _add_episode_info(self, info: dict[str, Any]) -> None:
        self._continues = "episode" not in info
        if not self._continues:
            terms = {name: round(value, 6) for name, value in self._terms.items()}
            info["shaped"] = {"values": {"shaped_reward": round(self._total, 6)}, "terms": terms}
