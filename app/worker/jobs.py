"""The life of a locked worker: import what the role needs, take one job, do it, end."""

import importlib
import os
import sys
import tempfile
import traceback
from typing import NamedTuple

from app.protocol import commands, framing, messages
from app.protocol.pipe import Channel, Control, read_file
from app.protocol.user_code import ENVIRONMENT_FILE, UserCodeError
from app.worker.compiler import import_torch
from app.worker.user_code.guard import look_after_code
from app.worker.user_code.loader import explain


class _Job(NamedTuple):
    """Where the function of a job is, and what it takes beside its command."""

    module: str
    function: str
    takes: tuple[str, ...]
    needs_torch: bool = False


_TALKS = ("channel", "control")
_JOBS: dict[type[commands.Command], _Job] = {
    commands.Train: _Job("training.train", "train", (*_TALKS, "file"), needs_torch=True),
    commands.View: _Job("evaluation.live_view", "view", _TALKS, needs_torch=True),
    commands.Evaluate: _Job("evaluation.evaluate", "evaluate", _TALKS, needs_torch=True),
    commands.Clip: _Job("evaluation.clips", "clip", _TALKS, needs_torch=True),
    commands.Examine: _Job("models.hub_policy", "examine", ("channel", "file"), needs_torch=True),
    commands.Adopt: _Job("models.hub_policy", "adopt", ("channel", "file"), needs_torch=True),
    commands.Export: _Job("export.onnx_export", "export", ("channel", "file"), needs_torch=True),
    commands.Evolve: _Job("evaluation.evolution_video", "evolve", ("channel", "file")),
    commands.Shrink: _Job("checks.avatar", "shrink", ("channel", "file")),
    commands.CheckReward: _Job("checks.check_reward", "check_reward", ("channel", "file")),
    commands.Inspect: _Job("checks.inspect_environment", "inspect_environment", ("channel",)),
    commands.CheckSandbox: _Job("checks.sandbox", "check_sandbox", ("channel",)),
    commands.Picture: _Job("envs.picture", "picture", ("channel",)),
    commands.Describe: _Job("envs.describe", "send_description", ("channel",)),
    commands.Record: _Job("trajectories.record", "record", ("channel",)),
    commands.TryOut: _Job("tryout.tryout", "try_out", _TALKS),
}
"""Every job, by its command; its module is imported only for it."""


def serve(descriptor: int) -> None:
    """Do one job and end the process; an error of the job is reported, not raised."""
    channel = Channel(descriptor)
    # torch asks for a temporary folder while it is imported; there is none that can be written.
    tempfile.tempdir = "/"
    try:
        job = commands.decode_command(framing.read(0)[1])
    except EOFError:
        os._exit(0)
    file = read_file() if getattr(job, "has_file", False) else b""
    control = Control()
    try:
        look_after_code(job, channel)
        _run(job, {"channel": channel, "control": control, "file": file})
    except BaseException as raised:  # noqa: BLE001 - whatever the job raised the lab must hear
        error = _blamed(raised, job)
        line = error.line if isinstance(error, UserCodeError) else None
        channel.send(messages.Failed(reason=_reason(error), traceback=_traceback(), line=line))
    sys.stdout.flush()
    sys.stderr.flush()
    # Skip the interpreter's teardown: threads of foreign libraries may refuse to end.
    os._exit(0)


def _run(job: commands.Command, given: dict[str, object]) -> None:
    found = _JOBS[type(job)]
    if found.needs_torch:
        import_torch()
    _register_environment(job)
    module = importlib.import_module(f"app.worker.{found.module}")
    getattr(module, found.function)(job, *(given[name] for name in found.takes))


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
