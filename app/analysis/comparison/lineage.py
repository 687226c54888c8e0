"""How runs came of each other, and what was changed on the way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.analysis.comparison.differences import flat, written
from app.run_config.config import RunRequest
from app.run_config.derive import derive, live_values
from app.runs.stored_policies import NEWEST, PolicyAddress, Which
from storage.records.runs import RunRecord

_NOT_TOLD = frozenset({"seed", "init_from", "engine_used", "preset", "reward_code"})
"""What differs between most runs and was nobody's wish, or is told in other words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Values with which a run went on from some step."""

    timesteps: int
    words: str
    before: int | None
    """The step of the policy that was kept just before; None: it isn't there any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A run among those it came of and those that came of it."""

    run: RunRecord
    parent: str | None
    """None: it began by itself, or what it came of can't be seen."""
    from_step: int | None
    """At which step of its parent it began, where that is known."""
    edge: str
    """What is different about it, in words; empty for a run that began by itself."""
    changes: Sequence[Change]
    branch_steps: Sequence[int]
    """Steps that it can be branched from, earliest first."""


def nodes(
    runs: Sequence[RunRecord], kept: Mapping[str, tuple[Sequence[int], Sequence[int]]]
) -> list[Node]:
    """Return runs with what changed; `kept` has the checkpoints and forks of each."""
    known = {run.id: run for run in runs}
    return [_node(run, known, *kept.get(run.id, ((), ()))) for run in runs]


def branch_of(run: RunRecord, step: int | None, wishes: Mapping[str, Any]) -> RunRequest:
    """Return the request for a run that goes on from a step of another with other values.

    What was changed in that one by then holds on, unless something else is wished.

    Raises:
        ValidationError: if a value can't be used.
    """
    own = {"total_timesteps", "name"}
    changes = {
        "hyperparameters": {name: value for name, value in wishes.items() if name not in own},
        "init_from": run.id if step is None else f"{run.id}@{step}",
        "name": wishes.get("name") or f"{run.name[:160]} (branch)",
        "total_timesteps": wishes.get("total_timesteps") or run.total_timesteps,
        "tags": list(run.tags),
    }
    return derive(run.config, changes, at=step)


def _node(
    run: RunRecord, known: Mapping[str, RunRecord], checkpoints: Sequence[int], forks: Sequence[int]
) -> Node:
    parent = known.get(run.parent or "")
    which = PolicyAddress.parse(str(run.config.get("init_from") or "")).which
    from_step = which if isinstance(which, int) else None
    return Node(
        run=run,
        parent=parent.id if parent else None,
        from_step=from_step,
        edge=_edge(run, parent, which),
        changes=_changes(run, forks),
        branch_steps=sorted({*checkpoints, *forks}),
    )


def _edge(run: RunRecord, parent: RunRecord | None, which: Which) -> str:
    if run.parent is None:
        return ""
    if parent is None:
        return "Began with the policy of a run that isn't there any more, or isn't yours to see."
    at = which if isinstance(which, int) else None
    start = f"From its {which or NEWEST} policy" if at is None else f"From step {at:,}"
    return f"{start}: {', '.join(_differences(parent, run, at)) or 'the same settings'}."


def _differences(before: RunRecord, after: RunRecord, at: int | None) -> list[str]:
    old = {**flat(before.config), **_dotted(live_values(before.config, at))}
    new = flat(after.config)
    told = [
        f"{name.rpartition('.')[2]} {written(old.get(name))} to {written(value)}"
        for name, value in new.items()
        if name not in _NOT_TOLD and old.get(name) != value
    ]
    if before.config.get("reward_code") != after.config.get("reward_code"):
        own = after.config.get("reward_code")
        told.append("another reward function" if own else "the environment's own reward")
    return told


def _dotted(values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"hyperparameters.{name}": value for name, value in values.items()}


def _changes(run: RunRecord, forks: Sequence[int]) -> list[Change]:
    found = []
    for change in run.config.get("changes") or ():
        at = int(change["timesteps"])
        words = ", ".join(
            f"{name} {written(value)}"
            for name, value in change.items()
            if name != "timesteps" and value is not None
        )
        before = [step for step in forks if step <= at]
        found.append(Change(timesteps=at, words=words, before=before[-1] if before else None))
    return found
