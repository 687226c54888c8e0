"""What is shown of a run's findings: none flickers, and each is told once."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from app.analysis.doctor.rules.catalogue import by_importance
from app.analysis.insights.insight import Insight, Severity
from storage.records.runs import JsonObject

_SEEN_BEFORE_SHOWN = 2
_MISSED_BEFORE_GONE = 3


class Findings:
    """A finding appears once it was seen twice in a row, and goes when it was missed three times.

    What broke down for good appears at once; at the end of a run it counts what holds then.
    """

    def __init__(self, kept: JsonObject | None = None) -> None:
        """Begin with nothing, or with what `to_keep` returned before."""
        stored: Any = kept or {"items": [], "told": []}
        self.shown: list[Insight] = msgspec.convert(stored["items"], list[Insight])
        self._told: set[str] = set(stored["told"])
        self._seen: Counter[str] = Counter()
        self._missed: Counter[str] = Counter()

    def take(self, found: Sequence[Insight], *, is_final: bool = False) -> list[Insight]:
        """Take up what was found now; return what hasn't been told before."""
        current = {insight.code: insight for insight in found}
        first_at = {insight.code: insight.at for insight in self.shown}
        self._count(current)
        kept = [] if is_final else [old for old in self.shown if self._stays(old, current)]
        for insight in found:
            if is_final or insight.code in first_at or self._is_sure(insight):
                kept.append(replace(insight, at=first_at.get(insight.code, insight.at)))
        self.shown = by_importance(kept)
        return self._untold()

    def forget_after(self, timesteps: int) -> bool:
        """Drop what rests on later steps, so that it can be told again; return whether any was."""
        gone = [one for one in self.shown if max(one.at, one.evidence.window[1]) > timesteps]
        codes = {one.code for one in gone}
        self.shown = [one for one in self.shown if one.code not in codes]
        self._told -= codes | {_loud(code) for code in codes}
        return bool(gone)

    def to_keep(self) -> JsonObject:
        """Return what another `Findings` can go on with."""
        return {"items": msgspec.to_builtins(self.shown), "told": sorted(self._told)}

    def _count(self, current: dict[str, Insight]) -> None:
        self._seen = Counter({code: self._seen[code] + 1 for code in current})
        shown = [insight.code for insight in self.shown if insight.code not in current]
        self._missed = Counter({code: self._missed[code] + 1 for code in shown})

    def _stays(self, old: Insight, current: dict[str, Insight]) -> bool:
        return old.code not in current and self._missed[old.code] < _MISSED_BEFORE_GONE

    def _is_sure(self, insight: Insight) -> bool:
        is_lasting = insight.severity is Severity.ERROR
        return is_lasting or self._seen[insight.code] >= _SEEN_BEFORE_SHOWN

    def _untold(self) -> list[Insight]:
        fresh = [one for one in self.shown if _name(one) not in self._told]
        self._told |= {_name(one) for one in fresh}
        return fresh


def _name(insight: Insight) -> str:
    """A remark that becomes a warning is told again."""
    return _loud(insight.code) if insight.severity.is_loud else insight.code


def _loud(code: str) -> str:
    return f"{code}!"
