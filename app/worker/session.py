"""The life of a locked worker: import what the role needs, take one job, do it, end."""

import os
import sys
import tempfile
import traceback

from app.worker import framing, messages
from app.worker.channel import Channel, Control, read_file


def serve(role: str, descriptor: int) -> None:
    """Do one job and end the process; an error of the job is reported, not raised."""
    channel = Channel(descriptor)
    # torch asks for a temporary folder while it is imported; there is none that can be written.
    tempfile.tempdir = "/"
    if role == "learner":
        _import_the_heavy_ones()
    channel.send(messages.Ready())
    try:
        job = messages.decode_command(framing.read(0)[1])
    except EOFError:
        return
    takes_file = isinstance(job, messages.Train | messages.Shrink) and job.has_file
    file = read_file() if takes_file else None
    control = Control()
    try:
        _run(job, channel, control, file)
    except Exception as error:  # noqa: BLE001 - whatever the job raised is what the lab must hear
        channel.send(messages.Failed(reason=_reason(error), traceback=_traceback()))
    sys.stdout.flush()
    sys.stderr.flush()
    # Skip the interpreter's teardown: threads of foreign libraries may refuse to end.
    os._exit(0)


def _import_the_heavy_ones() -> None:
    import torch

    torch.set_num_threads(1)
    # The first optimiser would import this, two seconds after TRAIN was pressed.
    import torch._dynamo

    import app.worker.evaluate
    import app.worker.train
    import app.worker.view  # noqa: F401


def _run(job: messages.Command, channel: Channel, control: Control, file: bytes | None) -> None:
    match job:
        case messages.Train():
            from app.worker.train import Beginning, train

            begin = Beginning(checkpoint=file) if job.resume else Beginning(policy=file)
            train(job, channel, control, begin)
        case messages.View():
            from app.worker.view import view

            view(job, channel, control)
        case messages.Evaluate():
            from app.worker.evaluate import evaluate

            evaluate(job, channel, control)
        case messages.Picture():
            from app.worker.picture import picture

            picture(job, channel)
        case messages.Shrink():
            from app.worker.avatar import shrink

            shrink(job, file or b"", channel)
        case messages.Describe():
            from app.worker.describe import describe

            channel.send(describe(job))


def _reason(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "The worker ran out of the memory it may use (RL_LAB_WORKER_MEMORY)."
    if type(error).__name__ == "BadEnvironmentError":
        # Its text is the whole sentence.
        return str(error)[: messages.MAX_TEXT]
    first_line = str(error).strip().partition("\n")[0]
    text = f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__
    return text[: messages.MAX_TEXT]


def _traceback() -> str:
    return traceback.format_exc()[-20_000:]
