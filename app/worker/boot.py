"""Entry point of worker processes; only the web process starts it.

`python -I -B boot.py fork-server` imports everything once and forks workers (`fork_server.py`).
`python -I -B boot.py worker MEMORY_MB` runs one worker, for systems where fork isn't safe. It must
lock down before it imports anything that could start threads or run foreign code: until then it
imports the standard library, our own code and msgspec only.
Commands arrive on descriptor 0, frames leave on what was descriptor 1, prints go to descriptor 2.
"""

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

_NICE = 10


def main() -> None:
    """Run the process that the command line names."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    sys.path.insert(0, root)

    # Importing a package lists its parent folder, which the lock-down forbids: import them now.
    import app.protocol
    import app.worker

    packages = [*app.worker.__path__, *app.protocol.__path__]
    if sys.argv[1] == "fork-server":
        from app.worker import fork_server

        fork_server.serve(packages)
    else:
        frames = os.dup(1)
        os.dup2(2, 1)
        lower_priority(open_autogroup())
        run_worker(frames, packages, memory_mb=int(sys.argv[2]))


def open_autogroup() -> int | None:
    """Open the file that sets the CPU weight of this session; a locked process can't open it."""
    try:
        return os.open("/proc/self/autogroup", os.O_WRONLY)
    except OSError:
        return None  # Not Linux, or a kernel without autogroups.


def lower_priority(autogroup: int | None) -> None:
    """Lower the CPU priority below that of the web process and the user's browser.

    Where Linux schedules by session (autogroup), `nice` only applies within this session.
    """
    os.nice(_NICE)
    if autogroup is not None:
        with suppress(OSError):
            os.write(autogroup, str(_NICE).encode())
        os.close(autogroup)


def run_worker(frames: int, packages: Sequence[str], *, memory_mb: int) -> None:
    """Lock this process down, report that on the descriptor `frames`, do one job and exit."""
    from app.protocol import framing
    from app.worker.sandbox import lockdown

    layers = lockdown.lock_down(packages, memory_mb=memory_mb)
    locked = json.dumps({"t": "locked", "layers": layers}).encode()
    framing.write(frames, framing.pack(framing.JSON, locked))

    from app.worker import jobs

    jobs.serve(frames)


if __name__ == "__main__":
    main()
