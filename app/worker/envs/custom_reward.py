"""Let an agent learn from a reward that somebody wrote, and count the environment's own beside."""

from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np

from app.protocol.user_code import REWARD_FILE
from app.worker.envs.replayable import Replayable
from app.worker.envs.reward_functions import LARGEST, RewardFunction, number, refuse
from app.worker.user_code.loader import explain

_ARRAY = np.ndarray


class CustomReward(Replayable):
    """Replaces rewards, outside of everything that concerns a single environment.

    An episode that is played again asks for its rewards again, so what a `Reward` remembers of the
    episode under way comes back with it. The return of an episode stays the environment's own.
    """

    def __init__(self, env: gym.Env[Any, Any], written: RewardFunction) -> None:
        """Make an environment whose rewards are `written`.

        Raises:
            UserCodeError: if the code refuses to.
        """
        super().__init__(env)
        self._written = written
        self._call, self._forget = written.for_one_environment()
        self._is_array = isinstance(env.observation_space, gym.spaces.Box)
        has_names = env.observation_space.shape == (len(written.components),)
        self._array_type = written.array_type if has_names else np.ndarray
        self._before: Any = None
        """What the code is shown of the last observation."""
        self._given: Any = None
        """The first observation itself, to see whether the environment writes over it."""
        self._copies: bool | None = None
        """Whether it does; None: not known yet."""
        self._goes_on = False
        self._total = 0.0
        self._terms: dict[str, float] = {}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode, and let the reward do so, too.

        Raises:
            UserCodeError: if it can't.
        """
        observation, info = super().reset(seed=seed, options=options)
        if not self._goes_on:
            # Unless only one of several lives is over.
            self._total, self._terms = 0.0, {}
        self._goes_on = False
        try:
            self._forget()
        except BaseException as error:
            raise explain(error, REWARD_FILE) from error
        self._given = observation
        self._before = observation
        if self._is_array:
            self._before = observation.copy().view(self._array_type)
            self._before.setflags(False)
        return observation, info

    def step(
        self,
        action: Any,  # noqa: ANN401 - whatever the environment takes
    ) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Act, and ask for what that is worth.

        Raises:
            UserCodeError: if there is no useful answer.
        """
        observation, own, terminated, truncated, info = super().step(action)
        before, after, own = self._before, observation, float(own)
        # Written out, and without a call that isn't needed: this is done millions of times.
        if self._is_array:
            if self._copies is not False:
                after = self._kept(after)
            after = after.view(self._array_type)
            after.setflags(False)
        if type(action) is _ARRAY:
            action = action.view()
            action.setflags(False)
        try:
            returned = self._call(before, action, after, own, terminated, truncated, info)
            reward = returned if type(returned) is float else self._settle(returned)
            if not -LARGEST <= reward <= LARGEST:
                refuse(reward, returned)
        except BaseException as error:
            asked = (before, action, after, own, terminated, truncated, info)
            raise self._written.explained(error, self._call, asked) from error
        self._before = after
        self._total += reward
        if terminated or truncated:
            self._end(info)
        return observation, reward, terminated, truncated, info

    def _kept(self, observation: Any) -> Any:  # noqa: ANN401 - an array
        """Return an observation, or a copy where the environment would write over it."""
        if self._copies is None:
            self._copies = bool(np.may_share_memory(observation, self._given))
        return observation.copy() if self._copies else observation

    def _settle(self, returned: Any) -> float:  # noqa: ANN401 - whatever was returned
        if not isinstance(returned, dict):
            return number(returned)
        total, terms = 0.0, self._terms
        for name, part in returned.items():
            value = part if type(part) is float else number(part, name)
            total += value
            before = terms.get(name)
            if before is None:
                self._written.meet(name)
                terms[name] = value
            else:
                terms[name] = before + value
        return total

    def _end(self, info: dict[str, Any]) -> None:
        self._goes_on = "episode" not in info
        if not self._goes_on:
            terms = {name: round(value, 6) for name, value in self._terms.items()}
            info["shaped"] = {"values": {"shaped_reward": round(self._total, 6)}, "terms": terms}
