"""Presets and their measured results."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class PresetName(StrEnum):
    """The three presets of every environment and algorithm."""

    FAST = "fast"
    STABLE = "stable"
    HIGH_SCORE = "high_score"

    @property
    def label(self) -> str:
        """The name shown to users."""
        return self.value.replace("_", " ").capitalize()


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Values tuned together; others keep the algorithm's defaults."""

    total_timesteps: int
    n_envs: int | None = None
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    wrappers: Mapping[str, Any] = field(default_factory=dict)


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


def for_budgets(fast: int, stable: int, high_score: int, **values: Any) -> tuple[Preset, ...]:
    """Return three presets that differ only in their budget."""
    return tuple(Preset(total_timesteps=steps, **values) for steps in (fast, stable, high_score))
