"""Main function of a locked worker: read one job, import what it needs, do it, exit."""

import importlib
import os
import sys
import tempfile
import traceback
from typing import NamedTuple

from app.protocol import (
    ENVIRONMENT_FILE,
    Channel,
    Control,
    UserCodeError,
    commands,
    framing,
    messages,
    read_file,
)
from app.worker.compiler import import_torch
from app.worker.user_code.loader import explain
from app.worker.user_code.monitoring import watch_user_code


class _Job(NamedTuple):
    """The function of a job, and its arguments besides the command."""

    module: str
    function: str
    arguments: tuple[str, ...]
    needs_torch: bool = False


_PIPE_ENDS = ("channel", "control")
_JOBS: dict[type[commands.Command], _Job] = {
    commands.Train: _Job("training.train", "train", (*_PIPE_ENDS, "file"), needs_torch=True),
    commands.View: _Job("evaluation.live_view", "view", _PIPE_ENDS, needs_torch=True),
    commands.Evaluate: _Job("evaluation.evaluate", "evaluate", _PIPE_ENDS, needs_torch=True),
    commands.Clip: _Job("evaluation.clips", "clip", _PIPE_ENDS, needs_torch=True),
    commands.Examine: _Job("models.hub_policy", "examine", ("channel", "file"), needs_torch=True),
    commands.ConvertModel: _Job(
        "models.hub_policy", "convert_model", ("channel", "file"), needs_torch=True
    ),
    commands.Export: _Job("export.onnx_export", "export", ("channel", "file"), needs_torch=True),
    commands.SaveNormalization: _Job(
        "export.normalization", "save", ("channel", "file"), needs_torch=True
    ),
    commands.JoinClips: _Job("evaluation.evolution_video", "join_clips", ("channel", "file")),
    commands.Shrink: _Job("checks.avatar", "shrink", ("channel", "file")),
    commands.CheckReward: _Job("checks.check_reward", "check_reward", ("channel", "file")),
    commands.Inspect: _Job("checks.inspect_environment", "inspect_environment", ("channel",)),
    commands.CheckSandbox: _Job("checks.sandbox", "check_sandbox", ("channel",)),
    commands.RenderPreviews: _Job("envs.preview", "render_previews", ("channel",)),
    commands.Describe: _Job("envs.describe", "send_description", ("channel",)),
    commands.Record: _Job("trajectories.record", "record", ("channel",)),
    commands.TryOut: _Job("tryout.tryout", "try_out", _PIPE_ENDS),
}
"""Every job by its command; a job's module is imported only when needed."""


def serve(descriptor: int) -> None:
    """Do one job and exit; report an error of the job instead of raising it."""
    channel = Channel(descriptor)
    # torch looks for a temporary folder during import, and none is writable.
    tempfile.tempdir = "/"
    try:
        job = commands.decode_command(framing.read(0)[1])
    except EOFError:
        os._exit(0)
    file = read_file() if getattr(job, "has_file", False) else b""
    control = Control()
    try:
        watch_user_code(job, channel)
        _run(job, {"channel": channel, "control": control, "file": file})
    except BaseException as raised:  # noqa: BLE001 - whatever the job raised is reported
        error = _as_user_code_error(raised, job)
        line = error.line if isinstance(error, UserCodeError) else None
        channel.send(messages.Failed(reason=_reason(error), traceback=_traceback(), line=line))
    sys.stdout.flush()
    sys.stderr.flush()
    # Skip the interpreter's teardown: threads of libraries may never end.
    os._exit(0)


def _run(job: commands.Command, available: dict[str, object]) -> None:
    entry = _JOBS[type(job)]
    if entry.needs_torch:
        import_torch()
    _register_environment(job)
    module = importlib.import_module(f"app.worker.{entry.module}")
    getattr(module, entry.function)(job, *(available[name] for name in entry.arguments))


def _register_environment(job: commands.Command) -> None:
    """Register the custom environment of the job, if it has one."""
    setup = _environment_of(job)
    if setup is not None and setup.env_code is not None:
        from app.worker.envs import custom

        custom.register(setup.env_id, setup.env_code)


def _environment_of(
    job: commands.Command,
) -> commands.Setup | commands.Describe | commands.Record | commands.TryOut | None:
    if isinstance(job, commands.Describe | commands.Record | commands.TryOut):
        return job
    setup = getattr(job, "setup", None)
    return setup if isinstance(setup, commands.Setup) else None


def _as_user_code_error(error: BaseException, job: commands.Command) -> BaseException:
    """Convert an error that was raised in a custom environment; return others as they are."""
    setup = _environment_of(job)
    if setup is None or setup.env_code is None or isinstance(error, UserCodeError):
        return error
    explained = explain(error, ENVIRONMENT_FILE)
    return error if explained.line is None else explained


def _reason(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "The worker ran out of the memory it may use (RL_LAB_WORKER_MEMORY)."
    if isinstance(error, UserCodeError) or type(error).__name__ == "BadEnvironmentError":
        # The message is a complete sentence.
        return str(error)[: messages.MAX_TEXT]
    first_line = str(error).strip().partition("\n")[0]
    text = f"{type(error).__name__}: {first_line}" if first_line else type(error).__name__
    return text[: messages.MAX_TEXT]


def _traceback() -> str:
    return traceback.format_exc()[-20_000:]
