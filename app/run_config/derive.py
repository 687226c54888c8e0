"""A run like one that was made, but for some changes."""

from collections.abc import Mapping
from typing import Any

from app.run_config.config import RunRequest
from storage.records.runs import JsonObject

_KEPT = frozenset(RunRequest.model_fields) - {"seeds", "name", "tags", "start"}
_LIVE = ("learning_rate", "ent_coef", "clip_range")
"""The hyperparameters that can be changed while a run trains."""


def derive(
    config: JsonObject,
    changes: Mapping[str, Any] | None = None,
    *,
    at: int | None = None,
    keeps_seed: bool = False,
) -> RunRequest:
    """Return the request for a run like the one of `config`, to begin at once.

    Mappings among the changes, such as hyperparameters, are merged value by value. A run that
    begins with a policy of that one (`init_from`) has the values with which that policy was
    trained: those that were changed live until the step `at`, or until its end, hold on. It draws a
    seed of its own, unless the changes name one or it `keeps_seed`, as what is to be compared with
    the other run step by step does.

    Raises:
        ValidationError: if a value can't be used.
    """
    changes = changes or {}
    wanted = {name: value for name, value in config.items() if name in _KEPT}
    if not keeps_seed:
        wanted.pop("seed", None)
    if "init_from" in changes:
        live = live_values(config, at)
        wanted["hyperparameters"] = {**wanted.get("hyperparameters", {}), **live}
    for name, value in changes.items():
        is_nested = isinstance(value, Mapping) and isinstance(wanted.get(name), Mapping)
        wanted[name] = {**wanted[name], **value} if is_nested else value
    return RunRequest.model_validate({"start": True, **wanted})


def live_values(config: JsonObject, at: int | None) -> dict[str, Any]:
    """Return the hyperparameters that were changed live until a step; None: until the end."""
    values: dict[str, Any] = {}
    for change in config.get("changes") or ():
        if at is None or change["timesteps"] <= at:
            given = {name: change.get(name) for name in _LIVE}
            values.update({name: value for name, value in given.items() if value is not None})
    return values
