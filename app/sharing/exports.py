"""Export runs in other programs' formats: event files for TensorBoard, ONNX with a script."""

import asyncio
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from app.catalog.algorithms import get_algorithm
from app.core import InputError
from app.protocol import ENVIRONMENT_FILE, commands
from app.run_config import config_of
from app.runs import RunService, check_code, read_policy
from app.sharing.play_script import play_script
from app.sharing.tensorboard import event_records
from app.workers import JobError, JobRefusedError, WorkerPool
from storage import WrongStateError
from storage.files import LabFolder
from storage.metrics import metrics
from storage.records import VisibleRun

_LINES_AT_ONCE = 500
_WITHIN_S = 120.0
_LARGEST = 256 << 20


class Exports:
    """Writes exported files; only a worker opens the policy."""

    def __init__(self, folder: LabFolder, runs: RunService, pool: WorkerPool) -> None:
        self._folder = folder
        self._runs = runs.unchecked
        self._pool = pool

    def tensorboard(self, run: VisibleRun) -> Iterator[bytes]:
        """Yield a run's metrics as an event file; does blocking I/O, so call it on a thread."""
        started = (run.started_at or run.created_at).timestamp()
        lines = _lines(self._folder.run(run.id).metrics)
        is_clipped = "clip_range" in run.config.get("hyperparameters", {})
        tag = "train/policy_gradient_loss" if is_clipped else "train/policy_loss"
        yield from event_records(lines, started=started, policy_loss=tag)

    async def onnx(self, run: VisibleRun) -> bytes:
        """Return a zip with the newest policy as ONNX and a script that plays it.

        The code of a custom environment is included.

        Raises:
            WrongStateError: if the run has no policy yet, or its code may no longer run here.
            InputError: if its policy can't be exported as ONNX.
        """
        await check_code(self._runs, run)
        folder = self._folder.run(run.id)
        policy = await asyncio.to_thread(read_policy, folder, None, field="format")
        if policy is None:
            action = "be exported: it has no policy yet. Train it first"
            raise WrongStateError(run.id, run.status, action)
        if not get_algorithm(run.algorithm).exports_to_onnx:
            message = f"Policies of {run.algorithm} can't be exported as ONNX."
            raise InputError(message, field="format")
        config = config_of(run)
        command = commands.Export(setup=config.setup())
        try:
            async with self._pool.job(
                command,
                file=("policy.pt", policy.weights),
                slot=self._pool.side_slots.priority_slot(),
                within_s=_WITHIN_S,
            ) as job:
                content = await job.file("policy.onnx", at_most=_LARGEST)
        except JobRefusedError as error:
            raise InputError(str(error), field="format") from error
        except JobError as error:
            raise InputError(f"The policy could not be exported: {error}.") from error
        files = {"policy.onnx": content, "play.py": play_script(config).encode()}
        if config.env_code is not None:
            files[ENVIRONMENT_FILE] = config.env_code.encode()
        return _zip(files)


def _lines(path: Path) -> Iterator[dict[str, object]]:
    reader = metrics.LineReader(path, after=0)
    while raw := reader.read(_LINES_AT_ONCE):
        for line in raw:
            yield msgspec.json.decode(line, type=dict[str, object])


def _zip(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()
