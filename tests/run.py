"""Run the whole suite as `make test` does: in parallel, then failed tests once more, alone.

Servers, workers and browsers share two cores. A test that fails because of that passes alone; a
broken one fails twice, and both results are in the output. The last line is the number of repeated
tests, which should be 0.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.lab_server import PREVIEWS
from tests.server_forks import shared_parent

_FAILED = 1
# By file, so that the server of a file starts once.
_PARALLEL = ("--numprocesses", "3", "--dist", "loadfile", "--no-loadscope-reorder")


@dataclass
class Part:
    """Tests of one pytest process: Playwright keeps an event loop running, which breaks others."""

    name: str
    selection: tuple[str, ...]

    def run(self) -> int:
        return self._pytest(*_PARALLEL, "--cache-clear")

    def failed(self) -> int:
        """Return the number of tests that failed in the first attempt."""
        return len(json.loads((self._cache / "v/cache/lastfailed").read_text()))

    def run_failed(self) -> int:
        flags = ("--last-failed", "--last-failed-no-failures", "none")
        return self._pytest(*flags)

    @property
    def _cache(self) -> Path:
        return Path(".pytest_cache", self.name)

    def _pytest(self, *flags: str) -> int:
        arguments = ("-m", "not soak", "-o", f"cache_dir={self._cache}", *self.selection)
        return subprocess.run(
            [sys.executable, "-m", "pytest", *arguments, *flags],
            # Let Python write bytecode: otherwise pytest rewrites every test in every process.
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
            check=False,
        ).returncode


PARTS = (
    Part("other", ("tests", "--ignore=tests/browser")),
    Part("browser", ("tests/browser",)),
)


def main() -> int:
    """Return 0 if every test passes in its first or second attempt."""
    began, repeated, codes = time.monotonic(), 0, []
    with tempfile.TemporaryDirectory() as os.environ[PREVIEWS], shared_parent():
        for part in PARTS:
            code = part.run()
            if code == _FAILED:
                repeated += part.failed()
                code = part.run_failed()
            codes.append(code)
    minutes, seconds = divmod(round(time.monotonic() - began), 60)
    sys.stdout.write(f"\nRepeated tests: {repeated}. {minutes} min {seconds} s.\n")
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
