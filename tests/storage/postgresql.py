"""A PostgreSQL server for the tests, on a private socket."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_ACCOUNT = "postgres"
_FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "listen_addresses=")

MISSING = (
    "PostgreSQL is not installed, so nothing here is known about it. "
    "Install it, for example: sudo apt-get install postgresql"
)


def binaries() -> Path | None:
    """Return the folder of PostgreSQL's programs, which Debian does not put on the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    if found:
        return found[-1].parent
    return Path(on_path).parent if on_path else None


@contextmanager
def running(programs: Path) -> Iterator[str]:
    """Start a server and yield the address of an empty database."""
    folder = Path(tempfile.mkdtemp(prefix="lab-pg-"))
    # PostgreSQL refuses to run as root; Debian's package creates an account for it.
    account = _ACCOUNT if os.geteuid() == 0 else None
    if account:
        shutil.chown(folder, account)
    data = folder / "data"
    _run(account, programs / "initdb", "-D", data, "-A", "trust", "-U", _ACCOUNT, "--no-sync")
    options = " ".join(f"-c {setting}" for setting in _FAST)
    control = (programs / "pg_ctl", "-D", data, "-l", folder / "log", "-w")
    _run(account, *control, "-o", f"{options} -k {folder}", "start")
    try:
        yield f"postgresql://{_ACCOUNT}@/postgres?host={folder}"
    finally:
        _run(account, *control, "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def _run(account: str | None, *command: str | Path) -> None:
    # To the null device, not a pipe: the server would inherit a pipe and keep it open.
    subprocess.run(
        [str(part) for part in command],
        check=True,
        user=account,
        cwd="/",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
