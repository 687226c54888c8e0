"""What is compared: single runs, and the seeds of groups taken together."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.core.errors import InputError
from storage.records.runs import RunRecord

GROUP = "g:"
"""What the key of a group begins with."""
MOST_ENTRIES = 20
_ID_SHOWN = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A line of a comparison."""

    key: str
    """The id of a run, or `g:` and that of a group."""
    name: str
    runs: Sequence[RunRecord]
    """One, or all seeds of a group that the visitor may look at."""

    @property
    def is_group(self) -> bool:
        """Whether several seeds are taken together."""
        return self.key.startswith(GROUP)

    @property
    def env_id(self) -> str:
        """Where it was trained."""
        return self.runs[0].env_id

    @property
    def is_live(self) -> bool:
        """Whether more may come of it."""
        return any(run.status.is_active for run in self.runs)


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that was asked for and can't be compared."""

    key: str
    reason: str


def read_keys(text: str) -> list[str]:
    """Return what an address names, each once.

    Raises:
        InputError: if that is too much to compare.
    """
    keys = list(dict.fromkeys(key for part in text.split(",") if (key := part.strip())))
    if len(keys) > MOST_ENTRIES:
        raise InputError(
            f"runs names {len(keys)} runs and groups; at most {MOST_ENTRIES} can be compared. "
            "Leave some out, or fold seeds into their group.",
            field="runs",
        )
    return keys


def single(run: RunRecord) -> Entry:
    """Return a run as a line of a comparison."""
    return Entry(key=run.id, name=run.name, runs=(run,))


def folded(group_id: str, members: Sequence[RunRecord]) -> Entry:
    """Return a group as a line of a comparison, named as its runs are, but for the seed."""
    seed = f", seed {members[0].config.get('seed')}"
    count = f"{len(members)} seeds" if len(members) > 1 else "1 seed"
    name = f"{members[0].name.removesuffix(seed)}, {count}"
    return Entry(key=f"{GROUP}{group_id}", name=name, runs=tuple(members))


def told_apart(entries: Sequence[Entry]) -> list[Entry]:
    """Add to names that several have what tells them apart: the seed, or the start of the id."""
    names = Counter(entry.name for entry in entries)
    seeds = {
        name: [_seed(entry) for entry in entries if entry.name == name]
        for name, count in names.items()
        if count > 1
    }
    return [
        replace(entry, name=f"{entry.name}, {_mark(entry, seeds[entry.name])}")
        if entry.name in seeds
        else entry
        for entry in entries
    ]


def _seed(entry: Entry) -> int | None:
    return None if entry.is_group else entry.runs[0].config.get("seed")


def _mark(entry: Entry, seeds: Sequence[int | None]) -> str:
    if None not in seeds and len(set(seeds)) == len(seeds):
        return f"seed {_seed(entry)}"
    return entry.key.removeprefix(GROUP)[:_ID_SHOWN]


def fold(entries: Sequence[Entry]) -> list[str]:
    """Return the keys with runs of one group replaced by the group, where two or more are there."""
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
    """Return the keys with a group replaced by its runs."""
    parts = [
        [run.id for run in entry.runs] if entry.key == key else [entry.key] for entry in entries
    ]
    return list(dict.fromkeys(one for part in parts for one in part))
