"""The proposed changes of insights, as values for a run."""

from collections.abc import Mapping

from app.core import write_value
from app.run_config import LIVE_HYPERPARAMETERS, RunConfig
from storage.records import JsonObject


def applicable_now(change: JsonObject | None) -> JsonObject | None:
    """Return the values of a change if all of it can be applied during training."""
    values: JsonObject = (change or {}).get("hyperparameters", {})
    is_all = (
        change is not None
        and set(change) == {"hyperparameters"}
        and set(values) <= set(LIVE_HYPERPARAMETERS)
    )
    return values if is_all else None


def describe_change(config: RunConfig, change: JsonObject) -> list[tuple[str, str, str]]:
    """Return the name, the current and the new value of everything that would change."""
    rows: list[tuple[str, str, str]] = []
    now = config.model_dump(mode="json", include=set(change))
    for name, value in change.items():
        if isinstance(value, Mapping):
            rows += [
                (inner, write_value(now[name].get(inner)), write_value(v))
                for inner, v in value.items()
            ]
        else:
            rows.append((name, write_value(now[name]), write_value(value)))
    return [row for row in rows if row[1] != row[2]]
