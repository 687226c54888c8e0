"""Entry of a worker: `python -I -B boot.py ROLE MEMORY_MB`, started by the lab and nobody else.

The order is the point: lock down first, then import what could start threads or run foreign code.
Descriptor 0 brings commands, 1 becomes the way out for frames, what is printed goes to 2.
"""

import json
import os
import sys

_NICE = 10


def main() -> None:
    """Lock down, say so, and serve what the role asks for."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120
    sys.path.insert(0, root)
    role, memory_mb = sys.argv[1], int(sys.argv[2])
    out = os.dup(1)
    os.dup2(2, 1)
    os.nice(_NICE)

    # Packages are found by listing their parent, which the lock-down forbids: import them now.
    import app.algorithms
    import app.environments
    import app.worker
    from app.worker import canary, framing, sandbox

    packages = [*app.worker.__path__, *app.environments.__path__, *app.algorithms.__path__]
    layers = sandbox.lock_down(packages, memory_mb=memory_mb)
    framing.write(
        out, framing.pack(framing.JSON, json.dumps({"t": "locked", "layers": layers}).encode())
    )
    if role == "canary":
        _, order = framing.read(0)
        found = canary.open_doors(**json.loads(order))
        framing.write(
            out, framing.pack(framing.JSON, json.dumps({"t": "doors", "open": found}).encode())
        )
        return

    from app.worker import session

    session.serve(role, out)


main()
