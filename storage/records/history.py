"""What is asked and told about past runs: plain frozen values that every layer may pass around."""

from dataclasses import dataclass

from storage.records.runs import RunRecord

SORTABLE = (
    "created_at",
    "updated_at",
    "name",
    "env_id",
    "algorithm",
    "status",
    "timesteps",
    "elapsed_s",
    "score",
)
"""The fields a list of runs can be sorted by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryPage:
    """Some of the runs that were asked for; those of a seed group stand together."""

    entries: tuple[tuple[RunRecord, ...], ...]
    """A run by itself, or the runs of a group in the order of their making."""
    number: int
    """Which page it is, from 1 on."""
    per_page: int
    entry_count: int
    """How many entries all pages have together."""
    run_count: int
    """How many runs those are."""

    @property
    def page_count(self) -> int:
        """How many pages there are; one that is empty counts, too."""
        return max(1, -(-self.entry_count // self.per_page))

    @property
    def first(self) -> int:
        """The number of its first entry, counted over all pages; 0 if there is none."""
        return (self.number - 1) * self.per_page + 1 if self.entries else 0

    @property
    def last(self) -> int:
        """The number of its last entry."""
        return max(0, self.first + len(self.entries) - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """By what the runs there are can be told apart, each in alphabetical order."""

    env_ids: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    run_count: int = 0
    """How many runs there are, archived ones included."""
