"""Presets and their measured results."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class PresetName(StrEnum):
    """The presets; an environment and an algorithm have some of them."""

    FAST = "fast"
    STABLE = "stable"
    HIGH_SCORE = "high_score"
    SB3_DEFAULTS = "sb3_defaults"
    """The defaults of Stable-Baselines3, which differ from the lab's."""
    RL_ZOO = "rl_zoo"
    """The values of RL Zoo."""

    @property
    def label(self) -> str:
        """The name shown to users."""
        return _NAMES_OF_OTHERS.get(self.value, self.value.replace("_", " ").capitalize())


_NAMES_OF_OTHERS = {"sb3_defaults": "SB3 defaults", "rl_zoo": "RL Zoo"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A score that RL Zoo publishes: of one run, not measured here."""

    score: float
    timesteps: int
    env_id: str
    """The environment that it is of, which may be an earlier version."""

    @property
    def sentence(self) -> str:
        """What is known of this score."""
        return (
            f"RL Zoo publishes {self.score:,.1f} for one run of {self.timesteps:,} steps on "
            f"{self.env_id}."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Values tuned together; others keep the algorithm's defaults."""

    total_timesteps: int
    n_envs: int | None = None
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    wrappers: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    """What a user should know of it, such as values of RL Zoo that the lab doesn't have."""
    published: Published | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The measured results of a preset: 100 episodes after training per seed."""

    scores: tuple[float, ...]
    """The mean return of each seed."""
    seconds: float
    """CPU time of one training, the median over seeds."""

    @property
    def score(self) -> float:
        """The mean score over seeds."""
        return sum(self.scores) / len(self.scores)


def write_score(score: float) -> str:
    """Write a score; small ones, such as a share of successes, with two decimals."""
    return f"{score:,.2f}" if abs(score) < 10 else f"{score:,.1f}"
