"""Check what was taken out of a bundle, so that nothing else has to doubt it later.

Models and checkpoints stay closed: workers open them, locked in, as those of any other run.
"""

import gzip
import zlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
from pydantic import ValidationError

from app.analysis.doctor.findings import Findings
from app.catalog.algorithms.catalogue import get_algorithm
from app.core.errors import explain
from app.evaluation.evaluation import Evaluation
from app.protocol import messages
from app.protocol.messages import Count, MetricName, Number
from app.run_config.config import AppliedChange, RunConfig, RunRequest
from app.run_config.derive import derive
from app.run_config.live_changes import read_change
from app.sharing.archive import BundleError
from app.sharing.manifest import EventEntry, Manifest
from app.workers.video import LARGEST_REPLAY, LARGEST_VIDEO
from storage.files.checkpoint_files import CheckpointFile
from storage.files.evaluation_files import EvaluationFiles
from storage.files.run_folder import RunFolder

_LONGEST_LINE = 256 << 10
_MOST_NAMES = 1_000
_MOST_EVENTS = 20_000
_UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)

_Text = Annotated[str, msgspec.Meta(max_length=200)]
_Inner = dict[MetricName, Number | dict[MetricName, Number]]
_LINES = msgspec.json.Decoder(dict[MetricName, Number | bool | _Text | _Inner])
_EVENTS = msgspec.json.Decoder(Annotated[list[EventEntry], msgspec.Meta(max_length=_MOST_EVENTS)])
_EVALUATIONS = msgspec.json.Decoder(Evaluation)
_REPLAYS = msgspec.json.Decoder(messages.Replay)


class _Placed(msgspec.Struct, frozen=True, kw_only=True):
    """What a line of metrics must say of itself."""

    n: Count
    t: _Text
    timesteps: Count
    vec_steps: Count
    updates: Count
    episode: Count
    elapsed_s: float


class _Facts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of a checkpoint."""

    timesteps: Count
    lines: Count
    sha256: str
    mean_reward: Number = None
    pinned: bool = False


_PLACES = msgspec.json.Decoder(_Placed)
_FACTS = msgspec.json.Decoder(_Facts)


@dataclass(frozen=True, slots=True)
class Contents:
    """What a bundle brings into the database, checked."""

    config: RunConfig
    events: list[EventEntry]
    latest: dict[str, Any] | None
    """The newest value of every metric."""


def read_request(folder: RunFolder) -> tuple[RunConfig, RunRequest]:
    """Return a bundle's config as its lab kept it, and as somebody would ask for it here.

    Raises:
        BundleError: if it isn't a config.
    """
    raw = _decode("config.json", folder.config.read_bytes(), dict[str, Any])
    try:
        given = RunConfig.model_validate(raw)
        return given, derive(raw, {"start": False}, keeps_seed=True)
    except ValidationError as error:
        problem = explain([dict(one) for one in error.errors()])
        raise BundleError(f"config.json: {problem}") from None


def check_contents(
    folder: RunFolder, manifest: Manifest, events: bytes, given: RunConfig, request: RunRequest
) -> Contents:
    """Check everything that this process will ever read of a bundle.

    Raises:
        InputError: if something in it can't be used here.
    """
    config = _config(given, request)
    if (manifest.run.env_id, manifest.run.algorithm) != (config.env_id, config.algorithm):
        raise BundleError("The manifest and config.json speak of different runs.")
    lines, latest = _check_metrics(folder.metrics)
    _check_checkpoints(folder, manifest, lines)
    _check_evaluations(folder)
    _check_small_ones(folder)
    _check_code(folder, config)
    return Contents(config, _check_events(events), latest)


def adopt(folder: RunFolder, run_id: str, config: RunConfig) -> None:
    """Write into the files of a checked bundle whose they are from now on."""
    folder.save_config(config.model_dump())
    files = EvaluationFiles(folder.evaluations_path)
    for path in folder.evaluations:
        found = replace(_EVALUATIONS.decode(path.read_bytes()), run_id=run_id)
        files.save(found.id, asdict(found), is_over=True)


def _config(given: RunConfig, request: RunRequest) -> RunConfig:
    """Check a config as if it were asked for, and keep what only its history knows."""
    checked = RunConfig.from_request(request)
    if given.env_code != checked.env_code:
        raise BundleError(
            f"{given.env_id} is another environment in this lab. Add the code from config.json "
            "(env_code) under Write your own, under another name."
        )
    algorithm = get_algorithm(checked.algorithm)
    for change in given.changes:
        read_change(algorithm, _wishes(change))
    engine = given.engine_used if checked.engine_used == "fast" else "sb3"
    kept = {"engine_used": engine, "engine_reason": given.engine_reason, "changes": given.changes}
    return checked.model_copy(update=kept)


def _wishes(change: AppliedChange) -> dict[str, Any]:
    wishes = {name: value for name, value in asdict(change).items() if value is not None}
    wishes.pop("timesteps")
    return wishes


def _check_metrics(path: Path) -> tuple[int, dict[str, Any] | None]:
    """Check every line; return how many there are and the newest value of each metric."""
    count, latest = 0, dict[str, Any]()
    if not path.is_file():
        return 0, None
    with path.open("rb") as file:
        while raw := file.readline(_LONGEST_LINE):
            count += 1
            latest.update(_line(raw, count))
            if len(latest) > _MOST_NAMES:
                raise BundleError(f"metrics.jsonl has more than {_MOST_NAMES:,} kinds of numbers.")
    return count, {k: v for k, v in latest.items() if k not in ("n", "t")} or None


def _line(raw: bytes, number: int) -> dict[str, Any]:
    if not raw.endswith(b"\n"):
        raise BundleError(f"Line {number:,} of metrics.jsonl is too long, or was cut off.")
    try:
        placed, line = _PLACES.decode(raw), _LINES.decode(raw)
    except _UNREADABLE as error:
        raise BundleError(f"Line {number:,} of metrics.jsonl can't be read: {error}.") from None
    if placed.n != number:
        raise BundleError(f"Line {number:,} of metrics.jsonl says that it is line {placed.n:,}.")
    return {name: value for name, value in line.items() if value is not None}


def _check_checkpoints(folder: RunFolder, manifest: Manifest, lines: int) -> None:
    hashes = {entry.name: entry.sha256 for entry in manifest.files}
    for name in hashes:
        if not name.startswith("checkpoints/"):
            continue
        stem = name.rpartition(".")[0]
        if any(f"{stem}{suffix}" not in hashes for suffix in (".zip", ".pt", ".json")):
            raise BundleError(f"The checkpoint {stem} isn't whole.")
        if name.endswith(".zip"):
            _check_facts(CheckpointFile(folder.place(name)), hashes[name], lines)


def _check_facts(file: CheckpointFile, sha256: str, lines: int) -> None:
    try:
        facts = _FACTS.decode(file.facts_path.read_bytes())
    except _UNREADABLE as error:
        raise BundleError(f"checkpoints/{file.facts_path.name} can't be read: {error}.") from None
    if facts.timesteps != file.timesteps or facts.sha256 != sha256:
        raise BundleError(f"checkpoints/{file.facts_path.name} speaks of another checkpoint.")
    if facts.lines > lines:
        raise BundleError(
            f"The checkpoint of step {file.timesteps:,} counts {facts.lines:,} lines of metrics, "
            f"the bundle has {lines:,}."
        )


def _check_evaluations(folder: RunFolder) -> None:
    records = {path.stem for path in folder.evaluations}
    files = EvaluationFiles(folder.evaluations_path)
    for path in sorted(folder.evaluations_path.glob("*")):
        evaluation_id = path.name.partition(".")[0]
        if evaluation_id not in records:
            raise BundleError(f"evaluations/{path.name} belongs to no evaluation.")
        if path.suffix == ".json":
            _check_evaluation(path)
        elif path.suffix == ".gz":
            _check_steps(path)
        else:
            _check_video(files.video(evaluation_id))


def _check_evaluation(path: Path) -> None:
    name = f"evaluations/{path.name}"
    try:
        found = _EVALUATIONS.decode(path.read_bytes())
    except _UNREADABLE as error:
        raise BundleError(f"{name} can't be read: {error}.") from None
    if found.id != path.stem or not found.status.is_over:
        raise BundleError(f"{name} is of another evaluation, or of one that isn't over.")


def _check_steps(path: Path) -> None:
    try:
        with gzip.open(path) as packed:
            content = packed.read(LARGEST_REPLAY + 1)
        if len(content) > LARGEST_REPLAY:
            raise BundleError(f"evaluations/{path.name} is too large.")
        _REPLAYS.decode(content)
    except (*_UNREADABLE, OSError, EOFError, zlib.error):
        raise BundleError(f"evaluations/{path.name} can't be read.") from None


def _check_video(path: Path) -> None:
    with path.open("rb") as file:
        begin = file.read(8)
    if begin[4:] != b"ftyp" or path.stat().st_size > LARGEST_VIDEO:
        raise BundleError(f"evaluations/{path.name} is no MP4, or too large.")


def _check_small_ones(folder: RunFolder) -> None:
    for policy in (folder.policy, folder.best_policy):
        path = policy.with_suffix(".json")
        if path.is_file():
            _decode(path.name, path.read_bytes(), Count)
    try:
        Findings(folder.load_insights())
    except (*_UNREADABLE, LookupError, TypeError):
        raise BundleError("insights.json can't be read.") from None


def _check_code(folder: RunFolder, config: RunConfig) -> None:
    """Make sure that the code that people read is the code that is run."""
    code = (config.reward_code or "").encode()
    if code != (folder.reward.read_bytes() if folder.reward.is_file() else b""):
        raise BundleError("reward.py is another one than config.json has.")


def _check_events(content: bytes) -> list[EventEntry]:
    try:
        found: list[EventEntry] = _EVENTS.decode(content)
    except _UNREADABLE as error:
        raise BundleError(f"events.json can't be read: {error}.") from None
    return found


def _decode(name: str, content: bytes, kind: Any) -> Any:  # noqa: ANN401 - whatever kind says
    try:
        return msgspec.json.decode(content, type=kind)
    except _UNREADABLE as error:
        raise BundleError(f"{name} can't be read: {error}.") from None
