"""Wrappers that a run's options select.

All randomness comes from the environment's own generator, so that an episode can be replayed.
"""

from collections.abc import Collection
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from app.protocol import EVALUATION_LIMIT, Wrappers

_Step = tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]
_Reset = tuple[Any, dict[str, Any]]


def wrap(env: gym.Env[Any, Any], options: Wrappers) -> gym.Env[Any, Any]:
    """Apply the wrappers of a single environment."""
    if options.left_out_actions:
        env = FewerActions(env, options.left_out_actions)
    if options.randomize:
        env = Randomized(env, options.randomize)
    if options.frame_skip > 1:
        env = FrameSkip(env, options.frame_skip)
    if options.sticky_actions:
        env = StickyActions(env, options.sticky_actions)
    if options.action_noise:
        env = NoisyActions(env, options.action_noise)
    if options.observation_noise:
        env = NoisyObservations(env, options.observation_noise)
    return env


class _Wrapper(gym.Wrapper[Any, Any, Any, Any]):
    @property
    def _random(self) -> np.random.Generator:
        return self.unwrapped.np_random


class FewerActions(_Wrapper):
    """Offers a part of the discrete actions, numbered from 0."""

    def __init__(self, env: gym.Env[Any, Any], left_out: Collection[int]) -> None:
        super().__init__(env)
        space = env.action_space
        if not isinstance(space, gym.spaces.Discrete):
            raise TypeError("wrappers.left_out_actions needs discrete actions.")
        self.kept = np.array([action for action in range(int(space.n)) if action not in left_out])
        """The environment's number of each action."""
        self.action_space = gym.spaces.Discrete(len(self.kept))

    def step(self, action: Any) -> _Step:  # noqa: ANN401 - any action
        """Do the environment's action of this number."""
        return self.env.step(self.kept[action])


def environments_actions(env: gym.Env[Any, Any]) -> NDArray[np.int64] | None:
    """Return the environment's number of each action; None if they are the same."""
    while isinstance(env, gym.Wrapper):
        if isinstance(env, FewerActions):
            return env.kept
        env = env.env
    return None


class Randomized(_Wrapper):
    """Samples some of the environment's attributes for each episode (domain randomization)."""

    def __init__(self, env: gym.Env[Any, Any], ranges: Any) -> None:  # noqa: ANN401
        super().__init__(env)
        self._ranges = {name: (float(low), float(high)) for name, (low, high) in ranges.items()}
        for name in self._ranges:
            value = getattr(env.unwrapped, name, None)
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                raise TypeError(
                    f"wrappers.randomize: {type(env.unwrapped).__name__} has no numeric attribute "
                    f"{name!r}."
                )

    def reset(self, **arguments: Any) -> _Reset:
        """Sample the attributes and begin an episode."""
        generator = self._random if arguments.get("seed") is None else _spawn(arguments["seed"])
        for name, (low, high) in self._ranges.items():
            setattr(self.unwrapped, name, float(generator.uniform(low, high)))
        self._update_derived()
        return self.env.reset(**arguments)

    def _update_derived(self) -> None:
        """Recompute the attributes that CartPole derives from its masses and length."""
        env: Any = self.unwrapped
        if hasattr(env, "polemass_length"):
            env.total_mass = env.masspole + env.masscart
            env.polemass_length = env.masspole * env.length


def _spawn(seed: int) -> np.random.Generator:
    """Return a generator independent of the one that the seed itself makes.

    From that one the environment draws its first state, which would depend on the attributes.
    """
    return np.random.default_rng(np.random.SeedSequence(seed).spawn(1)[0])


class FrameSkip(_Wrapper):
    """Repeats each action several times and sums the rewards."""

    def __init__(self, env: gym.Env[Any, Any], times: int) -> None:
        super().__init__(env)
        self._times = times

    def step(self, action: Any) -> _Step:  # noqa: ANN401 - any action
        """Repeat the action, or stop earlier if the episode ends."""
        total = clipped = 0.0
        for _ in range(self._times):
            observation, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            clipped += info.get("clipped_reward", 0.0)
            if terminated or truncated:
                break
        if "clipped_reward" in info:
            info = {**info, "clipped_reward": clipped}
        return observation, total, terminated, truncated, info


class StickyActions(_Wrapper):
    """Repeats the previous action instead of the chosen one with some probability."""

    def __init__(self, env: gym.Env[Any, Any], probability: float) -> None:
        super().__init__(env)
        self._probability = probability
        self._last: Any = None

    def reset(self, **arguments: Any) -> _Reset:
        """Begin an episode without a previous action."""
        self._last = None
        return self.env.reset(**arguments)

    def step(self, action: Any) -> _Step:  # noqa: ANN401 - any action
        """Do the action, or repeat the previous one."""
        if self._last is None or self._random.random() >= self._probability:
            self._last = action
        return self.env.step(self._last)


class NoisyActions(_Wrapper):
    """Adds noise to continuous actions and replaces discrete ones with some probability."""

    def __init__(self, env: gym.Env[Any, Any], amount: float) -> None:
        super().__init__(env)
        self._amount = amount

    def step(self, action: Any) -> _Step:  # noqa: ANN401 - any action
        """Do the action with noise."""
        return self.env.step(self._with_noise(action))

    def _with_noise(self, action: Any) -> Any:  # noqa: ANN401 - any action
        space = self.env.action_space
        if isinstance(space, gym.spaces.Box):
            noise = self._random.normal(0.0, self._amount, space.shape)
            return np.clip(action + noise, space.low, space.high).astype(space.dtype)
        if self._random.random() >= self._amount:
            return action
        if isinstance(space, gym.spaces.Discrete):
            return int(space.start + self._random.integers(space.n))
        if isinstance(space, gym.spaces.MultiDiscrete):
            return self._random.integers(space.nvec)
        return self._random.integers(2, size=space.shape)


class NoisyObservations(_Wrapper):
    """Adds Gaussian noise to observations."""

    def __init__(self, env: gym.Env[Any, Any], deviation: float) -> None:
        super().__init__(env)
        space = env.observation_space
        if not isinstance(space, gym.spaces.Box) or not np.issubdtype(space.dtype, np.floating):
            raise ValueError("wrappers.observation_noise needs observations of real numbers.")
        self._deviation = deviation

    def reset(self, **arguments: Any) -> _Reset:
        """Begin an episode."""
        observation, info = self.env.reset(**arguments)
        return self._with_noise(observation), info

    def step(self, action: Any) -> _Step:  # noqa: ANN401 - any action
        """Act, and add noise to the observation."""
        observation, *rest = self.env.step(action)
        return self._with_noise(observation), *rest

    def _with_noise(self, observation: Any) -> Any:  # noqa: ANN401 - any observation
        noise = self._random.normal(0.0, self._deviation, observation.shape)
        return (observation + noise).astype(observation.dtype)


class EvaluationLimit(gym.wrappers.TimeLimit[Any, Any]):
    """Truncates the episodes of evaluations where the environment itself never would.

    Some deterministic policies never come to an end: in CliffWalking, one that walks into a wall.
    """

    STEPS = EVALUATION_LIMIT

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env, self.STEPS)


class Masked(_Wrapper):
    """Provides action masks for MaskablePPO; without masks, all actions are valid."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self._mask: Any = None
        self._kept = environments_actions(env)
        self._all = np.ones(_mask_size(env.action_space), dtype=bool)

    def reset(self, **arguments: Any) -> _Reset:
        """Begin an episode and keep its action mask."""
        observation, info = self.env.reset(**arguments)
        self._mask = info.get("action_mask")
        return observation, info

    def step(self, action: Any) -> _Step:  # noqa: ANN401 - any action
        """Act and keep the next action mask."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._mask = info.get("action_mask")
        return observation, reward, terminated, truncated, info

    def action_masks(self) -> Any:  # noqa: ANN401 - one truth value for each action
        """Return which actions are currently valid."""
        own = getattr(self.env.unwrapped, "action_masks", None)
        mask = self._mask if own is None else own()
        if mask is None:
            return self._all
        mask = np.asarray(mask, dtype=bool)
        if self._kept is None:
            return mask
        # If only left out actions are valid, the agent must still take one.
        return mask[self._kept] if mask[self._kept].any() else self._all


def _mask_size(space: gym.Space[Any]) -> int:
    match space:
        case gym.spaces.Discrete():
            return int(space.n)
        case gym.spaces.MultiDiscrete():
            return int(space.nvec.sum())
        case _:
            return 2 * int(np.prod(space.shape or ()))
