"""The attack table: hostile code that runs once without a sandbox and once inside a worker.

Each attack is the body of `attack(aims)`: it returns a value if it succeeds, and raises if it is
stopped. `aims` has the lab's files, process and sockets.
"""

from dataclasses import dataclass

LANDLOCK = "Landlock"
SECCOMP = "seccomp"
BOTH = "Landlock and seccomp"
LIMITS = "limits"
CLEAN = "an empty environment"

HARMS = "would harm this machine"
NEEDS = "needs what this machine may not have"
POINTLESS = "has no meaning without the sandbox"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One row of the table."""

    name: str
    title: str
    code: str
    by: str
    """The layer that stops it."""
    not_run: str | None = None
    """Why it isn't run without the sandbox."""
    kills: bool = False
    """Whether the sandbox kills the worker for it."""
    architecture: str | None = None


def _call(number: str, *arguments: object) -> str:
    """Return code for a system call, by its name in app.worker.sandbox.syscalls or its number."""
    joined = "".join(f", {argument}" for argument in arguments)
    return f"return call({number}{joined})"


def _rows(by: str, rows: dict[str, tuple[str, str]], **more: object) -> tuple[Attack, ...]:
    return tuple(
        Attack(name=name, title=title, code=code, by=by, **more)  # type: ignore[arg-type]
        for name, (title, code) in rows.items()
    )


_FILES = _rows(
    LANDLOCK,
    {
        "etc_passwd": ("read /etc/passwd", "return open('/etc/passwd').read(10)"),
        "database_read": (
            "read the lab's database",
            "import sqlite3\nwith sqlite3.connect(aims['database']) as db:\n"
            "    return db.execute('select * from secrets').fetchall()",
        ),
        "database_memmap": (
            "map the database with NumPy",
            "import numpy\nreturn bytes(numpy.memmap(aims['database'], mode='r')[:8])",
        ),
        "database_libc": (
            "open the database through libc",
            "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n"
            "found = libc.open(aims['database'].encode(), 0)\nassert found >= 0\n"
            "os.close(found)\nreturn found",
        ),
        "database_write": (
            "write into the database",
            "with open(aims['database'], 'r+b') as file:\n    return file.write(b'SQLite')",
        ),
        "database_root": (
            "reach the database through /proc/self/root",
            "return open('/proc/self/root' + aims['database'], 'rb').read(4)",
        ),
        "database_cwd": (
            "change into the runs folder and read by a relative name",
            "import os\nos.chdir(aims['runs'])\nreturn open('lab.db', 'rb').read(4)",
        ),
        "other_run_list": ("list the runs", "import os\nreturn os.listdir(aims['runs'])"),
        "other_run_scan": (
            "walk through the runs",
            "import os\nreturn [e.name for e in os.scandir(aims['other'])] or None",
        ),
        "other_run_model": (
            "read another run's model",
            "return open(aims['other'] + '/model.zip', 'rb').read(3)",
        ),
        "other_run_config": (
            "read another run's reward through its symlink",
            "return open(aims['link'], 'rb').read(3)",
        ),
        "secret_file": ("read the server's secret", "return open(aims['secret']).read(3)"),
        "project": ("read the program's own source", "return open(aims['project']).read(3)"),
        "create": (
            "create a file next to the database",
            "open(aims['runs'] + '/new', 'x').close()\nreturn True",
        ),
        "create_tmp": (
            "create a file in /tmp",
            "import os, random\nname = f'/tmp/canary{random.random()}'\n"
            "open(name, 'x').close()\nos.unlink(name)\nreturn True",
        ),
        "shared_memory_file": (
            "create a file in /dev/shm",
            "import os, random\nname = f'/dev/shm/canary{random.random()}'\n"
            "open(name, 'x').close()\nos.unlink(name)\nreturn True",
        ),
        "mkdir": (
            "make a folder among the runs",
            "import os\nos.mkdir(aims['runs'] + '/folder')\nreturn True",
        ),
        "worker_code": (
            "open the worker's own code for writing",
            "open(aims['boot'], 'r+b').close()\nreturn True",
        ),
        "library": (
            "open a library for writing, for the next run to import",
            "import json\nopen(json.__file__, 'r+b').close()\nreturn True",
        ),
        "own_environ": (
            "read /proc/self/environ",
            "return open('/proc/self/environ', 'rb').read(1)",
        ),
        "lab_environ": (
            "read the server's environment",
            "return open(f\"/proc/{aims['lab']}/environ\", 'rb').read()[:0] or True",
        ),
        "lab_maps": (
            "read the server's memory map",
            "return open(f\"/proc/{aims['lab']}/maps\").read(3)",
        ),
        "lab_memory_read": (
            "read the server's memory through /proc",
            "file = open(f\"/proc/{aims['lab']}/mem\", 'rb', 0)\n"
            "file.seek(aims['address'])\nreturn file.read(8)",
        ),
        "lab_memory_write": (
            "open the server's memory for writing",
            "open(f\"/proc/{aims['lab']}/mem\", 'r+b', 0).close()\nreturn True",
        ),
        "lab_files": (
            "take the server's open files",
            "import os\nreturn os.listdir(f\"/proc/{aims['lab']}/fd\")",
        ),
        "own_descriptors": (
            "reopen the worker's own descriptors",
            "import os\nreturn os.listdir('/proc/self/fd')",
        ),
        "terminal": ("open the terminal", "import os\nreturn os.listdir('/dev')"),
    },
)

_CHANGES = _rows(
    SECCOMP,
    {
        "truncate": (
            "empty a file by its path",
            "import os\nos.truncate(aims['victim'], 0)\nreturn True",
        ),
        "truncate_open": (
            "empty a file by opening it for reading",
            "import os\nos.close(os.open(aims['victim'], os.O_RDONLY | os.O_TRUNC))\nreturn True",
        ),
        "chmod": (
            "make the database readable for everyone",
            "import os\nos.chmod(aims['database'], 0o644)\nreturn True",
        ),
        "chown": (
            "change the owner of a file",
            ("import os\nos.chown(aims['victim'], -1, -1)\nreturn True"),
        ),
        "utime": (
            "change when a file was written",
            "import os\nos.utime(aims['victim'], (0, 0))\nreturn True",
        ),
        "rename": (
            "move a file",
            "import os\nos.rename(aims['victim'], aims['victim'] + '2')\n"
            "os.rename(aims['victim'] + '2', aims['victim'])\nreturn True",
        ),
        "unlink": (
            "delete a file of another run",
            "import os\nos.unlink(aims['other'] + '/gone')\nreturn True",
        ),
        "symlink": (
            "create a link that the server would follow",
            "import os\nos.symlink(aims['database'], aims['runs'] + '/video.mp4')\nreturn True",
        ),
        "link": (
            "link the database into a folder that is served",
            "import os\nos.link(aims['database'], aims['runs'] + '/frame.jpg')\nreturn True",
        ),
        "fifo": (
            "create a pipe on which the server would hang",
            "import os\nos.mkfifo(aims['runs'] + '/model.zip')\nreturn True",
        ),
        "inotify": (
            "watch file system events",
            "import ctypes\nassert ctypes.CDLL(None).inotify_init() >= 0\nreturn True",
        ),
        "openat2": (
            "open by a call whose flags the filter can't read",
            "import struct\n"
            + _call("437", -100, "b'/etc/passwd'", "struct.pack('=QQQ', 0, 0, 0)", 24),
        ),
        "handle": (
            "open files by handle, bypassing paths",
            "import ctypes\nbuffer = ctypes.create_string_buffer(136)\nbuffer[0] = 128\n"
            "mount = ctypes.c_int()\n"
            "libc = ctypes.CDLL(None)\n"
            "assert libc.name_to_handle_at(-100, aims['victim'].encode(), buffer,"
            " ctypes.byref(mount), 0) == 0\nreturn True",
        ),
        "chroot": ("change the root folder", "import os\nos.chroot('/')\nreturn True"),
    },
)

_NETWORK = _rows(
    BOTH,
    {
        "tcp": (
            "connect over TCP",
            "import socket\nsocket.create_connection(('127.0.0.1', aims['port']), 2).close()\n"
            "return True",
        ),
        "listen": (
            "listen for connections",
            "import socket\nwith socket.socket() as s:\n    s.bind(('127.0.0.1', 0))\n"
            "    s.listen()\nreturn True",
        ),
        "udp": (
            "send by UDP, as for a DNS query",
            "import socket\nwith socket.socket(type=socket.SOCK_DGRAM) as s:\n"
            "    return s.sendto(b'x', ('127.0.0.1', aims['port']))",
        ),
        "lookup": (
            "look up a name",
            "import socket\nreturn socket.getaddrinfo('localhost', 80)",
        ),
        "unix": (
            "connect to a socket file, as of a database or of Docker",
            "import socket\nwith socket.socket(socket.AF_UNIX) as s:\n"
            "    s.connect(aims['socket'])\nreturn True",
        ),
        "abstract": (
            "connect to a socket without a file",
            "import socket\nwith socket.socket(socket.AF_UNIX) as s:\n"
            "    s.connect('\\0' + aims['abstract'])\nreturn True",
        ),
        "datagram_pair": (
            "send to a socket file through a socket pair",
            "import socket\na, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
            "return a.sendto(b'x', aims['datagram'])",
        ),
        "netlink": (
            "open a netlink socket",
            "import socket\nsocket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()\n"
            "return True",
        ),
        "api": (
            "call the lab's API",
            "import http.client\nlab = http.client.HTTPConnection('127.0.0.1', aims['port'])\n"
            "lab.request('DELETE', '/api/runs/other')\nlab.close()\nreturn True",
        ),
        "io_uring": (
            "bypass the filter with io_uring",
            "import ctypes, os\nring = call(425, 8, ctypes.create_string_buffer(120))\n"
            "os.close(ring)\nreturn True",
        ),
    },
)

_IN_A_CHILD = """import os
try:
    pid = os.fork()
except PermissionError:
    pid = None"""
"""Without a sandbox a child process is changed, to protect later attacks; inside it can't fork."""

_PROCESSES = _rows(
    SECCOMP,
    {
        "subprocess": (
            "start a program",
            "import subprocess\nreturn subprocess.check_output(['/bin/true']) or True",
        ),
        "system": (
            "start a program through libc",
            "import ctypes\nassert ctypes.CDLL(None).system(b'true') == 0\nreturn True",
        ),
        "spawn": (
            "start a program by posix_spawn",
            "import os\npid = os.posix_spawn('/bin/true', ['true'], {})\n"
            "assert os.waitpid(pid, 0)[1] == 0\nreturn True",
        ),
        "fork": (
            "fork",
            "import os\npid = os.fork()\nif pid == 0:\n    os._exit(0)\nos.waitpid(pid, 0)\n"
            "return True",
        ),
        "multiprocessing": (
            "start a process with multiprocessing",
            "import multiprocessing\np = multiprocessing.get_context('fork').Process(target=len,"
            " args=('',))\np.start()\np.join()\nreturn True",
        ),
        "clone_namespace": (
            "clone into a new namespace",
            "import os\npid = call(CLONE, 0x10000000 | 17, 0, 0, 0, 0)\n"
            "if pid == 0:\n    os._exit(0)\nos.waitpid(pid, 0)\nreturn True",
        ),
        "unshare": (
            "become root of a namespace",
            _IN_A_CHILD + "\nif not pid:\n    failed = LIBC.unshare(0x10000000) != 0\n"
            "    if pid == 0:\n        os._exit(failed)\n    assert not failed\n"
            "assert os.waitpid(pid, 0)[1] == 0\nreturn True",
        ),
        "signal_lab": ("signal the server", "import os\nos.kill(aims['lab'], 0)\nreturn True"),
        "signal_all": (
            "signal everything of this user",
            "import os\nos.kill(-1, 0)\nreturn True",
        ),
        "signal_thread": (
            "signal a thread of the server",
            "return call(TGKILL, aims['lab'], aims['lab'], 0) == 0",
        ),
        "signal_pidfd": (
            "signal the server through a descriptor",
            "import os\nos.close(os.pidfd_open(aims['lab']))\nreturn True",
        ),
        "signal_owner": (
            "let the kernel signal the server (F_SETOWN)",
            "import fcntl, os\nr, w = os.pipe()\n"
            "fcntl.fcntl(r, fcntl.F_SETOWN, aims['lab'])\nos.close(r)\nos.close(w)\nreturn True",
        ),
        "prlimit": (
            "lower the server's limits",
            "import resource\nold = resource.prlimit(aims['lab'], resource.RLIMIT_CORE)\n"
            "resource.prlimit(aims['lab'], resource.RLIMIT_CORE, old)\nreturn True",
        ),
        "affinity": (
            "move the server to another core",
            "import os\nos.sched_setaffinity(aims['lab'], os.sched_getaffinity(aims['lab']))\n"
            "return True",
        ),
        "priority": (
            "make the server yield",
            "import os\nnow = os.getpriority(os.PRIO_PROCESS, aims['lab'])\n"
            "os.setpriority(os.PRIO_PROCESS, aims['lab'], now)\nreturn True",
        ),
        "scheduler": (
            "change how a process is scheduled",
            "import os\nos.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))\nreturn True",
        ),
        "session": (
            "leave the process group that is killed",
            _IN_A_CHILD
            + "\nif not pid:\n    os.setsid()\n    os._exit(0)\n"
            + "assert os.waitpid(pid, 0)[1] == 0\nreturn True",
        ),
        "shared_memory": (
            "share memory with other processes (SysV)",
            "import ctypes\nlibc = ctypes.CDLL(None)\nfound = libc.shmget(0, 4096, 0o1600)\n"
            "assert found >= 0\nlibc.shmctl(found, 0, None)\nreturn True",
        ),
        "semaphores": (
            "use semaphores of the system",
            "import ctypes\nlibc = ctypes.CDLL(None)\nfound = libc.semget(0, 1, 0o1600)\n"
            "assert found >= 0\nlibc.semctl(found, 0, 0)\nreturn True",
        ),
        "personality": (
            "change the layout of memory",
            "import ctypes\nassert ctypes.CDLL(None).personality(0) >= 0\nreturn True",
        ),
        "outlive": (
            "outlive the server (PR_SET_PDEATHSIG)",
            "import ctypes\nassert ctypes.CDLL(None).prctl(1, 0, 0, 0, 0) == 0\nreturn True",
        ),
        "dumpable": (
            "let others read this memory (PR_SET_DUMPABLE)",
            "import ctypes\nassert ctypes.CDLL(None).prctl(4, 1, 0, 0, 0) == 0\nreturn True",
        ),
        "subreaper": (
            "adopt processes",
            "import ctypes\nassert ctypes.CDLL(None).prctl(36, 0, 0, 0, 0) == 0\nreturn True",
        ),
        "landlock_again": (
            "add Landlock rules",
            "return call(444, None, 0, 1) > 0",
        ),
        "memfd": (
            "allocate memory in a file, outside of the limit",
            "import os\nos.close(os.memfd_create('x'))\nreturn True",
        ),
        "shared_pages": (
            "allocate memory in shared pages, outside of the limit",
            "import mmap\nmmap.mmap(-1, 1 << 20).close()\nreturn True",
        ),
    },
)

_LATER = (
    *_rows(
        SECCOMP,
        {
            "exec": (
                "become another program",
                "import os\nos.execv('/bin/true', ['true'])",
            ),
            "settime": ("set the clock", "import time\ntime.clock_settime(0, time.time())"),
            "hostname": ("rename the machine", "import socket\nsocket.sethostname('attacked')"),
            "quota": ("change quotas", "return call(QUOTACTL, 0, 0, 0, 0)"),
            "setuid": ("become another user", "import os\nos.setuid(os.getuid() + 1)"),
        },
        not_run=HARMS,
    ),
    *_rows(
        SECCOMP,
        {
            "inject": (
                "type into the terminal (TIOCSTI)",
                "import fcntl\nfcntl.ioctl(0, 0x5412, b'x')",
            ),
            "seccomp_again": ("replace the filter", "return call(SECCOMP, 1, 0, None)"),
        },
        not_run=POINTLESS,
    ),
    *_rows(
        LIMITS,
        {
            "memory": (
                "use all memory",
                "kept = []\nwhile True:\n    kept.append(bytearray(64 << 20))",
            ),
            "limits_raised": (
                "raise the worker's own limits",
                "import resource\nresource.setrlimit(resource.RLIMIT_DATA, (1 << 45, 1 << 45))",
            ),
            "files": (
                "hold all files open",
                "import os\nkept = []\nwhile True:\n    kept.extend(os.pipe())",
            ),
        },
        not_run=HARMS,
    ),
)

_ENVIRONMENT = _rows(
    CLEAN,
    {
        "environ": (
            "read the server's secrets from the environment",
            "import os\nreturn os.environ['LAB_SECRET']",
        ),
        "stack": (
            "read secrets left on the stack",
            "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.getauxval.restype = ctypes.c_ulong\n"
            "top = libc.getauxval(31)\nfound = ctypes.string_at(top - 3000, 3000)\n"
            "assert b'LAB_SECRET=' in found\nreturn True",
        ),
        "inherited": (
            "use a file that the server holds open",
            "import os\nfor number in range(3, 64):\n    try:\n        os.pread(number, 1, 0)\n"
            "        return number\n    except OSError:\n        pass\nraise OSError('none')",
        ),
    },
)

_KILLED = (
    *_rows(
        SECCOMP,
        {
            "ptrace": (
                "trace the server",
                "import ctypes\nlibc = ctypes.CDLL(None)\n"
                "assert libc.ptrace(0x4206, aims['lab'], 0, 0) == 0\n"
                "libc.ptrace(17, aims['lab'], 0, 0)\nreturn True",
            ),
            "vm_read": (
                "read the server's memory (process_vm_readv)",
                "import ctypes\n"
                "class Piece(ctypes.Structure):\n"
                "    _fields_ = [('at', ctypes.c_void_p), ('size', ctypes.c_size_t)]\n"
                "buffer = ctypes.create_string_buffer(8)\n"
                "mine, theirs = Piece(ctypes.addressof(buffer), 8), Piece(aims['address'], 8)\n"
                "got = ctypes.CDLL(None).process_vm_readv(aims['lab'], ctypes.byref(mine), 1,"
                " ctypes.byref(theirs), 1, 0)\nassert got == 8\nreturn buffer.raw",
            ),
            "keys": (
                "read keys that the kernel keeps",
                "return call(KEYCTL, 0, -4, 0) and True",
            ),
        },
        kills=True,
    ),
    *_rows(
        SECCOMP,
        {
            "vm_write": (
                "write into the server's memory (process_vm_writev)",
                "return call(VM_WRITE, aims['lab'], None, 0, None, 0, 0)",
            ),
            "mount": ("mount something", "return call(MOUNT, b'x', b'/', b'tmpfs', 0, None)"),
            "module": ("load a module into the kernel", "return call(INIT_MODULE, 0, 0, b'')"),
            "reboot": ("restart the machine", "return call(REBOOT, 0, 0, 0, 0)"),
            "setns": ("enter another namespace", "return call(SETNS, 0, 0)"),
            "steal": ("take a descriptor of the server", "return call(438, 0, 0, 0)"),
        },
        kills=True,
        not_run=HARMS,
    ),
    *_rows(
        SECCOMP,
        {
            "bpf": ("load a program into the kernel", "return call(BPF, 0, None, 0)"),
            "perf": ("watch other processes' counters", "return call(PERF, None, 0, 0, -1, 0)"),
            "userfault": ("handle page faults (userfaultfd)", "return call(USERFAULT, 0)"),
        },
        kills=True,
        not_run=NEEDS,
    ),
    *_rows(
        SECCOMP,
        {
            "int80": (
                "use the 32-bit call numbers (int 0x80)",
                "import ctypes, mmap\nm = mmap.mmap(-1, 4096, flags=0x22, prot=7)\n"
                "m.write(bytes.fromhex('b814000000cd80c3'))\n"
                "at = ctypes.addressof(ctypes.c_char.from_buffer(m))\n"
                "return ctypes.CFUNCTYPE(ctypes.c_int)(at)()",
            ),
            "x32": ("use the call numbers of x32", "return call(0x40000000 + 41, 2, 1, 0)"),
        },
        kills=True,
        not_run=NEEDS,
        architecture="x86_64",
    ),
)

TOGETHER = (*_FILES, *_CHANGES, *_NETWORK, *_PROCESSES, *_LATER, *_ENVIRONMENT)
"""Attacks that a worker survives, run in sequence in one worker."""

ALONE = _KILLED
"""Attacks that end the worker."""

REMAINING = _rows(
    "nothing: see remaining risks",
    {
        "stat": (
            "read the size of a file whose name is known",
            "import os\nreturn os.stat(aims['database']).st_size",
        ),
        "time": ("measure time, for side channels", "import time\nreturn time.perf_counter_ns()"),
    },
)
"""Attacks that the sandbox doesn't stop, as documented in docs/security.md."""
