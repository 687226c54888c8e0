"""The findings shown for a run: debounced, and each announced once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from app.analysis.doctor.rules import by_importance
from app.analysis.insights import Insight, Severity
from storage.records import JsonObject

_SEEN_BEFORE_SHOWN = 2
_MISSED_BEFORE_DROPPED = 3


class Findings:
    """Shows a finding once it was seen twice in a row, and drops it after three misses.

    Errors appear at once; at the end of a run exactly the last findings are shown.
    """

    def __init__(self, stored: JsonObject | None = None) -> None:
        """Begin empty, or with the earlier result of `to_stored`."""
        state: Any = stored or {"items": [], "told": []}
        self.shown: list[Insight] = msgspec.convert(state["items"], list[Insight])
        self._announced: set[str] = set(state["told"])
        self._seen: Counter[str] = Counter()
        self._missed: Counter[str] = Counter()

    def update(self, insights: Sequence[Insight], *, is_final: bool = False) -> list[Insight]:
        """Update with the current findings; return those not announced before."""
        current = {insight.code: insight for insight in insights}
        first_at = {insight.code: insight.at for insight in self.shown}
        self._count(current)
        shown = [] if is_final else [old for old in self.shown if self._remains(old, current)]
        for insight in insights:
            if is_final or insight.code in first_at or self._is_sure(insight):
                shown.append(replace(insight, at=first_at.get(insight.code, insight.at)))
        self.shown = by_importance(shown)
        return self._announce()

    def forget_after(self, timesteps: int) -> bool:
        """Drop findings of later steps, to announce them again; return whether there were any."""
        dropped = [one for one in self.shown if max(one.at, one.evidence.window[1]) > timesteps]
        codes = {one.code for one in dropped}
        self.shown = [one for one in self.shown if one.code not in codes]
        self._announced -= codes | {_problem_name(code) for code in codes}
        return bool(dropped)

    def to_stored(self) -> JsonObject:
        """Return the state for `__init__` as JSON."""
        return {"items": msgspec.to_builtins(self.shown), "told": sorted(self._announced)}

    def _count(self, current: dict[str, Insight]) -> None:
        self._seen = Counter({code: self._seen[code] + 1 for code in current})
        shown = [insight.code for insight in self.shown if insight.code not in current]
        self._missed = Counter({code: self._missed[code] + 1 for code in shown})

    def _remains(self, old: Insight, current: dict[str, Insight]) -> bool:
        return old.code not in current and self._missed[old.code] < _MISSED_BEFORE_DROPPED

    def _is_sure(self, insight: Insight) -> bool:
        is_lasting = insight.severity is Severity.ERROR
        return is_lasting or self._seen[insight.code] >= _SEEN_BEFORE_SHOWN

    def _announce(self) -> list[Insight]:
        new = [one for one in self.shown if _announcement(one) not in self._announced]
        self._announced |= {_announcement(one) for one in new}
        return new


def _announcement(insight: Insight) -> str:
    """Return what to remember; an insight that becomes a warning is announced again."""
    return _problem_name(insight.code) if insight.severity.is_problem else insight.code


def _problem_name(code: str) -> str:
    return f"{code}!"
