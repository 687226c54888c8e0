"""Turn a proposed change into something that can be done with a run."""

from collections.abc import Mapping

from storage.records.runs import JsonObject

_NOW = frozenset({"learning_rate", "ent_coef", "clip_range"})
"""What a run that trains can be given."""


def applicable_now(change: JsonObject | None) -> JsonObject | None:
    """Return what of a change a run can be given while it trains, if that is all of it."""
    values: JsonObject = (change or {}).get("hyperparameters", {})
    is_all = change is not None and set(change) == {"hyperparameters"} and set(values) <= _NOW
    return values if is_all else None


def describe_change(config: JsonObject, change: JsonObject) -> list[tuple[str, str, str]]:
    """Return, for every value that would be another, its name, what it is and what it becomes."""
    rows: list[tuple[str, str, str]] = []
    for name, value in change.items():
        if isinstance(value, Mapping):
            before = config.get(name) or {}
            rows += [(inner, _write(before.get(inner)), _write(v)) for inner, v in value.items()]
        else:
            rows.append((name, _write(config.get(name)), _write(value)))
    return [row for row in rows if row[1] != row[2]]


def _write(value: object) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "on" if value else "off"
        case {"points": points} if isinstance(points, list | tuple):
            return " -> ".join(f"{y:g}" for _, y in points)
        case float():
            return f"{value:g}"
        case int():
            return f"{value:,}"
        case _:
            return str(value)
