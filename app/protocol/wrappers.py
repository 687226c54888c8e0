"""Wrapper options of an environment: observations, actions, disturbances."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

EVALUATION_LIMIT = 5_000
"""The step at which evaluations truncate episodes where the environment has no time limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrappers:
    """The wrapper options of a run; the defaults leave the environment unchanged."""

    simulator: Literal["gymnasium", "envpool"] = "gymnasium"
    """The implementation of environments to train on; evaluations always use Gymnasium."""
    frame_stack: int = 1
    """Number of observations stacked into one."""
    normalize_observation: bool = False
    """Normalize observations to mean 0 and standard deviation 1 by running statistics."""
    normalize_reward: bool = False
    """Normalize rewards by the running deviation of returns; the reported return is unchanged."""
    time_limit: int | None = None
    """Truncate episodes after this many steps; None: the environment's own limit."""
    time_limit_unit: Literal["steps", "frames"] = "steps"
    """What `time_limit` counts: the agent's steps, or the frames that `frame_skip` repeats."""
    frame_skip: int = 1
    """Repeat each action this many times."""
    left_out_actions: tuple[int, ...] = ()
    """Numbers of discrete actions that the agent doesn't have; it counts the others from 0."""
    sticky_actions: float = 0.0
    """Probability that the last action is repeated instead of the chosen one."""
    observation_noise: float = 0.0
    """Standard deviation of the noise on every number of an observation."""
    action_noise: float = 0.0
    """Deviation of the noise on continuous actions; probability of replacing a discrete one."""
    randomize: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Attributes of the environment that are sampled from a range for every episode."""

    @property
    def normalizes(self) -> bool:
        """Whether observations or rewards are normalized."""
        return self.normalize_observation or self.normalize_reward

    @property
    def disturbances(self) -> tuple[str, ...]:
        """The options in use that make the environment harder."""
        off = Wrappers()
        return tuple(name for name in _DISTURBANCES if getattr(self, name) != getattr(off, name))

    def for_evaluation(self) -> "Wrappers":
        """Return the options without those that apply to training only."""
        return replace(
            self,
            simulator="gymnasium",
            sticky_actions=0.0,
            observation_noise=0.0,
            action_noise=0.0,
            randomize={},
        )


_DISTURBANCES = ("sticky_actions", "observation_noise", "action_noise", "randomize")
