"""What a preset is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class PresetName(StrEnum):
    """The three of every pair of environment and algorithm."""

    FAST = "fast"
    STABLE = "stable"
    HIGH_SCORE = "high_score"

    @property
    def label(self) -> str:
        """As people read it."""
        return self.value.replace("_", " ").capitalize()


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Values that go together; what isn't named keeps the algorithm's default."""

    total_timesteps: int
    n_envs: int | None = None
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    wrappers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What a preset reached when it was measured: 100 episodes after training, per seed."""

    scores: tuple[float, ...]
    """The mean return of each seed."""
    seconds: float
    """Processor time of one training, the median over seeds."""

    @property
    def score(self) -> float:
        """The mean over seeds."""
        return sum(self.scores) / len(self.scores)


def for_budgets(fast: int, stable: int, high_score: int, **values: Any) -> tuple[Preset, ...]:
    """Return three presets that differ by their budget only."""
    return tuple(Preset(total_timesteps=steps, **values) for steps in (fast, stable, high_score))
