"""Entry of the worker processes, started by the lab and nobody else.

`python -I -B boot.py fork-server` imports everything once and forks workers (`fork_server.py`).
`python -I -B boot.py worker MEMORY_MB` is one worker, where fork isn't safe. There the order is
the point: lock down first, then import what could start threads or run foreign code.
Descriptor 0 brings commands, 1 becomes the way out for frames, what is printed goes to 2.
"""

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

_NICE = 10


def main() -> None:
    """Serve as what the command line names."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    sys.path.insert(0, root)

    # Packages are found by listing their parent, which the lock-down forbids: import them now.
    import app.protocol
    import app.worker

    packages = [*app.worker.__path__, *app.protocol.__path__]
    if sys.argv[1] == "fork-server":
        from app.worker import fork_server

        fork_server.serve(packages)
    else:
        frames = os.dup(1)
        os.dup2(2, 1)
        give_way(open_autogroup())
        run_worker(frames, packages, memory_mb=int(sys.argv[2]))


def open_autogroup() -> int | None:
    """Return where this process says how its session is weighed; locked in, it can't open it."""
    try:
        return os.open("/proc/self/autogroup", os.O_WRONLY)
    except OSError:
        return None  # Not Linux, or one that knows no such groups.


def give_way(autogroup: int | None) -> None:
    """Let the pages of the lab, and the browser that shows them, have the processor first.

    Where Linux weighs sessions against each other, `nice` only counts within this one.
    """
    os.nice(_NICE)
    if autogroup is not None:
        with suppress(OSError):
            os.write(autogroup, str(_NICE).encode())
        os.close(autogroup)


def run_worker(frames: int, packages: Sequence[str], *, memory_mb: int) -> None:
    """Lock this process down, say so on the descriptor `frames`, do one job and end."""
    from app.protocol import framing
    from app.worker.sandbox import lockdown

    layers = lockdown.lock_down(packages, memory_mb=memory_mb)
    locked = json.dumps({"t": "locked", "layers": layers}).encode()
    framing.write(frames, framing.pack(framing.JSON, locked))

    from app.worker import jobs

    jobs.serve(frames)


if __name__ == "__main__":
    main()
