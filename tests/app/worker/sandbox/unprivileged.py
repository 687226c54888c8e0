"""Repeat root's tests as an unprivileged user, with a Python that this user may read."""

import pwd
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.protocol import commands, framing, messages
from app.workers.worker_process import boot_path, worker_environment
from tests.app.worker.sandbox.attack_runner import MEMORY_MB, Outcomes, parse_outcomes

_SYSTEM = Path("/usr/bin/python3")
_PACKAGES = ("msgspec", "numpy", "numpy.libs", "gymnasium", "cloudpickle", "farama_notifications")
_MODULES = ("typing_extensions.py",)


def nobody_uid() -> int:
    return pwd.getpwnam("nobody").pw_uid


def copy_system_python(folder: Path) -> Path | str:
    """Create an environment for workers with the system's Python, or return why it can't be."""
    wanted = f"{sys.version_info.major}.{sys.version_info.minor}"
    if not _SYSTEM.exists():
        return "there is no /usr/bin/python3"
    command = [_SYSTEM, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    version = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if version != wanted:
        return f"the system's Python is {version}, and these packages are for {wanted}"
    can_read = ["-c", "import os,sys; sys.exit(not os.access(sys.argv[1], os.R_OK))", boot_path()]
    if subprocess.run([_SYSTEM, *can_read], user=nobody_uid(), check=False).returncode:
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


def grant_all_permissions(folder: Path) -> None:
    """Grant all file permissions, so that only the sandbox stops attacks."""
    for parent in (folder, *folder.parents[:3]):
        parent.chmod(0o755)
    for path in folder.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o777)


@contextmanager
def other_process() -> Iterator[int]:
    """Start a process of the same user, in place of the server."""
    process = subprocess.Popen(["/bin/sleep", "60"], user=nobody_uid(), group=nobody_uid(), cwd="/")
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def attack(python: Path, code: str) -> Outcomes:
    """Run code in a sandboxed worker of an unprivileged user."""
    worker = start_worker(python)
    request(worker, commands.Describe(env_id="custom/attack-v1", env_code=code))
    return parse_outcomes(worker.communicate(timeout=60)[1].decode())


def start_worker(python: Path) -> subprocess.Popen[bytes]:
    """Spawn a worker of an unprivileged user and check that it is sandboxed."""
    worker = subprocess.Popen(
        [python, "-I", "-B", boot_path(), "worker", str(MEMORY_MB)],
        user=nobody_uid(),
        group=nobody_uid(),
        extra_groups=[],
        cwd="/",
        env=worker_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert worker.stdout is not None
    report = framing.read(worker.stdout.fileno())[1]
    assert b"landlock" in report
    assert b"seccomp" in report
    return worker


def request(worker: subprocess.Popen[bytes], job: commands.Job) -> bytes:
    """Send the worker a job and return its answer."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    framing.write(worker.stdin.fileno(), messages.encode(job))
    return framing.read(worker.stdout.fileno())[1]
