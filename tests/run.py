"""Run the whole suite as `make test` does: beside each other, then what failed once more, alone.

Servers, workers and browsers share two cores here. What fails because of that passes alone; what is
really broken fails twice, and both tries are in the output. How many needed it is the last line:
it should be none.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.lab_server import PICTURES
from tests.server_forks import shared_parent

_FAILED = 1
# By file, so that the server of a file starts once.
_BESIDE = ("--numprocesses", "3", "--dist", "loadfile", "--no-loadscope-reorder")


@dataclass
class Part:
    """Tests that one pytest runs: Playwright keeps an event loop that others can't bear."""

    name: str
    selection: tuple[str, ...]

    def run(self) -> int:
        return self._pytest(*_BESIDE, "--cache-clear")

    def failed(self) -> int:
        """Return how many tests failed in the first try."""
        return len(json.loads((self._cache / "v/cache/lastfailed").read_text()))

    def try_again(self) -> int:
        again = ("--last-failed", "--last-failed-no-failures", "none")
        return self._pytest(*again)

    @property
    def _cache(self) -> Path:
        return Path(".pytest_cache", self.name)

    def _pytest(self, *flags: str) -> int:
        here = ("-m", "not soak", "-o", f"cache_dir={self._cache}", *self.selection)
        return subprocess.run(
            [sys.executable, "-m", "pytest", *here, *flags],
            # Python may keep what it compiles: pytest rewrites every test, in every process.
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
            check=False,
        ).returncode


PARTS = (
    Part("other", ("tests", "--ignore=tests/browser")),
    Part("browser", ("tests/browser",)),
)


def main() -> int:
    """Return 0 if everything passes, at the latest in its second try."""
    began, needed, codes = time.monotonic(), 0, []
    with tempfile.TemporaryDirectory() as os.environ[PICTURES], shared_parent():
        for part in PARTS:
            code = part.run()
            if code == _FAILED:
                needed += part.failed()
                code = part.try_again()
            codes.append(code)
    minutes, seconds = divmod(round(time.monotonic() - began), 60)
    sys.stdout.write(f"\nTests that needed a second try: {needed}. {minutes} min {seconds} s.\n")
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
