"""What a page of past runs shows, as its address says it; the names are the API's."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import urlencode

from storage.records.history import SORTABLE
from storage.records.runs import RunFilter, RunStatus

NEWEST_FIRST = "-created_at"
ARCHIVED = {"": False, "true": True, "all": None}
"""What an address says, and what is meant by it."""

_LONGEST_TEXT = 200
_LAST_PAGE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryView:
    """A filter, an order and a page; an empty field means any."""

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
        """Read an address; what means nothing is left out."""
        names = ("q", "env_id", "algorithm", "tag", "owner")
        texts: dict[str, Any] = {name: query.get(name, "")[:_LONGEST_TEXT] for name in names}
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
        """Where the same is shown again."""
        usual = HistoryView()
        said = {k: v for k, v in asdict(self).items() if v != getattr(usual, k)}
        return f"/runs?{urlencode(said)}" if said else "/runs"

    @property
    def wanted(self) -> RunFilter:
        """Which runs are asked for."""
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
        """Whether some runs are left out that a new visitor would see."""
        return self.everything != replace(self, page=1)

    @property
    def everything(self) -> "HistoryView":
        """The same order without any filter."""
        return HistoryView(sort=self.sort)
