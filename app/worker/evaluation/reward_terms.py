"""The terms of a written reward at each step of a test, whose score stays the environment's."""

from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import VecEnv

from app.protocol import commands
from app.protocol.user_code import UserCodeError
from app.worker.envs.reward_functions import MOST_TERMS, RewardFunction, number
from app.worker.envs.vectorized.pipeline import put_around

_ALONE = "reward"
_DIGITS = 4


class RewardTerms(gym.Wrapper[Any, Any, Any, Any]):
    """Asks the reward about every step; what goes wrong there ends the terms, not the test."""

    def __init__(self, env: gym.Env[Any, Any], written: RewardFunction) -> None:
        super().__init__(env)
        self.latest: dict[str, float] = {}
        """What each term of the last step was."""
        self._call, self._forget = written.for_one_environment()
        has_names = env.observation_space.shape == (len(written.components),)
        self._array_type = written.array_type if has_names else np.ndarray
        self._before: Any = None
        self._is_lost = False

    @classmethod
    def at(cls, envs: VecEnv, reward: commands.Reward) -> "RewardTerms | None":
        """Look at the only environment inside all layers; None if the code can't be used."""
        try:
            written = RewardFunction(reward.code, reward.components)
            return put_around(envs, lambda env: cls(env, written))
        except UserCodeError:
            return None

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, and let the reward do so, too."""
        observation, info = self.env.reset(**options)
        self._before = self._shown(observation)
        self._try(self._forget)
        return observation, info

    def step(
        self,
        action: Any,  # noqa: ANN401 - whatever the environment takes
    ) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Act, and ask what that is worth."""
        observation, own, terminated, truncated, info = self.env.step(action)
        after = self._shown(observation)
        asked = (self._before, action, after, float(own), terminated, truncated, info)
        self.latest = _terms(self._try(lambda: self._call(*asked)))
        self._before = after
        return observation, own, terminated, truncated, info

    def _shown(self, observation: Any) -> Any:  # noqa: ANN401 - of any space
        is_array = isinstance(observation, np.ndarray)
        return observation.copy().view(self._array_type) if is_array else observation

    def _try(self, ask: Any) -> Any:  # noqa: ANN401 - whatever a person's code returns
        if self._is_lost:
            return None
        try:
            return ask()
        except BaseException:  # noqa: BLE001 - a person's code: the score counts without it
            self._is_lost = True
            return None


def _terms(returned: Any) -> dict[str, float]:  # noqa: ANN401 - whatever a person's code returns
    parts = returned if isinstance(returned, dict) else {_ALONE: returned}
    try:
        named = {str(name)[:40]: number(part) for name, part in parts.items()}
    except Exception:  # noqa: BLE001 - not a number: there is nothing to show
        return {}
    finite = {name: round(part, _DIGITS) for name, part in named.items() if np.isfinite(part)}
    return finite if len(finite) <= MOST_TERMS else {}
