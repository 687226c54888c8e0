"""The state of the page of past runs as stored in its URL; names are those of the API."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import urlencode

from storage.records import SORTABLE, RunFilter, RunStatus

NEWEST_FIRST = "-created_at"
ARCHIVED = {"": False, "true": True, "all": None}
"""The values in a URL and the filter values they stand for."""

_MAX_TEXT = 200
_LAST_PAGE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryView:
    """Filters, sort order and page number; an empty field means any."""

    q: str = ""
    status: str = ""
    env_id: str = ""
    algorithm: str = ""
    tag: str = ""
    owner: str = ""
    archived: str = ""
    sort: str = NEWEST_FIRST
    page: int = 1

    @classmethod
    def read(cls, query: Mapping[str, str]) -> "HistoryView":
        """Parse the query of a URL; ignore invalid values."""
        names = ("q", "env_id", "algorithm", "tag", "owner")
        texts: dict[str, Any] = {name: query.get(name, "")[:_MAX_TEXT] for name in names}
        status, archived, sort = (query.get(name, "") for name in ("status", "archived", "sort"))
        page = query.get("page", "")
        return cls(
            **texts,
            status=status if status in set(RunStatus) else "",
            archived=archived if archived in ARCHIVED else "",
            sort=sort if sort.removeprefix("-") in SORTABLE else NEWEST_FIRST,
            page=min(max(1, int(page)), _LAST_PAGE) if page.isascii() and page.isdigit() else 1,
        )

    @property
    def address(self) -> str:
        """The URL that opens this view."""
        default = HistoryView()
        query = {k: v for k, v in asdict(self).items() if v != getattr(default, k)}
        return f"/runs?{urlencode(query)}" if query else "/runs"

    @property
    def run_filter(self) -> RunFilter:
        """The filter for the storage."""
        return RunFilter(
            status=RunStatus(self.status) if self.status else None,
            env_id=self.env_id or None,
            algorithm=self.algorithm or None,
            tag=self.tag or None,
            owner=self.owner or None,
            archived=ARCHIVED[self.archived],
            text=self.q or None,
        )

    @property
    def is_filtered(self) -> bool:
        """Whether any filter is set."""
        return self.unfiltered != replace(self, page=1)

    @property
    def unfiltered(self) -> "HistoryView":
        """The same sort order without any filter."""
        return HistoryView(sort=self.sort)
