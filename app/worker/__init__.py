"""The untrusted side of a run: everything that happens in the child process."""

from pathlib import Path


def boot_path() -> Path:
    """Return the file that a worker process starts with."""
    return Path(__file__).with_name("boot.py")
