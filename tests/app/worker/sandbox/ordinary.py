"""Root's tests once more as an ordinary user, with a Python that such a user may read."""

import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.protocol import commands, framing, messages
from app.workers.worker_process import boot_path, worker_environment
from tests.app.worker.sandbox.arena import MEMORY_MB, Outcomes, read

_SYSTEM = Path("/usr/bin/python3")
_PACKAGES = ("msgspec", "numpy", "numpy.libs", "gymnasium", "cloudpickle", "farama_notifications")
_MODULES = ("typing_extensions.py",)


def nobody() -> int:
    return pwd.getpwnam("nobody").pw_uid


def python_of_the_system(folder: Path) -> Path | str:
    """Make an environment around the system's Python with what a worker needs, or say why not."""
    wanted = f"{sys.version_info.major}.{sys.version_info.minor}"
    if not _SYSTEM.exists():
        return "there is no /usr/bin/python3"
    ask = [_SYSTEM, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    found = subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip()
    if found != wanted:
        return f"the system's Python is {found}, and these packages are for {wanted}"
    can_read = ["-c", "import os,sys; sys.exit(not os.access(sys.argv[1], os.R_OK))", boot_path()]
    if subprocess.run([_SYSTEM, *can_read], user=nobody(), check=False).returncode:
        return "nobody may not read this folder"
    packages = folder / "lib" / f"python{wanted}" / "site-packages"
    packages.mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(_SYSTEM)
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
    own = next(Path(path) for path in sys.path if path.endswith("site-packages"))
    for name in _PACKAGES:
        shutil.copytree(own / name, packages / name, ignore=shutil.ignore_patterns("tests"))
    for name in _MODULES:
        shutil.copy(own / name, packages)
    return folder / "bin" / "python"


def open_to_everybody(folder: Path) -> None:
    """Let nothing but the lock stand in the way."""
    for parent in (folder, *folder.parents[:3]):
        parent.chmod(0o755)
    for path in folder.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o777)


@contextmanager
def bystander() -> Iterator[int]:
    """Start a process of the same user, as the server would be."""
    process = subprocess.Popen(["/bin/sleep", "60"], user=nobody(), group=nobody(), cwd="/")
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def attack(python: Path, code: str) -> Outcomes:
    """Give code to a locked worker of an ordinary user."""
    worker = start_worker(python)
    ask(worker, commands.Describe(env_id="custom/attack-v1", env_code=code))
    return read(worker.communicate(timeout=60)[1].decode())


def start_worker(python: Path) -> subprocess.Popen[bytes]:
    """Spawn a worker of an ordinary user; it has to be locked down."""
    worker = subprocess.Popen(
        [python, "-I", "-B", boot_path(), "worker", str(MEMORY_MB)],
        user=nobody(),
        group=nobody(),
        extra_groups=[],
        cwd="/",
        env=worker_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert worker.stdout is not None
    locked = framing.read(worker.stdout.fileno())[1]
    assert b"landlock" in locked
    assert b"seccomp" in locked
    return worker


def ask(worker: subprocess.Popen[bytes], job: commands.Job) -> bytes:
    """Give the worker a job and return its answer."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    framing.write(worker.stdin.fileno(), messages.encode(job))
    return framing.read(worker.stdout.fileno())[1]
