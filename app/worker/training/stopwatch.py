"""How long a run has trained, and which part of it went into collecting and learning."""

import time


class Stopwatch:
    """Counts training time, pauses left out."""

    def __init__(self, elapsed_s: float) -> None:
        now = time.perf_counter()
        self._began = now - elapsed_s
        self._turned = now
        self.is_collecting = self._has_begun = False
        self._collected = self._learned = 0.0

    @property
    def elapsed(self) -> float:
        """Seconds of training so far, those before a resume included."""
        return time.perf_counter() - self._began

    def collect(self) -> float:
        """Experience is collected from now on; return when that is."""
        now = time.perf_counter()
        if self._has_begun:
            self._learned += now - self._turned
        self._turned, self.is_collecting, self._has_begun = now, True, True
        return now

    def learn(self) -> float:
        """The model learns from now on; return when that is."""
        now = time.perf_counter()
        self._collected += now - self._turned
        self._turned, self.is_collecting = now, False
        return now

    def leave_out(self, seconds: float) -> None:
        """Don't count the last seconds: the run was paused."""
        self._began += seconds
        self._turned += seconds

    def split(self) -> dict[str, float]:
        """Return the seconds of collecting and learning since the last call."""
        now = time.perf_counter()
        if self.is_collecting:
            self._collected += now - self._turned
        else:
            self._learned += now - self._turned
        self._turned = now
        found = {"collect_s": round(self._collected, 4), "learn_s": round(self._learned, 4)}
        self._collected = self._learned = 0.0
        return found
