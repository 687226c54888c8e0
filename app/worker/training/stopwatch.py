"""Measure how long a run has trained, split into collecting and learning."""

import time


class Stopwatch:
    """Measures training time without pauses."""

    def __init__(self, elapsed_s: float) -> None:
        now = time.perf_counter()
        self._began = now - elapsed_s
        self._phase_began = now
        self.is_collecting = self._has_begun = False
        self._collected = self._learned = 0.0

    @property
    def elapsed(self) -> float:
        """Seconds of training so far, including those before a resume."""
        return time.perf_counter() - self._began

    def start_collecting(self) -> float:
        """Note that the model starts collecting experience; return the current time."""
        now = time.perf_counter()
        if self._has_begun:
            self._learned += now - self._phase_began
        self._phase_began, self.is_collecting, self._has_begun = now, True, True
        return now

    def start_learning(self) -> float:
        """Note that the model starts learning; return the current time."""
        now = time.perf_counter()
        self._collected += now - self._phase_began
        self._phase_began, self.is_collecting = now, False
        return now

    def exclude(self, seconds: float) -> None:
        """Exclude the last seconds, in which the run was paused."""
        self._began += seconds
        self._phase_began += seconds

    def split(self) -> dict[str, float]:
        """Return the seconds of collecting and learning since the last call."""
        now = time.perf_counter()
        if self.is_collecting:
            self._collected += now - self._phase_began
        else:
            self._learned += now - self._phase_began
        self._phase_began = now
        seconds = {"collect_s": round(self._collected, 4), "learn_s": round(self._learned, 4)}
        self._collected = self._learned = 0.0
        return seconds
