"""Validate the files of an unpacked bundle, so that other code can trust them.

Models and checkpoints are not opened here: sandboxed workers open them, as for any other run.
"""

import gzip
import zlib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
from pydantic import ValidationError

from app.analysis.doctor import Findings
from app.catalog.algorithms import get_algorithm
from app.core import input_error
from app.evaluation import Evaluation
from app.protocol import Count, MetricName, Number, messages
from app.run_config import RunConfig, RunRequest, derive, read_change, read_config
from app.sharing.archive import BundleError
from app.sharing.manifest import EventEntry, Manifest
from app.workers import LARGEST_REPLAY, LARGEST_VIDEO
from storage.files import CheckpointFile, EvaluationFiles, RunFolder

_LONGEST_LINE = 256 << 10
_MAX_NAMES = 1_000
_MAX_EVENTS = 20_000
_UNREADABLE = (msgspec.MsgspecError, UnicodeError, RecursionError)

_Text = Annotated[str, msgspec.Meta(max_length=200)]
_Inner = dict[MetricName, Number | dict[MetricName, Number]]
_LINES = msgspec.json.Decoder(dict[MetricName, Number | bool | _Text | _Inner])
_EVENTS = msgspec.json.Decoder(Annotated[list[EventEntry], msgspec.Meta(max_length=_MAX_EVENTS)])
_EVALUATIONS = msgspec.json.Decoder(Evaluation)
_REPLAYS = msgspec.json.Decoder(messages.Replay)


class _LineHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The fields that every line of metrics must have."""

    n: Count
    t: _Text
    timesteps: Count
    vec_steps: Count
    updates: Count
    episode: Count
    elapsed_s: float


class _Facts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The stored facts of a checkpoint."""

    timesteps: Count
    lines: Count
    sha256: str
    mean_reward: Number = None
    pinned: bool = False


_LINE_HEADERS = msgspec.json.Decoder(_LineHeader)
_FACTS = msgspec.json.Decoder(_Facts)


@dataclass(frozen=True, slots=True)
class Contents:
    """The validated contents of a bundle that go into the database."""

    config: RunConfig
    events: list[EventEntry]
    latest: dict[str, Any] | None
    """The newest value of every metric."""


def read_request(folder: RunFolder) -> tuple[RunConfig, RunRequest]:
    """Return a bundle's config as stored, and the request that would create it here.

    Raises:
        BundleError: if it isn't a valid config.
    """
    raw = _decode("config.json", folder.config.read_bytes(), dict[str, Any])
    try:
        given = read_config(raw)
        # Take wrappers from the raw file, so that an unknown one is refused and not dropped.
        changes = {"start": False, "wrappers": raw.get("wrappers", {})}
        return given, derive(given, changes, keeps_seed=True)
    except ValidationError as error:
        problem = input_error([dict(one) for one in error.errors()])
        raise BundleError(f"config.json: {problem}") from None


def check_contents(
    folder: RunFolder, manifest: Manifest, events: bytes, given: RunConfig, request: RunRequest
) -> Contents:
    """Check every file of a bundle that this process will ever read.

    Raises:
        InputError: if anything in it can't be used here.
    """
    config = _config(given, request)
    if (manifest.run.env_id, manifest.run.algorithm) != (config.env_id, config.algorithm):
        raise BundleError("The manifest and config.json describe different runs.")
    lines, latest = _check_metrics(folder.metrics)
    _check_checkpoints(folder, manifest, lines)
    _check_evaluations(folder)
    _check_small_files(folder)
    _check_code(folder, config)
    return Contents(config, _check_events(events), latest)


def assign_to_run(folder: RunFolder, run_id: str, config: RunConfig) -> None:
    """Rewrite the files of a checked bundle to belong to a new run."""
    folder.save_config(config.model_dump())
    files = EvaluationFiles(folder.evaluations_path)
    for path in folder.evaluations:
        found = replace(_EVALUATIONS.decode(path.read_bytes()), run_id=run_id)
        files.save(found.id, asdict(found), is_over=True)


def _config(given: RunConfig, request: RunRequest) -> RunConfig:
    """Validate a config like a new request; keep its engine and its recorded changes."""
    checked = RunConfig.from_request(request)
    if given.env_code != checked.env_code:
        raise BundleError(
            f"{given.env_id} is a different environment in this lab. Add the code from config.json "
            "(env_code) with Write your own, under another name."
        )
    algorithm = get_algorithm(checked.algorithm)
    for change in given.changes:
        read_change(algorithm, change.values)
    engine = given.engine_used if checked.engine_used == "fast" else "sb3"
    kept: dict[str, Any] = {
        "engine_used": engine,
        "engine_reason": given.engine_reason,
        "changes": given.changes,
        "schedule_timesteps": given.schedule_timesteps,
        "origin": given.origin,
    }
    return checked.model_copy(update=kept)


def _check_metrics(path: Path) -> tuple[int, dict[str, Any] | None]:
    """Check every line; return the number of lines and the newest value of each metric."""
    count, latest = 0, dict[str, Any]()
    if not path.is_file():
        return 0, None
    with path.open("rb") as file:
        while raw := file.readline(_LONGEST_LINE):
            count += 1
            latest.update(_line(raw, count))
            if len(latest) > _MAX_NAMES:
                raise BundleError(f"metrics.jsonl has more than {_MAX_NAMES:,} metrics.")
    return count, {k: v for k, v in latest.items() if k not in ("n", "t")} or None


def _line(raw: bytes, number: int) -> dict[str, Any]:
    if not raw.endswith(b"\n"):
        raise BundleError(f"Line {number:,} of metrics.jsonl is too long or truncated.")
    try:
        header, line = _LINE_HEADERS.decode(raw), _LINES.decode(raw)
    except _UNREADABLE as error:
        raise BundleError(f"Line {number:,} of metrics.jsonl can't be read: {error}.") from None
    if header.n != number:
        raise BundleError(f"Line {number:,} of metrics.jsonl says that it is line {header.n:,}.")
    return {name: value for name, value in line.items() if value is not None}


def _check_checkpoints(folder: RunFolder, manifest: Manifest, lines: int) -> None:
    hashes = {entry.name: entry.sha256 for entry in manifest.files}
    for name in hashes:
        if not name.startswith("checkpoints/"):
            continue
        stem = name.rpartition(".")[0]
        if any(f"{stem}{suffix}" not in hashes for suffix in (".zip", ".pt", ".json")):
            raise BundleError(f"The checkpoint {stem} is incomplete.")
        if name.endswith(".zip"):
            _check_facts(CheckpointFile(folder.place(name)), hashes[name], lines)


def _check_facts(file: CheckpointFile, sha256: str, lines: int) -> None:
    try:
        facts = _FACTS.decode(file.facts_path.read_bytes())
    except _UNREADABLE as error:
        raise BundleError(f"checkpoints/{file.facts_path.name} can't be read: {error}.") from None
    if facts.timesteps != file.timesteps or facts.sha256 != sha256:
        raise BundleError(f"checkpoints/{file.facts_path.name} describes another checkpoint.")
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
        raise BundleError(f"{name} belongs to another evaluation, or to an unfinished one.")


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
        raise BundleError(f"evaluations/{path.name} is not an MP4, or too large.")


def _check_small_files(folder: RunFolder) -> None:
    for policy in (folder.policy, folder.best_policy):
        path = policy.with_suffix(".json")
        if path.is_file():
            _decode(path.name, path.read_bytes(), Count)
    try:
        Findings(folder.load_insights())
    except (*_UNREADABLE, LookupError, TypeError):
        raise BundleError("insights.json can't be read.") from None


def _check_code(folder: RunFolder, config: RunConfig) -> None:
    """Check that reward.py, which users read, is the code that runs."""
    code = (config.reward_code or "").encode()
    if code != (folder.reward.read_bytes() if folder.reward.is_file() else b""):
        raise BundleError("reward.py differs from the code in config.json.")


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
