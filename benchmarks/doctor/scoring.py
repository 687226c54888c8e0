"""Score the doctor: recall over causes, precision over warnings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.doctor.cases import GOOD_SCORE, Case

SYMPTOMS = frozenset({"stuck", "plateau", "collapsed"})
"""They report bad results without a cause: correct wherever the score is below `GOOD_SCORE`.

A shorter time limit bounds the return, so no score is known to be good there.
"""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a case."""

    case: Case
    score: float | None
    """The mean of the last 100 episodes."""
    warned: tuple[str, ...]
    """The codes of all warnings and errors."""

    @property
    def is_found(self) -> bool:
        """Whether a warning named the cause."""
        return bool(self.case.cause & set(self.warned))

    @property
    def wrong(self) -> list[str]:
        """The warnings that are wrong for this case."""
        return [code for code in self.warned if not self._is_right(code)]

    def _is_right(self, code: str) -> bool:
        request = self.case.request
        if code in SYMPTOMS and not self.case.is_healthy:
            is_cut = "time_limit" in request.get("wrappers", {})
            return is_cut or self.score is None or self.score < GOOD_SCORE[request["env_id"]]
        return code in self.case.cause | self.case.also


@dataclass(frozen=True, slots=True)
class Score:
    """The counts over several cases."""

    broken: int
    found: int
    warnings: int
    wrong: int
    healthy: int
    healthy_warned: int

    @property
    def recall(self) -> float:
        """The fraction of causes that were found."""
        return self.found / self.broken if self.broken else 1.0

    @property
    def precision(self) -> float:
        """The fraction of warnings that were correct."""
        return 1 - self.wrong / self.warnings if self.warnings else 1.0


def score(results: Sequence[Result]) -> Score:
    """Count causes, found causes, and correct and wrong warnings."""
    broken = [result for result in results if not result.case.is_healthy]
    healthy = [result for result in results if result.case.is_healthy]
    return Score(
        broken=len(broken),
        found=_count(result.is_found for result in broken),
        warnings=sum(len(result.warned) for result in results),
        wrong=sum(len(result.wrong) for result in results),
        healthy=len(healthy),
        healthy_warned=_count(bool(result.warned) for result in healthy),
    )


def _count(true: Iterable[bool]) -> int:
    return sum(map(bool, true))
