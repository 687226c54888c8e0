"""Parts of a report that its text and its HTML page share."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from app.analysis.report.content import Repeat, Report
from app.core import write_value
from storage.records import JsonObject


def write_pairs(values: JsonObject) -> str:
    """Return names and values as one line."""
    return ", ".join(f"{name} {write_value(value)}" for name, value in _flat(values))


def settings(report: Report) -> Iterable[tuple[str, Any]]:
    """Return the names and values of the configuration, with file names instead of code."""
    named = {
        "reward_code": report.reward_code and "reward.py",
        "env_code": report.env_code and "environment.py",
        # A seed is an identifier to copy, so it gets no thousands separators.
        "seed": str(report.config.get("seed")),
    }
    return _flat({**report.config, **named})


def api_call(repeat: Repeat) -> str:
    """Return the API request that reproduces the run."""
    body = json.dumps(msgspec.to_builtins(repeat.body))
    return f"{repeat.method} {repeat.path} {body}"


def _flat(config: JsonObject, prefix: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in config.items():
        if isinstance(value, Mapping) and "points" not in value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
