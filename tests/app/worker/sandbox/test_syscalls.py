"""The system call numbers, compared with those of libseccomp for every architecture."""

import errno
import re
from pathlib import Path

import pytest

from app.worker.sandbox import seccomp, syscalls

try:
    import pyseccomp
except (ImportError, RuntimeError, OSError) as error:  # without the library itself
    pyseccomp = None
    WHY = f"THE NUMBERS ARE NOT CHECKED: {error}. Install libseccomp2."
else:
    WHY = ""

ARCHITECTURES = {"x86_64": "X86_64", "aarch64": "AARCH64"}

NAMED = {name for names in (seccomp._NEEDED, seccomp._ABSENT, seccomp._HOSTILE) for name in names}
ONLY_X86 = {
    *("access", "alarm", "arch_prctl", "dup2", "epoll_create", "epoll_wait", "eventfd"),
    *("getdents", "getpgrp", "getrlimit", "lstat", "mkdir", "open", "pause", "pipe", "poll"),
    *("readlink", "select", "stat", "time"),
}
"""Legacy calls that newer architectures never had."""


@pytest.mark.skipif(pyseccomp is None, reason=WHY)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_system_call_numbers_equal_those_of_libseccomp(architecture: str) -> None:
    known = getattr(pyseccomp.Arch, ARCHITECTURES[architecture])

    wrong = {
        name: (number, found)
        for name, number in syscalls.NUMBERS[architecture].items()
        if (found := pyseccomp.resolve_syscall(known, name)) != number and not _is_newer(found)
    }

    assert wrong == {}


def _is_newer(found: int) -> bool:
    """Whether this libseccomp doesn't know the call yet."""
    return found == -errno.EINVAL or found < -10_000


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_call_that_the_filter_names_has_a_number(architecture: str) -> None:
    missing = NAMED - set(syscalls.NUMBERS[architecture])

    assert missing <= (set() if architecture == "x86_64" else ONLY_X86)


def test_no_system_call_has_two_rules() -> None:
    lists = (seccomp._NEEDED, seccomp._ABSENT, seccomp._HOSTILE)
    checked = [name for names, _ in seccomp._rules(1) for name in names]

    assert len(checked) == len(set(checked))
    assert sum(map(len, lists)) == len(NAMED)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_path_through_the_filter_ends_in_a_return(
    architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seccomp.kernel, "ARCHITECTURE", architecture)
    monkeypatch.setattr(seccomp.kernel, "NUMBER", syscalls.NUMBERS[architecture])

    program = seccomp._program(own_pid=1)

    assert program[-1][0] == seccomp._RETURN
    for place, (operation, if_true, if_false, _) in enumerate(program):
        if operation in (seccomp._EQUAL, seccomp._AT_LEAST, seccomp._ANY_BIT):
            assert place + 1 + max(if_true, if_false) < len(program)


def test_nothing_in_the_web_process_unpickles() -> None:
    """Unpickling a worker's files would let a compromised worker run code in the web process."""
    root = Path(__file__).parents[4]
    outside = [
        path
        for folder in ("app", "pages", "components", "storage")
        for path in (root / folder).rglob("*.py")
        if "worker" not in path.parts
    ]
    loads = re.compile(r"\b(pickle|cloudpickle|joblib|dill|marshal|torch)\b\s*\.\s*loads?\(")

    assert [path.name for path in outside if loads.search(path.read_text())] == []
