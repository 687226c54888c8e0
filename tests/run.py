"""Run the whole suite as `make test` does: beside each other, then what failed once more, alone.

Servers, workers and browsers share two cores here. What fails because of that passes alone; what is
really broken fails twice, and both tries are in the output. How many needed it is the last line:
it should be none.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

PARTS = {
    # By file, so that the server of a file starts once; in order, so that short files come last.
    "not browser and not soak": (
        *("--numprocesses", "3", "--dist", "loadfile"),
        "--no-loadscope-reorder",
    ),
    "browser and not soak": ("--numprocesses", "3", "--dist", "loadfile"),
}
_FAILED = 1
_LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main() -> int:
    """Return 0 if everything passes, at the latest in its second try."""
    began, needed, codes = time.monotonic(), 0, []
    for part, beside in PARTS.items():
        code = _pytest("-m", part, "--cache-clear", *beside)
        if code == _FAILED:
            needed += len(json.loads(_LAST_FAILED.read_text()))
            code = _pytest("-m", part, "--last-failed", "--last-failed-no-failures", "none")
        codes.append(code)
    minutes, seconds = divmod(round(time.monotonic() - began), 60)
    sys.stdout.write(f"\nTests that needed a second try: {needed}. {minutes} min {seconds} s.\n")
    return max(codes)


def _pytest(*flags: str) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *flags], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
