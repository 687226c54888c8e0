"""Publish runs on the Hugging Face Hub in the background, and remember how that went."""

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

import msgspec

from app.core.errors import InputError, short
from app.core.tasks import Tasks
from app.evaluation.evaluation import Evaluation, EvaluationStatus
from app.evaluation.service import Evaluations
from app.runs.service import RunService
from app.sharing import hub
from app.sharing.hub_orders import Curve, Done, HubFile, Moved, Push
from app.sharing.model_card import CURVE, SCALING, VIDEO, CardFacts, model_file, write_card
from storage.errors import RunNotFoundError, WrongStateError
from storage.files.lab_folder import LabFolder
from storage.files.run_folder import RunFolder
from storage.metrics import metrics
from storage.records.runs import EventLevel, RunRecord

_AT_ONCE = 2
_CURVE_POINTS = 400
_PART = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9])?"
_REPO_ID = re.compile(rf"(?:{_PART}/)?{_PART}", re.ASCII)
_TOKEN = re.compile(r"[\x21-\x7e]{1,500}", re.ASCII)

_log = logging.getLogger(__name__)


class PublicationStatus(StrEnum):
    """Where an upload is in its life."""

    QUEUED = "queued"
    UPLOADING = "uploading"
    DONE = "done"
    FAILED = "failed"

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen to it."""
        return self in (PublicationStatus.DONE, PublicationStatus.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A run on its way to the Hub, or there; it never knows a token."""

    repo_id: str
    private: bool
    status: PublicationStatus = PublicationStatus.QUEUED
    progress: float = 0.0
    step: str | None = None
    """What happens right now."""
    url: str | None = None
    code: str | None = None
    error: str | None = None
    started_at: datetime
    finished_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be published where."""

    repo_id: str
    private: bool = True
    update: bool = False
    """Whether a repository that exists may get a new version."""
    message: str | None = None

    def __post_init__(self) -> None:
        is_odd = "--" in self.repo_id or ".." in self.repo_id
        if is_odd or _REPO_ID.fullmatch(self.repo_id) is None:
            raise InputError(
                "repo_id must be a name as the Hub has them, such as ada/ppo-CartPole-v1 (letters, "
                f"digits, '-', '_' and '.'), got {short(self.repo_id)}.",
                field="repo_id",
            )


@dataclass(frozen=True, slots=True)
class Parcel:
    """What would be uploaded."""

    card: str
    files: tuple[HubFile, ...]
    curve: Curve | None

    def sizes(self) -> dict[str, int | None]:
        """Return the names of all files, with sizes where they lie on disk."""
        found: dict[str, int | None] = {}
        for file in self.files:
            if file.text is not None:
                found[file.name] = len(file.text.encode())
            elif file.path is not None:
                found[file.name] = Path(file.path).stat().st_size
        return found | ({CURVE: None} if self.curve else {})


def check_token(token: str | None) -> str:
    """Return a token as it is sent.

    Raises:
        InputError: if there is none, or it can't be one; it is never repeated.
    """
    text = (token or "").strip()
    if not text:
        raise InputError(
            "A Hugging Face token is needed: send one, or save one in your profile.", field="token"
        )
    if _TOKEN.fullmatch(text) is None:
        raise InputError("token must be a token as Hugging Face shows it.", field="token")
    return text


class Publishing:
    """Uploads a few runs at a time, each in a process of its own."""

    def __init__(self, folder: LabFolder, trainer: RunService, evaluations: Evaluations) -> None:
        self.told: Callable[[str], None] = lambda _: None
        """Hears which run's publication is another."""
        self._folder = folder
        self._trainer = trainer
        self._evaluations = evaluations
        self._known: dict[str, Publication] = {}
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._tasks = Tasks()

    async def close(self) -> None:
        """End what is under way; the next start says so."""
        await self._tasks.cancel()

    async def preview(self, run: RunRecord, wish: Wish) -> tuple[Parcel, dict[str, int | None]]:
        """Return what would be uploaded, card and files.

        Raises:
            WrongStateError: if the run has no model to publish, or trains.
        """
        parcel = await self._pack(run, wish)
        return parcel, await asyncio.to_thread(parcel.sizes)

    async def start(self, run: RunRecord, wish: Wish, token: str) -> Publication:
        """Begin to upload a run.

        Raises:
            WrongStateError: if it can't be published now.
        """
        if (known := self._known.get(run.id)) is not None and not known.status.is_over:
            raise WrongStateError(run.id, run.status, "be published: it is being published already")
        begun = Publication(
            repo_id=wish.repo_id, private=wish.private, started_at=datetime.now(UTC)
        )
        self._known[run.id] = begun
        try:
            parcel = await self._pack(run, wish)
            await self._change(run.id, begun)
        except BaseException:
            del self._known[run.id]
            raise
        self._tasks.start(self._upload(run, wish, token, parcel), name=f"publish {run.id}")
        return begun

    async def get(self, run: RunRecord) -> Publication | None:
        """Return how the last upload of a run went or goes; None: there was none."""
        if (known := self._known.get(run.id)) is not None:
            return known
        content = await asyncio.to_thread(self._folder.run(run.id).load_publication)
        try:
            found = None if content is None else msgspec.json.decode(content, type=Publication)
        except msgspec.MsgspecError:
            return None
        if found is not None and not found.status.is_over:
            return _failed(found, "cut_short", "The server ended meanwhile. Publish it again.")
        return found

    async def _upload(self, run: RunRecord, wish: Wish, token: str, parcel: Parcel) -> None:
        loop = asyncio.get_running_loop()

        def hear(moved: Moved) -> None:
            now = replace(self._known[run.id], progress=moved.share, step=moved.what)
            self._known[run.id] = replace(now, status=PublicationStatus.UPLOADING)
            loop.call_soon(self.told, run.id)

        order = Push(
            endpoint=hub.endpoint(),
            token=token,
            repo_id=wish.repo_id,
            private=wish.private,
            update=wish.update,
            message=wish.message or f"{run.algorithm} on {run.env_id}",
            files=(HubFile(name="README.md", text=parcel.card), *parcel.files),
            curve=parcel.curve,
        )
        async with self._slots:
            end = await hub.push(order, hear)
        known = self._known[run.id]
        if isinstance(end, Done):
            now = datetime.now(UTC)
            known = replace(known, status=PublicationStatus.DONE, progress=1.0, step=None)
            known = replace(known, url=end.url, finished_at=now)
            await self._tell(run.id, "published", known, f"Published at {end.url}.")
        else:
            known = _failed(known, end.code, end.sentence)
            message = f"It was not published: {end.sentence}"
            await self._tell(run.id, "not_published", known, message)

    async def _tell(self, run_id: str, event: str, known: Publication, message: str) -> None:
        level = EventLevel.WARNING if known.error else EventLevel.INFO
        try:
            await self._change(run_id, known)
            await self._trainer.tell(run_id, event, message, level=level)
        except (OSError, RunNotFoundError) as error:
            # The run was deleted meanwhile, or the disk is full: what was uploaded stays there.
            _log.warning("That run %s was published is not written down: %s", run_id, error)

    async def _change(self, run_id: str, known: Publication) -> None:
        self._known[run_id] = known
        content = msgspec.json.encode(known)
        await asyncio.to_thread(self._folder.run(run_id).save_publication, content)
        self.told(run_id)

    async def _pack(self, run: RunRecord, wish: Wish) -> Parcel:
        if run.status.is_active:
            raise WrongStateError(run.id, run.status, "be published while it trains. Stop it first")
        tests = await self._evaluations.register.list(run.id)
        return await asyncio.to_thread(_pack, run, self._folder.run(run.id), wish, tests)


def _failed(known: Publication, code: str, sentence: str) -> Publication:
    return replace(
        known,
        status=PublicationStatus.FAILED,
        code=code,
        error=sentence,
        step=None,
        finished_at=datetime.now(UTC),
    )


def _pack(run: RunRecord, folder: RunFolder, wish: Wish, tests: Sequence[Evaluation]) -> Parcel:
    files = folder.artifacts()
    if "model.zip" not in files:
        raise WrongStateError(run.id, run.status, "be published: it has no model yet")
    name = model_file(run)
    found = [HubFile(name=name, path=str(folder.model))]
    found.append(HubFile(name="config.json", path=str(folder.config)))
    if has_scaling := "vecnormalize.pkl" in files:
        found.append(HubFile(name=SCALING, path=str(files["vecnormalize.pkl"].path)))
    if has_reward := folder.reward.is_file():
        found.append(HubFile(name="reward.py", path=str(folder.reward)))
    clip = folder.newest_clip()
    if clip is not None:
        found.append(HubFile(name=VIDEO, path=str(clip)))
    done = (one for one in tests if one.status is EvaluationStatus.COMPLETED)
    test = next((one for one in done if one.kind == "evaluation"), None)
    if test is not None:
        results = msgspec.json.format(msgspec.json.encode(_results(test)), indent=2).decode()
        found.append(HubFile(name="results.json", text=results))
    curve = _curve(folder)
    facts = CardFacts(
        run=run,
        repo_id=wish.repo_id,
        model_name=name,
        evaluation=test,
        has_scaling=has_scaling,
        has_video=clip is not None,
        has_curve=curve is not None,
        has_reward=has_reward,
    )
    return Parcel(write_card(facts), tuple(found), curve)


def _results(test: Evaluation) -> dict[str, object]:
    names = ("episodes", "mean_return", "std_return", "median_return", "ci95", "min", "max")
    more = ("mean_length", "terminations", "returns", "lengths", "seeds", "deterministic")
    return {name: getattr(test, name) for name in (*names, *more)}


def _curve(folder: RunFolder) -> Curve | None:
    lines = metrics.read_columns(folder.metrics, ("n", "timesteps", "mean_reward"))
    thinned = metrics.downsample(lines, max_points=_CURVE_POINTS, names=["mean_reward"])
    points = tuple((float(one["timesteps"]), float(one["mean_reward"])) for one in thinned)
    return Curve(name=CURVE, points=points) if len(points) > 1 else None
