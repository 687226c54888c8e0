"""Lineage: which run was started from which, and what was changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.analysis.comparison.differences import flat_settings
from app.core import write_value
from app.run_config import (
    RunRequest,
    config_of,
    derive,
    live_values,
    readable_config,
    reward_code_of,
)
from app.runs import NEWEST, PolicyAddress, Which
from storage.records import RunRecord

_OMITTED = frozenset({"seed", "init_from", "engine_used", "preset", "reward_code"})
"""Settings that differ between most runs by themselves, or are described otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Values changed during training."""

    timesteps: int
    words: str
    before: int | None
    """The step of the last policy snapshot before the change; None: it no longer exists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A run in a lineage."""

    run: RunRecord
    parent: str | None
    """None: it has none, or its parent was deleted or may not be seen."""
    from_step: int | None
    """The step of its parent that it started from, if known."""
    edge: str
    """What differs from its parent, as text; empty for a run without one."""
    changes: Sequence[Change]
    branch_steps: Sequence[int]
    """Steps that it can be branched from, in ascending order."""


def nodes(
    runs: Sequence[RunRecord], steps: Mapping[str, tuple[Sequence[int], Sequence[int]]]
) -> list[Node]:
    """Describe runs; `steps` has the steps of checkpoints and policy snapshots of each."""
    known = {run.id: run for run in runs}
    return [_node(run, known, *steps.get(run.id, ((), ()))) for run in runs]


def branch_of(run: RunRecord, step: int | None, values: Mapping[str, Any]) -> RunRequest:
    """Return the request for a run that continues another from a step with other values.

    Changes made in that run up to the step are kept unless `values` overrides them.

    Raises:
        ValidationError: if a value is not allowed.
    """
    own = {"total_timesteps", "name"}
    changes = {
        "hyperparameters": {name: one for name, one in values.items() if name not in own},
        "init_from": run.id if step is None else f"{run.id}@{step}",
        "name": values.get("name") or f"{run.name[:160]} (branch)",
        "total_timesteps": values.get("total_timesteps") or run.total_timesteps,
        "tags": list(run.tags),
    }
    return derive(config_of(run), changes, at=step)


def _node(
    run: RunRecord,
    known: Mapping[str, RunRecord],
    checkpoints: Sequence[int],
    snapshots: Sequence[int],
) -> Node:
    parent = known.get(run.parent or "")
    config = readable_config(run)
    which = PolicyAddress.parse((config and config.init_from) or "").which
    from_step = which if isinstance(which, int) else None
    return Node(
        run=run,
        parent=parent.id if parent else None,
        from_step=from_step,
        edge=_edge(run, parent, which),
        changes=_changes(run, snapshots),
        branch_steps=sorted({*checkpoints, *snapshots}),
    )


def _edge(run: RunRecord, parent: RunRecord | None, which: Which) -> str:
    if run.parent is None:
        return ""
    if parent is None:
        return "Started with the policy of a run that was deleted or is not visible to you."
    at = which if isinstance(which, int) else None
    start = f"From its {which or NEWEST} policy" if at is None else f"From step {at:,}"
    return f"{start}: {', '.join(_differences(parent, run, at)) or 'the same settings'}."


def _differences(before: RunRecord, after: RunRecord, at: int | None) -> list[str]:
    config = readable_config(before)
    live = {} if config is None else live_values(config, at)
    old = {
        **flat_settings(before),
        **{f"hyperparameters.{name}": value for name, value in live.items()},
    }
    words = [
        (name, write_value(old.get(name)), write_value(value))
        for name, value in flat_settings(after).items()
    ]
    found = [
        f"{name.rpartition('.')[2]} {one} to {other}"
        for name, one, other in words
        if name not in _OMITTED and one != other
    ]
    if reward_code_of(before) != (code := reward_code_of(after)):
        found.append("another custom reward" if code else "the environment's own reward")
    return found


def _changes(run: RunRecord, snapshots: Sequence[int]) -> list[Change]:
    found = []
    config = readable_config(run)
    for change in config.changes if config else ():
        at = change.timesteps
        words = ", ".join(f"{name} {write_value(value)}" for name, value in change.values.items())
        before = [step for step in snapshots if step <= at]
        found.append(Change(timesteps=at, words=words, before=before[-1] if before else None))
    return found
