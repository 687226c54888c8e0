"""The settings in which runs differ."""

import difflib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.analysis.comparison.entries import Entry
from app.core import NO_VALUE, write_value
from app.run_config import readable_config, reward_code_of, seed_of, settings_of
from storage.records import RunRecord

_CODE = "reward_code"
_NOT_SETTINGS = frozenset({"changes", "engine", "engine_reason", "env_code", "origin"})
"""Derived from the settings, or shown elsewhere."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting and its value in each entry as text; None: it has no such setting."""

    setting: str
    values: Sequence[str | None]


def differences(entries: Sequence[Entry]) -> list[Difference]:
    """Return the settings in which entries differ, in the order of the configuration."""
    settings = [_settings(entry) for entry in entries]
    names = dict.fromkeys(name for one in settings for name in one)
    found = (Difference(name, [one.get(name) for one in settings]) for name in names)
    # A setting that is missing in one and empty in another counts as the same.
    return [one for one in found if len({value or NO_VALUE for value in one.values}) > 1]


def code_difference(before: Entry, after: Entry) -> str:
    """Return a unified diff of the reward code of two entries; empty if it is the same."""
    old, new = (reward_code_of(entry.runs[0]) or "" for entry in (before, after))
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), before.name, after.name, lineterm=""
    )
    return "\n".join(lines)


def has_custom_reward(entry: Entry) -> bool:
    """Whether it was trained with a custom reward."""
    return bool(reward_code_of(entry.runs[0]))


def flat_settings(run: RunRecord) -> dict[str, Any]:
    """Return the settings of a run, nested ones under dotted names."""
    found: dict[str, Any] = {}
    for name, value in settings_of(run).items():
        if isinstance(value, Mapping) and name in ("hyperparameters", "wrappers", "env_kwargs"):
            found.update({f"{name}.{inner}": one for inner, one in value.items()})
        elif name not in _NOT_SETTINGS:
            found[name] = value
    return found


def _settings(entry: Entry) -> dict[str, str]:
    settings = {name: write_value(value) for name, value in flat_settings(entry.runs[0]).items()}
    settings[_CODE] = _code_label(reward_code_of(entry.runs[0]))
    seeds = dict.fromkeys(str(seed_of(run)) for run in entry.runs)
    settings["seed"] = ", ".join(seeds)
    configs = (readable_config(run) for run in entry.runs)
    changed = sum(len(config.changes) for config in configs if config is not None)
    if changed:
        settings["changed while training"] = "once" if changed == 1 else f"{changed} times"
    return settings


def _code_label(code: str | None) -> str:
    """Describe reward code by its length and checksum, so that equal lengths still differ."""
    if not code:
        return "the environment's"
    return f"custom, {len(code.splitlines())} lines ({zlib.crc32(code.encode()):08x})"
