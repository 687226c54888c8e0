"""Results of queries for past runs: plain frozen values shared by all layers."""

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
    """A page of the matching runs; each seed group is one entry."""

    entries: tuple[tuple[RunRecord, ...], ...]
    """Each a single run, or the runs of a group in order of creation."""
    number: int
    """Page number, starting at 1."""
    per_page: int
    entry_count: int
    """Number of entries on all pages."""
    run_count: int
    """Number of runs on all pages."""

    @property
    def page_count(self) -> int:
        """Number of pages, at least 1 even if there are no entries."""
        return max(1, -(-self.entry_count // self.per_page))

    @property
    def first(self) -> int:
        """Number of its first entry, counted over all pages; 0 if there is none."""
        return (self.number - 1) * self.per_page + 1 if self.entries else 0

    @property
    def last(self) -> int:
        """Number of its last entry."""
        return max(0, self.first + len(self.entries) - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """The values by which runs can be filtered, sorted alphabetically."""

    env_ids: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    run_count: int = 0
    """Number of runs, including archived ones."""
