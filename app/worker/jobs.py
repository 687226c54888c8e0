"""The life of a locked worker: import what the role needs, take one job, do it, end."""

import os
import sys
import tempfile
import traceback

from app.protocol import commands, framing, messages
from app.protocol.pipe import Channel, Control, read_file
from app.protocol.user_code import ENVIRONMENT_FILE, UserCodeError
from app.worker.compiler import import_torch
from app.worker.user_code.guard import look_after_code
from app.worker.user_code.loader import explain

_WITH_TORCH = (
    commands.Train,
    commands.View,
    commands.Evaluate,
    commands.Clip,
    commands.Examine,
    commands.Adopt,
    commands.Export,
)


def serve(descriptor: int) -> None:
    """Do one job and end the process; an error of the job is reported, not raised."""
    channel = Channel(descriptor)
    # torch asks for a temporary folder while it is imported; there is none that can be written.
    tempfile.tempdir = "/"
    try:
        job = commands.decode_command(framing.read(0)[1])
    except EOFError:
        os._exit(0)
    file = read_file() if getattr(job, "has_file", False) else None
    control = Control()
    try:
        look_after_code(job, channel)
        if isinstance(job, _WITH_TORCH):
            import_torch()
        _register_environment(job)
        _run(job, channel, control, file)
    except BaseException as raised:  # noqa: BLE001 - whatever the job raised the lab must hear
        error = _blamed(raised, job)
        line = error.line if isinstance(error, UserCodeError) else None
        channel.send(messages.Failed(reason=_reason(error), traceback=_traceback(), line=line))
    sys.stdout.flush()
    sys.stderr.flush()
    # Skip the interpreter's teardown: threads of foreign libraries may refuse to end.
    os._exit(0)


def _register_environment(job: commands.Command) -> None:
    """Make the environment known that came with the job, if one did."""
    played = _played(job)
    if played is not None and played.env_code is not None:
        from app.worker.envs import custom

        custom.register(played.env_id, played.env_code)


def _played(
    job: commands.Command,
) -> commands.Setup | commands.Describe | commands.Record | commands.TryOut | None:
    match job:
        case commands.Train() | commands.View() | commands.Evaluate() | commands.Clip():
            return job.setup
        case commands.Describe() | commands.Record() | commands.TryOut():
            return job
    return None


def _run(job: commands.Command, channel: Channel, control: Control, file: bytes | None) -> None:
    match job:
        case commands.Train():
            from app.worker.training.train import Beginning, train

            begin = Beginning(checkpoint=file) if job.resume else Beginning(policy=file)
            train(job, channel, control, begin)
        case commands.View():
            from app.worker.evaluation.live_view import view

            view(job, channel, control)
        case commands.Evaluate():
            from app.worker.evaluation.evaluate import evaluate

            evaluate(job, channel, control)
        case commands.Clip():
            from app.worker.evaluation.clips import clip

            clip(job, channel, control)
        case commands.Examine():
            from app.worker.models.hub_policy import examine

            examine(file or b"", channel)
        case commands.Adopt():
            from app.worker.models.hub_policy import adopt

            adopt(job, file or b"", channel)
        case commands.Export():
            from app.worker.export.onnx_export import export

            export(job, file or b"", channel)
        case _:
            _run_without_policy(job, channel, control, file)


def _run_without_policy(
    job: commands.Command, channel: Channel, control: Control, file: bytes | None
) -> None:
    match job:
        case commands.Evolve():
            from app.worker.evaluation.evolution_video import evolve

            evolve(job, file or b"", channel)
        case commands.Shrink():
            from app.worker.checks.avatar import shrink

            shrink(job, file or b"", channel)
        case commands.CheckReward():
            from app.worker.checks.check_reward import check_reward

            check_reward(job, file or b"", channel)
        case _:
            _look_at_environment(job, channel, control)


def _look_at_environment(job: commands.Command, channel: Channel, control: Control) -> None:
    match job:
        case commands.Picture():
            from app.worker.envs.picture import picture

            picture(job, channel)
        case commands.TryOut():
            from app.worker.tryout.tryout import try_out

            try_out(job, channel, control)
        case commands.Record():
            from app.worker.trajectories.record import record

            record(job, channel)
        case commands.Describe():
            from app.worker.envs.describe import describe

            channel.send(describe(job))
        case commands.Inspect():
            from app.worker.checks.inspect_environment import inspect_environment

            inspect_environment(job, channel)
        case commands.CheckSandbox():
            from app.worker.sandbox.canary import open_doors

            doors = open_doors(job.canary, job.lab_pid, job.memory_mb)
            channel.send(messages.Doors(open=tuple(doors)))


def _blamed(error: BaseException, job: commands.Command) -> BaseException:
    """Return the error as one of a person's environment, if that is where it was raised."""
    played = _played(job)
    if played is None or played.env_code is None or isinstance(error, UserCodeError):
        return error
    blamed = explain(error, ENVIRONMENT_FILE)
    return error if blamed.line is None else blamed


def _reason(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "The worker ran out of the memory it may use (RL_LAB_WORKER_MEMORY)."
    if isinstance(error, UserCodeError) or type(error).__name__ == "BadEnvironmentError":
        # Its text is the whole sentence.
        return str(error)[: messages.MAX_TEXT]
    first_line = str(error).strip().partition("\n")[0]
    text = f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__
    return text[: messages.MAX_TEXT]


def _traceback() -> str:
    return traceback.format_exc()[-20_000:]
