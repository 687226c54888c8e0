"""Write the attack table of the documentation: `python -m tests.app.worker.sandbox.table`."""

from pathlib import Path

from tests.app.worker.sandbox.attacks import ALONE, REMAINING, TOGETHER, Attack
from tests.app.worker.sandbox.protocol_attacks import PROTOCOL

DOCUMENT = Path(__file__).parents[4] / "docs" / "attacks.md"

_BEGINNING = """# Attacks on the sandbox

*Each row is code that a sandboxed worker ran as a custom environment, from \
`tests/app/worker/sandbox/`. `python -m tests.app.worker.sandbox.table` writes this page from \
the attacks there, and a test compares the two.*

"Without" is the result of the same code in a plain process: *works*, or why it isn't run there. \
All tests run as the current user, and if that is root, once more as an ordinary user.

| attack | without | inside | stopped by |
|---|---|---|---|
"""


def rendered() -> str:
    """Return the page."""
    rows = [_row(attack) for attack in (*TOGETHER, *ALONE)]
    rows += [f"| {one.title} | {one.without} | {one.inside} | {one.by} |" for one in PROTOCOL]
    rows += [f"| {one.title} | works | **works** | {one.by} |" for one in REMAINING]
    return _BEGINNING + "\n".join(rows) + "\n"


def _row(attack: Attack) -> str:
    without = "works" if attack.not_run is None else f"(not run: {attack.not_run})"
    inside = "ends the worker" if attack.kills else "refused"
    return f"| {attack.title} | {without} | {inside} | {attack.by} |"


if __name__ == "__main__":
    DOCUMENT.write_text(rendered())
