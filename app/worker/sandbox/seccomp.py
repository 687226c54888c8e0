"""seccomp: an allow-list of system calls, assembled as a small BPF program.

All other calls, including those of future kernels, fail with EPERM.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterable, Sequence

from app.worker.sandbox import kernel

_AUDIT_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000

_ALLOW = 0x7FFF0000
_KILL = 0x80000000


def _refuse(number: int) -> int:
    return 0x00050000 | number


_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _MASK, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06

Instruction = tuple[int, int, int, int]
"""Operation, jump offset if true, jump offset if false, operand."""

_NEEDED = """
read write readv writev pread64 pwrite64 preadv preadv2 close close_range lseek dup dup2 dup3 pipe
pipe2 poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait
epoll_pwait2 eventfd eventfd2 fadvise64 readahead stat lstat fstat newfstatat statx access faccessat
faccessat2 readlink readlinkat getdents getdents64 getcwd chdir fchdir mkdir mkdirat umask statfs
fstatfs flock munmap mremap mprotect madvise brk msync mincore membarrier get_mempolicy futex
futex_waitv set_robust_list rseq set_tid_address exit exit_group rt_sigaction
rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack restart_syscall
wait4 waitid sched_yield sched_getaffinity sched_getparam sched_getscheduler sched_get_priority_max
sched_get_priority_min sched_getattr getpriority gettid getpid getppid getuid geteuid getgid getegid
getresuid getresgid getgroups getpgrp getpgid getsid getrlimit getrusage times sysinfo uname getcpu
capget clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time alarm pause setitimer
getitimer timer_create timer_settime timer_gettime timer_delete timer_getoverrun timerfd_create
timerfd_settime timerfd_gettime getrandom arch_prctl recvfrom recvmsg sendto sendmsg shutdown
getsockopt getsockname getpeername
""".split()  # noqa: SIM905 - read like a sentence
"""Calls that training needs and that are harmless here with any arguments."""

_ABSENT = """
clone3 openat2 io_uring_setup io_uring_enter io_uring_register memfd_create
""".split()  # noqa: SIM905 - read like a sentence
"""Calls that libraries try but don't need; the filter can't inspect their arguments."""

_HOSTILE = """
ptrace process_vm_readv process_vm_writev process_madvise bpf perf_event_open userfaultfd keyctl
add_key request_key mount umount2 pivot_root fsopen fsmount move_mount open_tree mount_setattr setns
kexec_load kexec_file_load init_module finit_module delete_module reboot swapon swapoff pidfd_getfd
""".split()  # noqa: SIM905 - read like a sentence
"""Calls that only malicious code makes: they kill the process."""

_CLONE_THREAD = 0x00010000
_CLONE_NAMESPACES = 0x7E020080
_AF_UNIX, _SOCK_STREAM, _SOCK_TYPE = 1, 1, 0xF
_MAP_SHARED_ANONYMOUS = 0x21
_O_ACCESS_OR_TRUNC, _O_TRUNC = 0o1003, 0o1000
# Getters, names of threads and memory regions, huge pages; none weakens the lock-down.
_HARMLESS_PRCTL = (2, 3, 15, 16, 21, 23, 27, 37, 39, 41, 42, 52, 0x53564D41)
_HARMLESS_IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
_SIGNALLING_FCNTL = (8, 10, 15, 1024, 1026)


def install() -> int:
    """Filter this process's system calls; return the program's length, 0 where unsupported."""
    if kernel.ARCHITECTURE not in _AUDIT_ARCHITECTURE:
        return 0
    program = _program(os.getpid())
    raw = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(raw, len(raw))
    header = struct.pack("=HxxxxxxQ", len(program), ctypes.addressof(buffer))
    set_mode_filter, all_threads = ctypes.c_uint(1), ctypes.c_uint(1)
    try:
        unfiltered_thread = kernel.call(
            "seccomp", set_mode_filter, all_threads, ctypes.create_string_buffer(header, 16)
        )
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.EINVAL):
            return 0
        raise
    if unfiltered_thread:
        raise RuntimeError(
            f"Thread {unfiltered_thread} can't be filtered: lock down before threads start."
        )
    return len(program)


def _program(own_pid: int) -> list[Instruction]:
    program: list[Instruction] = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 1, 0, _AUDIT_ARCHITECTURE[kernel.ARCHITECTURE]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, 0),
    ]
    if kernel.ARCHITECTURE == "x86_64":
        program += [(_AT_LEAST, 0, 1, _X32_BIT), (_RETURN, 0, 0, _KILL)]
    for names, body in _rules(own_pid):
        for name in names:
            if name in kernel.NUMBER:
                program += [(_EQUAL, 0, len(body), kernel.NUMBER[name]), *body]
    program.append((_RETURN, 0, 0, _refuse(errno.EPERM)))
    return program


def _rules(own_pid: int) -> Iterable[tuple[Sequence[str], list[Instruction]]]:
    """Yield groups of calls, each with its filter body; a body returns on every path."""
    refused = _refuse(errno.EPERM)
    yield ("clone",), _only_threads()
    yield ("kill", "tgkill"), _argument_in(0, (own_pid,))
    yield ("prlimit64", "sched_setaffinity"), _argument_in(0, (0, own_pid))
    yield ("prctl",), _argument_in(0, _HARMLESS_PRCTL)
    yield ("ioctl",), _argument_in(1, _HARMLESS_IOCTL)
    yield ("fcntl",), _argument_in(1, _SIGNALLING_FCNTL, found=refused, else_=_ALLOW)
    yield ("socketpair",), _only_stream_pairs()
    yield ("mmap",), _unless_masked(3, _MAP_SHARED_ANONYMOUS, _MAP_SHARED_ANONYMOUS, errno.ENOMEM)
    # With an older Landlock, a read-only open with O_TRUNC empties a readable file.
    yield ("open",), _unless_masked(1, _O_ACCESS_OR_TRUNC, _O_TRUNC, errno.EACCES)
    yield ("openat",), _unless_masked(2, _O_ACCESS_OR_TRUNC, _O_TRUNC, errno.EACCES)
    yield _ABSENT, [(_RETURN, 0, 0, _refuse(errno.ENOSYS))]
    yield _HOSTILE, [(_RETURN, 0, 0, _KILL)]
    yield _NEEDED, [(_RETURN, 0, 0, _ALLOW)]


def _load_argument(index: int) -> Instruction:
    return (_LOAD, 0, 0, 16 + 8 * index)


def _argument_in(
    index: int,
    values: Sequence[int],
    *,
    found: int = _ALLOW,
    else_: int = _refuse(errno.EPERM),
) -> list[Instruction]:
    tests = [(_EQUAL, len(values) - i, 0, value) for i, value in enumerate(values)]
    return [_load_argument(index), *tests, (_RETURN, 0, 0, else_), (_RETURN, 0, 0, found)]


def _unless_masked(index: int, mask: int, value: int, error: int) -> list[Instruction]:
    return [
        _load_argument(index),
        (_MASK, 0, 0, mask),
        (_EQUAL, 0, 1, value),
        (_RETURN, 0, 0, _refuse(error)),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _only_threads() -> list[Instruction]:
    return [
        _load_argument(0),
        (_ANY_BIT, 0, 1, _CLONE_NAMESPACES),
        (_RETURN, 0, 0, _refuse(errno.EPERM)),
        (_ANY_BIT, 1, 0, _CLONE_THREAD),
        (_RETURN, 0, 0, _refuse(errno.EPERM)),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _only_stream_pairs() -> list[Instruction]:
    # A datagram socket pair could send to any unix socket by its path.
    return [
        _load_argument(0),
        (_EQUAL, 1, 0, _AF_UNIX),
        (_RETURN, 0, 0, _refuse(errno.EPERM)),
        _load_argument(1),
        (_MASK, 0, 0, _SOCK_TYPE),
        (_EQUAL, 1, 0, _SOCK_STREAM),
        (_RETURN, 0, 0, _refuse(errno.EPERM)),
        (_RETURN, 0, 0, _ALLOW),
    ]
