"""Attacks on the reader of messages: what hostile code sends, and how much of it."""

from dataclasses import dataclass

_FRAME = """
import json, os, pickle, struct, threading, time

def send(tag, content):
    frame = struct.pack("!I", len(content) + 1) + tag + content
    while frame:
        frame = frame[os.write(3, frame):]
"""
"""Descriptor 3 is the worker's output; a user's code can find it and send anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolAttack:
    """One row of the table: the sent message, and the lab's reaction."""

    name: str
    title: str
    code: str
    says: str = ""
    """A part of the reason why the lab ends the worker."""
    by: str = "the protocol"
    without: str = "(not run: there is no receiver)"
    inside: str = "ends the worker"

    @property
    def source(self) -> str:
        """The environment file of the attack."""
        return f"{_FRAME}\n{self.code}\ntime.sleep(60)\n"


def _blob(name: str) -> str:
    return (
        f"head = json.dumps({{'name': {name!r}, 'last': True}}).encode()\n"
        "send(b'B', struct.pack('!H', len(head)) + head + b'x')"
    )


BREACHES = (
    ProtocolAttack(
        name="pickle",
        title="send a pickle through the pipe",
        code="class Evil:\n    def __reduce__(self):\n"
        "        return (eval, (\"open('{canary}', 'w').close()\",))\n"
        "send(b'J', pickle.dumps(Evil()))",
        says="JSON is malformed",
        without="works, where a pickle is read",
    ),
    ProtocolAttack(
        name="length",
        title="announce a message of 3 GB",
        code="os.write(3, struct.pack('!I', 3 << 30))",
        says="a frame of 3221225472 bytes",
    ),
    ProtocolAttack(
        name="nothing",
        title="announce an empty message",
        code="os.write(3, struct.pack('!I', 0))",
        says="a frame of 0 bytes",
    ),
    ProtocolAttack(
        name="tag", title="send an unknown tag", code="send(b'?', b'x')", says="unknown tag"
    ),
    ProtocolAttack(
        name="nested",
        title="nest JSON deeply",
        code="send(b'J', b'[' * 60_000 + b']' * 60_000)",
        says="",
    ),
    ProtocolAttack(
        name="long",
        title="send a message of a megabyte",
        code="send(b'J', b' ' * (1 << 20))",
        says="a message of 1048576 bytes",
    ),
    ProtocolAttack(
        name="infinite",
        title="report numbers out of range",
        code='send(b\'J\', b\'{"t":"progressed","timesteps":1,"vec_steps":1,"updates":1,'
        '"episodes":1,"elapsed_s":1e999,"fps":1.0}\')',
        says="out of range",
    ),
    ProtocolAttack(
        name="nan",
        title="report NaN",
        code='send(b\'J\', b\'{"t":"played","episodes":1,"returned":NaN,"length":1}\')',
        says="malformed",
    ),
    ProtocolAttack(
        name="field",
        title="add an unknown field",
        code='send(b\'J\', b\'{"t":"alive","is_admin":true}\')',
        says="unknown field",
    ),
    ProtocolAttack(
        name="path",
        title="deliver a file named ../../lab.db",
        code=_blob("../../lab.db"),
        says="Invalid enum value",
    ),
    ProtocolAttack(
        name="header",
        title="claim a header longer than its message",
        code="send(b'B', struct.pack('!H', 60_000))",
        says="shorter than its header",
    ),
)
"""Messages that end a worker as soon as they are received."""

FLOODS = (
    ProtocolAttack(
        name="messages",
        title="flood the lab with messages",
        code="while True:\n    send(b'J', b'{\"t\":\"alive\"}')",
        by="limiting the read rate",
        inside="waits",
        without="(not run: would harm this machine)",
    ),
    ProtocolAttack(
        name="prints",
        title="print 20 MB, bypassing Python",
        code="for _ in range(20):\n    os.write(2, b'x' * (1 << 20))\n"
        "send(b'J', b'{\"t\":\"alive\"}')",
        by="keeping the last 64 KiB",
        inside="forgotten",
        without="(not run: would harm this machine)",
    ),
    ProtocolAttack(
        name="endless prints",
        title="stop the watchdog, then print endlessly, bypassing Python",
        code="import faulthandler, signal\nsignal.setitimer(signal.ITIMER_REAL, 0)\n"
        "faulthandler.cancel_dump_traceback_later()\nwhile True:\n    os.write(2, b'x' * 999_999)",
        by="a limit on what is printed",
        inside="ends the worker",
        without="(not run: would harm this machine)",
    ),
    ProtocolAttack(
        name="loris",
        title="announce a message and send nothing",
        code="os.write(3, struct.pack('!I', 1000))",
        by="a limit on silence",
        inside="ends the worker",
        without="(not run: there is no receiver)",
    ),
    ProtocolAttack(
        name="spin",
        title="block all signals and loop forever",
        code="import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n"
        "send(b'J', b'{\"t\":\"alive\"}')\nwhile True:\n    pass",
        by="SIGKILL to its process group",
        inside="ends the worker",
        without="(not run: would harm this machine)",
    ),
    ProtocolAttack(
        name="threads",
        title="start threads endlessly",
        code="threading.stack_size(64 << 10)\nwhile True:\n"
        "    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
        by="counting them",
        inside="ends the worker",
        without="(not run: would harm this machine)",
    ),
)

OTHERS = (
    ProtocolAttack(
        name="old_thread",
        title="run on a thread that is older than the sandbox",
        code="",
        by="locking before anything is imported",
        without="works, if the thread is started first",
        inside="refused",
    ),
    ProtocolAttack(
        name="openmp",
        title="run on one of torch's threads",
        code="",
        by="locking before anything is imported",
        without="works",
        inside="refused",
    ),
    ProtocolAttack(
        name="model",
        title="hide code in a model.zip",
        code="",
        by="opening it inside a worker only",
        without="works",
        inside="refused",
    ),
)

PROTOCOL = (*BREACHES, *FLOODS, *OTHERS)
