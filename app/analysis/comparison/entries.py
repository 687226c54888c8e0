"""Entries of a comparison: single runs and seed groups."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.core import InputError
from app.run_config import seed_of
from app.runs import group_name
from storage.records import RunRecord

GROUP = "g:"
"""Prefix of the key of a group."""
MAX_ENTRIES = 20
_ID_SHOWN = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A run or a seed group in a comparison."""

    key: str
    """The id of a run, or `g:` and the id of a group."""
    name: str
    runs: Sequence[RunRecord]
    """One run, or all runs of a group that the principal may see."""

    @property
    def is_group(self) -> bool:
        """Whether it is a seed group."""
        return self.key.startswith(GROUP)

    @property
    def env_id(self) -> str:
        """The environment."""
        return self.runs[0].env_id

    @property
    def algorithm(self) -> str:
        """The algorithm."""
        return self.runs[0].algorithm

    @property
    def is_live(self) -> bool:
        """Whether one of its runs is active, so that results may still change."""
        return any(run.status.is_active for run in self.runs)


@dataclass(frozen=True, slots=True)
class Missing:
    """A requested entry that can't be compared."""

    key: str
    reason: str


def read_keys(text: str) -> list[str]:
    """Return the keys in a comma-separated list, without repetitions.

    Raises:
        InputError: if there are too many.
    """
    keys = list(dict.fromkeys(key for part in text.split(",") if (key := part.strip())))
    if len(keys) > MAX_ENTRIES:
        raise InputError(
            f"runs names {len(keys)} runs and groups; at most {MAX_ENTRIES} can be compared. "
            "Remove some, or use their seed groups.",
            field="runs",
        )
    return keys


def run_entry(run: RunRecord) -> Entry:
    """Return the entry of a single run."""
    return Entry(key=run.id, name=run.name, runs=(run,))


def group_entry(group_id: str, members: Sequence[RunRecord]) -> Entry:
    """Return the entry of a group, with the name of its runs without the seed."""
    count = f"{len(members)} seeds" if len(members) > 1 else "1 seed"
    name = f"{group_name(members)}, {count}"
    return Entry(key=f"{GROUP}{group_id}", name=name, runs=tuple(members))


def with_distinct_names(entries: Sequence[Entry]) -> list[Entry]:
    """Make equal names distinct by adding the environment, the seed or the start of the id."""
    names = Counter(entry.name for entry in entries)
    same = {
        name: [entry for entry in entries if entry.name == name]
        for name, count in names.items()
        if count > 1
    }
    return [
        replace(entry, name=f"{entry.name}, {_suffix(entry, same[entry.name])}")
        if entry.name in same
        else entry
        for entry in entries
    ]


def _seed(entry: Entry) -> int | None:
    return None if entry.is_group else seed_of(entry.runs[0])


def _suffix(entry: Entry, same: Sequence[Entry]) -> str:
    if len({one.env_id for one in same}) == len(same):
        return entry.env_id
    seeds = [_seed(one) for one in same]
    if None not in seeds and len(set(seeds)) == len(seeds):
        return f"seed {_seed(entry)}"
    return entry.key.removeprefix(GROUP)[:_ID_SHOWN]


def fold(entries: Sequence[Entry]) -> list[str]:
    """Return the keys, with two or more runs of one group replaced by the group."""
    groups = [entry.runs[0].group_id for entry in entries if not entry.is_group]
    foldable = {group for group in groups if group is not None and groups.count(group) > 1}
    keys = [
        f"{GROUP}{group}"
        if not entry.is_group and (group := entry.runs[0].group_id) in foldable
        else entry.key
        for entry in entries
    ]
    return list(dict.fromkeys(keys))


def unfold(entries: Sequence[Entry], key: str) -> list[str]:
    """Return the keys, with a group replaced by its runs."""
    parts = [
        [run.id for run in entry.runs] if entry.key == key else [entry.key] for entry in entries
    ]
    return list(dict.fromkeys(one for part in parts for one in part))
