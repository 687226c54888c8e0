"""A run in the forms of other programs: event files for TensorBoard, ONNX with a script."""

import asyncio
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from app.core.errors import InputError
from app.protocol import commands
from app.run_config.config import RunConfig
from app.runs.policies import check_code
from app.runs.service import RunService
from app.runs.stored_policies import read_policy
from app.sharing.play_script import play_script
from app.sharing.tensorboard import event_records
from app.workers.errors import JobError, JobRefusedError
from app.workers.pool import WorkerPool
from storage.errors import WrongStateError
from storage.files.lab_folder import LabFolder
from storage.metrics import metrics
from storage.records.runs import RunRecord

_LINES_AT_ONCE = 500
_WITHIN_S = 120.0
_LARGEST = 256 << 20


class Exports:
    """Writes files for others; a policy is opened by a worker alone."""

    def __init__(self, folder: LabFolder, trainer: RunService, pool: WorkerPool) -> None:
        self._folder = folder
        self._trainer = trainer
        self._pool = pool

    def tensorboard(self, run: RunRecord) -> Iterator[bytes]:
        """Yield a run's metrics as an event file; reads files and belongs on a thread."""
        started = (run.started_at or run.created_at).timestamp()
        yield from event_records(_lines(self._folder.run(run.id).metrics), started=started)

    async def onnx(self, run: RunRecord) -> bytes:
        """Return a zip with the newest policy as ONNX and a script that plays it.

        Raises:
            WrongStateError: if the run has no policy yet, or its code may not run here any more.
            InputError: if its policy has no form in ONNX.
        """
        await check_code(self._trainer, run)
        folder = self._folder.run(run.id)
        policy = await asyncio.to_thread(read_policy, folder, None, field="format")
        if policy is None:
            wish = "be exported: it has no policy yet. Train it first"
            raise WrongStateError(run.id, run.status, wish)
        command = commands.Export(setup=RunConfig.model_validate(run.config).setup())
        try:
            async with self._pool.job(
                command,
                file=("policy.pt", policy.weights),
                slot=self._pool.side_slots.for_a_test(),
                within_s=_WITHIN_S,
            ) as job:
                content = await job.file("policy.onnx", at_most=_LARGEST)
        except JobRefusedError as error:
            raise InputError(str(error), field="format") from error
        except JobError as error:
            raise InputError(f"The policy could not be exported: {error}.") from error
        return _zip({"policy.onnx": content, "play.py": play_script(run.config).encode()})


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
