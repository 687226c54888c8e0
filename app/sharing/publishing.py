"""Publish runs on the Hugging Face Hub in the background, and store the outcome."""

import asyncio
import logging
import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import msgspec

from app.core import InputError, Tasks, shorten
from app.evaluation import Evaluation, Evaluations
from app.protocol import ENVIRONMENT_FILE, commands
from app.run_config import config_of
from app.runs import RunService, check_code, read_policy
from app.sharing import hub
from app.sharing.hub_messages import Curve, Done, HubFile, Moved, Push
from app.sharing.model_card import CURVE, NORMALIZATION, VIDEO, CardFacts, model_file, write_card
from app.sharing.published_version import (
    parse_version,
    publishable_versions,
    published_version,
)
from app.sharing.versions import Version
from app.workers import JobError, WorkerPool
from storage import RunNotFoundError, WrongStateError
from storage.files import EvaluationFiles, LabFolder, RunFolder
from storage.metrics import metrics
from storage.records import ChangeableRun, EventLevel, RunRecord, VisibleRun

_MAX_CONCURRENT = 2
_CURVE_POINTS = 400
_WITHIN_S = 120.0
_LARGEST_NORMALIZATION = 16 << 20
_PART = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9])?"
_REPO_ID = re.compile(rf"(?:{_PART}/)?{_PART}", re.ASCII)
_TOKEN = re.compile(r"[\x21-\x7e]{1,500}", re.ASCII)

_log = logging.getLogger(__name__)


class PublicationStatus(StrEnum):
    """The state of an upload."""

    QUEUED = "queued"
    UPLOADING = "uploading"
    DONE = "done"
    FAILED = "failed"

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self in (PublicationStatus.DONE, PublicationStatus.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """The state of a run's upload to the Hub; it never contains a token."""

    repo_id: str
    private: bool
    checkpoint: int | str | None = None
    """`best`, or the step of a checkpoint; None: the final model."""
    status: PublicationStatus = PublicationStatus.QUEUED
    progress: float = 0.0
    step: str | None = None
    """The current step of the upload."""
    url: str | None = None
    code: str | None = None
    error: str | None = None
    started_at: datetime
    finished_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishRequest:
    """The options of a publication."""

    repo_id: str
    private: bool = True
    update: bool = False
    """Whether an existing repository may be updated."""
    message: str | None = None
    checkpoint: int | str | None = None
    """`best`, or the step of a pinned checkpoint; None means the final model."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "checkpoint", parse_version(self.checkpoint))
        is_invalid = "--" in self.repo_id or ".." in self.repo_id
        if is_invalid or _REPO_ID.fullmatch(self.repo_id) is None:
            raise InputError(
                "repo_id must be a valid name on the Hub, such as ada/ppo-CartPole-v1 (letters, "
                f"digits, '-', '_' and '.'), got {shorten(self.repo_id)}.",
                field="repo_id",
            )


@dataclass(frozen=True, slots=True)
class Upload:
    """The contents of an upload."""

    card: str
    files: tuple[HubFile, ...]
    curve: Curve | None
    lacks_normalization: bool = False
    """Whether a worker has to write the normalization, which only the policy file contains."""

    def sizes(self) -> dict[str, int | None]:
        """Return all file names with sizes; None for a file that is created during the upload."""
        found: dict[str, int | None] = {}
        for file in self.files:
            if file.text is not None:
                found[file.name] = len(file.text.encode())
            elif file.path is not None:
                found[file.name] = _size(Path(file.path), file.member)
        made = {CURVE: self.curve is not None, NORMALIZATION: self.lacks_normalization}
        return found | {name: None for name, is_made in made.items() if is_made}


def _size(path: Path, member: str | None) -> int:
    if member is None:
        return path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        return archive.getinfo(member).file_size


def check_token(token: str | None) -> str:
    """Return the stripped token.

    Raises:
        InputError: if it is missing or malformed; the message never contains it.
    """
    text = (token or "").strip()
    if not text:
        raise InputError(
            "A Hugging Face token is needed: send one, or save one in your profile.", field="token"
        )
    if _TOKEN.fullmatch(text) is None:
        raise InputError("token must be a Hugging Face access token.", field="token")
    return text


class Publishing:
    """Uploads a limited number of runs at a time, each in its own process."""

    def __init__(
        self,
        folder: LabFolder,
        runs: RunService,
        evaluations: Evaluations,
        pool: WorkerPool,
        *,
        on_change: Callable[[str], None],
    ) -> None:
        """`on_change` receives the id of a run whose publication changed."""
        self._on_change = on_change
        self._folder = folder
        self._runs = runs.unchecked
        self._evaluations = evaluations
        self._pool = pool
        self._known: dict[str, Publication] = {}
        self._slots = asyncio.Semaphore(_MAX_CONCURRENT)
        self._tasks = Tasks()

    async def close(self) -> None:
        """Cancel active uploads; the next server reports them as failed."""
        await self._tasks.cancel()

    async def preview(
        self, run: VisibleRun, request: PublishRequest
    ) -> tuple[Upload, dict[str, int | None]]:
        """Return what would be uploaded, with the sizes of the files.

        Raises:
            WrongStateError: if the run has no model to publish, or is training.
        """
        upload = await self._pack(run, request)
        return upload, await asyncio.to_thread(upload.sizes)

    async def versions(self, run: VisibleRun) -> Sequence[Version]:
        """Return the versions that can be published, newest first."""
        evaluations = await self._evaluations.list(run)
        folder = self._folder.run(run.id)
        return await asyncio.to_thread(publishable_versions, run, folder, evaluations)

    async def start(
        self, run: ChangeableRun, request: PublishRequest, token: str | None
    ) -> Publication:
        """Start to upload a run.

        Raises:
            InputError: if the token is missing or malformed.
            WrongStateError: if it can't be published now.
        """
        checked = check_token(token)
        if (known := self._known.get(run.id)) is not None and not known.status.is_over:
            raise WrongStateError(run.id, run.status, "be published: it is being published already")
        begun = Publication(
            repo_id=request.repo_id,
            private=request.private,
            checkpoint=request.checkpoint,
            started_at=datetime.now(UTC),
        )
        self._known[run.id] = begun
        try:
            upload = await self._complete(run, request, await self._pack(run, request))
            await self._change(run.id, begun)
        except BaseException:
            del self._known[run.id]
            raise
        self._tasks.start(self._upload(run, request, checked, upload), name=f"publish {run.id}")
        return begun

    async def get(self, run: VisibleRun) -> Publication | None:
        """Return the state of the last upload of a run, or None if there was none."""
        if (known := self._known.get(run.id)) is not None:
            return known
        content = await asyncio.to_thread(self._folder.run(run.id).load_publication)
        try:
            found = None if content is None else msgspec.json.decode(content, type=Publication)
        except msgspec.MsgspecError:
            return None
        if found is not None and not found.status.is_over:
            message = "The server ended during the upload. Publish the run again."
            return _failed(found, "cut_short", message)
        return found

    async def _upload(
        self, run: RunRecord, request: PublishRequest, token: str, upload: Upload
    ) -> None:
        loop = asyncio.get_running_loop()

        def on_progress(moved: Moved) -> None:
            now = replace(self._known[run.id], progress=moved.share, step=moved.step)
            self._known[run.id] = replace(now, status=PublicationStatus.UPLOADING)
            loop.call_soon(self._on_change, run.id)

        order = Push(
            endpoint=hub.endpoint(),
            token=token,
            repo_id=request.repo_id,
            private=request.private,
            update=request.update,
            message=request.message or f"{run.algorithm} on {run.env_id}",
            files=(HubFile(name="README.md", text=upload.card), *upload.files),
            curve=upload.curve,
        )
        async with self._slots:
            end = await hub.push(order, on_progress)
        known = self._known[run.id]
        if isinstance(end, Done):
            now = datetime.now(UTC)
            known = replace(known, status=PublicationStatus.DONE, progress=1.0, step=None)
            known = replace(known, url=end.url, finished_at=now)
            await self._finish(run.id, "published", known, f"Published at {end.url}.")
        else:
            known = _failed(known, end.code, end.message)
            message = f"It was not published: {end.message}"
            await self._finish(run.id, "not_published", known, message)

    async def _finish(self, run_id: str, event: str, known: Publication, message: str) -> None:
        level = EventLevel.WARNING if known.error else EventLevel.INFO
        try:
            await self._change(run_id, known)
            await self._runs.add_event(run_id, event, message, level=level)
        except (OSError, RunNotFoundError) as error:
            # The run was deleted in the meantime, or the disk is full; the upload itself remains.
            _log.warning("The publication of run %s could not be recorded: %s", run_id, error)

    async def _change(self, run_id: str, known: Publication) -> None:
        self._known[run_id] = known
        content = msgspec.json.encode(known)
        await asyncio.to_thread(self._folder.run(run_id).save_publication, content)
        self._on_change(run_id)

    async def _complete(self, run: RunRecord, request: PublishRequest, upload: Upload) -> Upload:
        """Add the normalization of a checkpoint, which only a worker may read."""
        if not upload.lacks_normalization:
            return upload
        await check_code(self._runs, run)
        folder = self._folder.run(run.id)
        policy = await asyncio.to_thread(
            read_policy, folder, request.checkpoint, field="checkpoint"
        )
        assert policy is not None
        try:
            async with self._pool.job(
                commands.SaveNormalization(setup=config_of(run).setup()),
                file=("policy.pt", policy.weights),
                slot=self._pool.side_slots.priority_slot(),
                within_s=_WITHIN_S,
            ) as job:
                content = await job.file("vecnormalize.pkl", at_most=_LARGEST_NORMALIZATION)
        except JobError as error:
            text = f"The normalization of this checkpoint could not be written: {error}."
            raise InputError(text, field="checkpoint") from error
        return replace(upload, files=(*upload.files, HubFile(name=NORMALIZATION, content=content)))

    async def _pack(self, run: RunRecord, request: PublishRequest) -> Upload:
        if run.status.is_active:
            raise WrongStateError(run.id, run.status, "be published while it trains. Stop it first")
        evaluations = await self._evaluations.store.list(run.id)
        return await asyncio.to_thread(_pack, run, self._folder.run(run.id), request, evaluations)


def _failed(known: Publication, code: str, message: str) -> Publication:
    return replace(
        known,
        status=PublicationStatus.FAILED,
        code=code,
        error=message,
        step=None,
        finished_at=datetime.now(UTC),
    )


def _pack(
    run: RunRecord, folder: RunFolder, request: PublishRequest, evaluations: Sequence[Evaluation]
) -> Upload:
    chosen = published_version(run, folder, request.checkpoint, evaluations)
    config = config_of(run)
    name = model_file(run)
    found = [HubFile(name=name, path=str(chosen.model), member=chosen.member)]
    found.append(HubFile(name="config.json", path=str(folder.config)))
    if chosen.normalization is not None:
        found.append(HubFile(name=NORMALIZATION, path=str(chosen.normalization)))
    if has_reward := folder.reward.is_file():
        found.append(HubFile(name="reward.py", path=str(folder.reward)))
    if config.env_code is not None:
        found.append(HubFile(name=ENVIRONMENT_FILE, text=config.env_code))
    if chosen.videos:
        video = EvaluationFiles(folder.evaluations_path).video(chosen.videos[0])
        found.append(HubFile(name=VIDEO, path=str(video)))
    if (evaluation := chosen.evaluation) is not None:
        results = msgspec.json.format(msgspec.json.encode(_results(evaluation)), indent=2).decode()
        found.append(HubFile(name="results.json", text=results))
    curve = _curve(folder)
    facts = CardFacts(
        run=run,
        config=config,
        published=chosen,
        repo_id=request.repo_id,
        model_name=name,
        has_curve=curve is not None,
        has_reward=has_reward,
    )
    lacks = config.wrappers.normalizes and chosen.normalization is None
    return Upload(write_card(facts), tuple(found), curve, lacks_normalization=lacks)


def _results(evaluation: Evaluation) -> dict[str, object]:
    names = ("checkpoint", "timesteps", "episodes", "mean_return", "std_return", "median_return")
    more = ("ci95", "min", "max", "mean_length", "terminations", "returns", "lengths", "seeds")
    found = {name: getattr(evaluation, name) for name in (*names, *more)}
    return found | {
        "seed_family": evaluation.seed_family,
        "deterministic": evaluation.deterministic,
        "disturbances": evaluation.disturbances,
        "left_out": evaluation.left_out,
        "successes": evaluation.successes,
    }


def _curve(folder: RunFolder) -> Curve | None:
    lines = metrics.read_columns(folder.metrics, ("n", "timesteps", "mean_reward"))
    thinned = metrics.downsample(lines, max_points=_CURVE_POINTS, names=["mean_reward"])
    points = tuple((float(one["timesteps"]), float(one["mean_reward"])) for one in thinned)
    return Curve(name=CURVE, points=points) if len(points) > 1 else None
