"""Methods: the same algorithm and settings on several environments, matched by their names."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.analysis.comparison.differences import differences
from app.analysis.comparison.entries import Entry
from app.run_config import readable_config
from app.runs import group_name

_PUNCTUATION = " ,:;-_/()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """Entries with the same algorithm, preset and name, whichever their environment."""

    name: str
    entries: Sequence[Entry]

    def on(self, env_id: str) -> list[Entry]:
        """Return its entries on an environment: their runs count as its seeds there."""
        return [entry for entry in self.entries if entry.env_id == env_id]


def methods(entries: Sequence[Entry]) -> list[Method]:
    """Return the methods of entries, in the order in which they appear."""
    found: dict[str, Method] = {}
    for entry in entries:
        name = method_name(entry)
        known = found.get(name, Method(name=name, entries=()))
        found[name] = replace(known, entries=(*known.entries, entry))
    return list(found.values())


def method_name(entry: Entry) -> str:
    """Return the algorithm, preset and name of an entry without environment and seed."""
    run = entry.runs[0]
    own = group_name([run]).replace(f"{run.algorithm} on {run.env_id}", "")
    own = own.replace(run.env_id, "").strip(_PUNCTUATION)
    own = own.removeprefix(run.algorithm).strip(_PUNCTUATION)
    config = readable_config(run)
    preset = "" if config is None or config.preset is None else config.preset.label
    parts = [run.algorithm, preset, "" if own.lower() == preset.lower() else own]
    return ", ".join(part for part in parts if part)


def mixed_settings(method: Method) -> list[str]:
    """Return the environments on which a method has entries with different settings."""
    return [
        env_id
        for env_id in dict.fromkeys(entry.env_id for entry in method.entries)
        if any(one.setting != "seed" for one in differences(method.on(env_id)))
    ]
