"""What another budget does to a run's schedules and exploration."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from app.protocol import Schedule, ScheduleMode, next_schedule_end
from app.run_config.config import RunConfig
from app.run_config.derived_runs import live_values

_Values = dict[str, Callable[[float], float]]
"""The values that follow the progress of a run (0 to 1), by name."""


def settings_after(config: RunConfig, change: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a run that a change of its budget replaces; none without one."""
    total = change.get("total_timesteps")
    if total is None:
        return {}
    end = next_schedule_end(config.schedule_end, total, change.get("schedules"))
    return {"total_timesteps": total, "schedule_timesteps": None if end == total else end}


def describe_extension(
    config: RunConfig, total_timesteps: int, mode: ScheduleMode | None, *, at: int
) -> str | None:
    """Describe what a budget does to schedules from step `at` on; None if the run has none."""
    values = _scheduled(config)
    if not values:
        return None
    before = config.schedule_end
    end = next_schedule_end(before, total_timesteps, mode)
    if end == before:
        words = (f"{name} {_short(value(1.0))}" for name, value in values.items())
        return f"Schedules end at step {end:,} as before and keep their last value: " + _list(words)
    words = (
        _transition(name, value(min(1.0, at / before)), value(min(1.0, at / end)))
        for name, value in values.items()
    )
    return f"Schedules now end at step {end:,}: " + _list(words)


def _scheduled(config: RunConfig) -> _Values:
    current: dict[str, Any] = {**config.hyperparameters, **live_values(config, None)}
    found: _Values = {
        name: _along(value) for name, value in current.items() if isinstance(value, Schedule)
    }
    names = ("exploration_fraction", "exploration_initial_eps", "exploration_final_eps")
    fraction, first, final = (current.get(name, 0.0) for name in names)
    if first != final:
        found["exploration_rate"] = _along(Schedule(((0.0, first), (fraction, final))))
    return found


def _along(schedule: Schedule) -> Callable[[float], float]:
    progress, values = zip(*schedule.points, strict=True)
    return lambda done: float(np.interp(done, progress, values))


def _transition(name: str, before: float, after: float) -> str:
    old, new = _short(before), _short(after)
    return f"{name} stays {new}" if old == new else f"{name} goes from {old} to {new}"


def _list(words: Iterable[str]) -> str:
    return ", ".join(words) + "."


def _short(value: float) -> str:
    return f"{value:.3g}"
