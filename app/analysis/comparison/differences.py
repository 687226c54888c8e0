"""What differs between the settings of runs, and nothing else."""

import difflib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.analysis.comparison.entries import Entry
from app.protocol.schedule import read_schedule
from storage.records.runs import JsonObject

_CODE = "reward_code"
_NOTHING = "-"
_NOT_SETTINGS = frozenset({"changes", "engine", "engine_reason", "env_code"})
"""What came of the settings, or is told elsewhere."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One setting, and what each entry has for it, in words; None: it has no such setting."""

    setting: str
    values: Sequence[str | None]


def differences(entries: Sequence[Entry]) -> list[Difference]:
    """Return the settings in which entries differ, in the order in which they are written down."""
    settings = [_settings(entry) for entry in entries]
    names = dict.fromkeys(name for one in settings for name in one)
    found = (Difference(name, [one.get(name) for one in settings]) for name in names)
    # A setting that one doesn't have and one that another has left empty look the same.
    return [one for one in found if len({value or _NOTHING for value in one.values}) > 1]


def code_difference(before: Entry, after: Entry) -> str:
    """Return the reward code of two entries as a unified diff; empty where they have the same."""
    old, new = (str(entry.runs[0].config.get(_CODE) or "") for entry in (before, after))
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), before.name, after.name, lineterm=""
    )
    return "\n".join(lines)


def has_own_reward(entry: Entry) -> bool:
    """Whether it was trained on a reward function of somebody's own."""
    return bool(entry.runs[0].config.get(_CODE))


def written(value: object) -> str:
    """Return a setting as people write it."""
    if value is None:
        return _NOTHING
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Mapping):
        if (schedule := read_schedule(value)) is not None:
            return str(schedule)
        return ", ".join(f"{name} {written(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(written(one) for one in value)
    return str(value)


def flat(config: JsonObject) -> dict[str, Any]:
    """Return nested settings under dotted names."""
    found: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, Mapping) and name in ("hyperparameters", "wrappers", "env_kwargs"):
            found.update({f"{name}.{inner}": one for inner, one in value.items()})
        elif name not in _NOT_SETTINGS:
            found[name] = value
    return found


def _settings(entry: Entry) -> dict[str, str]:
    settings = {name: written(value) for name, value in flat(entry.runs[0].config).items()}
    if _CODE in settings:
        settings[_CODE] = _code_words(entry.runs[0].config[_CODE])
    seeds = dict.fromkeys(str(run.config.get("seed", "-")) for run in entry.runs)
    settings["seed"] = ", ".join(seeds)
    changed = sum(len(run.config.get("changes") or ()) for run in entry.runs)
    if changed:
        settings["changed while training"] = "once" if changed == 1 else f"{changed} times"
    return settings


def _code_words(code: object) -> str:
    """Name reward code by its size and its content, so that two of one size still differ."""
    if not code:
        return "the environment's"
    text = str(code)
    return f"own, {len(text.splitlines())} lines ({zlib.crc32(text.encode()):08x})"
