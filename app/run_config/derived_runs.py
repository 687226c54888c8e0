"""Derive the request for a run from the configuration of another one."""

from collections.abc import Mapping
from typing import Any

from app.run_config.config import RunConfig
from app.run_config.preset_results import current_preset
from app.run_config.request import RunRequest

_COPIED_FIELDS = frozenset(RunRequest.model_fields) - {"seeds", "name", "tags", "start"}


def derive(
    config: RunConfig,
    changes: Mapping[str, Any] | None = None,
    *,
    at: int | None = None,
    keeps_seed: bool = False,
) -> RunRequest:
    """Return the request for a run like that of `config`, to start at once.

    Mappings among the changes, such as hyperparameters, are merged value by value. A run that
    starts from a policy of the original (`init_from`) gets the values with which that policy was
    trained: live changes up to the step `at`, or all of them, are included. The seed is random
    unless the changes set one or `keeps_seed` is set, for a step-by-step comparison with the
    original.

    Raises:
        ValidationError: if a value can't be used.
    """
    changes = changes or {}
    values = config.model_dump(mode="json", include=set(_COPIED_FIELDS))
    values["preset"] = current_preset(config)
    if not keeps_seed:
        del values["seed"]
    if "init_from" in changes:
        values["hyperparameters"] |= live_values(config, at)
    for name, value in changes.items():
        is_nested = isinstance(value, Mapping) and isinstance(values.get(name), Mapping)
        values[name] = {**values[name], **value} if is_nested else value
    return RunRequest.model_validate({"start": True, **values})


def live_values(config: RunConfig, at: int | None) -> dict[str, Any]:
    """Return the hyperparameters that were changed live up to a step; None: up to the end."""
    values: dict[str, Any] = {}
    for change in config.changes:
        if at is None or change.timesteps <= at:
            values |= change.hyperparameters
    return values
