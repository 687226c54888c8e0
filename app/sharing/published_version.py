"""Which version of a run is published, and what is known of exactly this policy."""

import io
import re
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.core import InputError, shorten
from app.evaluation import Evaluation
from app.run_config import reward_code_of
from app.sharing.versions import (
    BEST,
    Version,
    choose_evaluation,
    evaluations_of,
    periodic_evaluations,
    versions_of,
)
from storage import WrongStateError
from storage.files import RunFolder
from storage.records import RunRecord

_CHECKPOINT = re.compile(r"(?:checkpoint-)?(\d{1,15})(?:\.zip)?", re.ASCII)
_MEMBER = "model.zip"
"""The model in a checkpoint, in SB3's format."""
_SYSTEM_INFO = "system_info.txt"
_LARGEST_INFO = 10_000
_LARGEST_MODEL = 256 << 20
_UNREADABLE = (zipfile.BadZipFile, zlib.error, ValueError, EOFError, RuntimeError)
"""Errors of zips that are damaged, or use features that SB3's don't."""
_LIBRARY = re.compile(
    r"- (Python|Stable-Baselines3|PyTorch|Numpy|Gymnasium): ([\w.+-]{1,40})", re.ASCII
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """How the best policy was chosen."""

    evaluations: int
    """The number of periodic evaluations among which it was the best."""
    mean_return: float
    """Its own mean in the evaluation for which it was chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedVersion:
    """A version with the facts of its own policy, none of which is from another step."""

    version: Version
    timesteps: int | None
    evaluation: Evaluation | None
    videos: tuple[str, ...]
    """The evaluations that have a video of it, newest first."""
    selection: Selection | None
    """Set if and only if it is the best policy."""
    training_mean: float | None
    """The mean return of the training episodes before its step."""
    model: Path
    """Its file, or the checkpoint that contains it as `member`."""
    member: str | None
    normalization: Path | None
    """The pickled `VecNormalize` that belongs to it, if it is stored."""
    versions: Mapping[str, str]
    """The versions of the libraries that wrote the model, as its file says."""


def parse_version(given: object) -> int | str | None:
    """Return the address of a version: `best`, or the step of a checkpoint; None: the final one.

    Raises:
        InputError: if it is neither.
    """
    if given in (None, "", "final"):
        return None
    if given == BEST or (isinstance(given, int) and not isinstance(given, bool) and given >= 0):
        return given
    if isinstance(given, str) and (step := _CHECKPOINT.fullmatch(given)) is not None:
        return int(step[1])
    raise InputError(
        f"checkpoint must be best or the step of a pinned checkpoint, got {shorten(given)}. Omit "
        "it to publish the final model.",
        field="checkpoint",
    )


def publishable_versions(
    run: RunRecord, folder: RunFolder, evaluations: Sequence[Evaluation]
) -> list[Version]:
    """Return the versions that can be published: newer checkpoints never replace them."""
    versions = versions_of(run, folder, evaluations)
    return [one for one in versions if one.kind != "checkpoint" or one.pinned]


def published_version(
    run: RunRecord, folder: RunFolder, which: int | str | None, evaluations: Sequence[Evaluation]
) -> PublishedVersion:
    """Return the version to publish; `evaluations` must be newest first.

    Raises:
        WrongStateError: if the run has no model yet.
        InputError: if it has no such version, or the checkpoint isn't pinned.
    """
    version = _find(run, folder, which, evaluations)
    step = version.timesteps
    if step is None and version.kind == "final":
        step = run.progress.timesteps
    model, member = _model_file(folder, version)
    own = evaluations_of(step, evaluations, is_best=version.kind == "best")
    return PublishedVersion(
        version=version,
        timesteps=step,
        evaluation=choose_evaluation(own, has_reward=reward_code_of(run) is not None),
        videos=tuple(one.id for one in own if one.has_video),
        selection=_selection(folder, step) if version.kind == "best" else None,
        training_mean=_training_mean(run, folder, version, step),
        model=model,
        member=member,
        normalization=_normalization(folder, version),
        versions=_library_versions(model, member),
    )


def _find(
    run: RunRecord, folder: RunFolder, which: int | str | None, evaluations: Sequence[Evaluation]
) -> Version:
    versions = versions_of(run, folder, evaluations)
    kind = {None: "final", BEST: "best"}.get(which if isinstance(which, str) else None)
    for version in versions:
        is_checkpoint = version.kind == "checkpoint" and version.timesteps == which
        if is_checkpoint and not version.pinned:
            raise InputError(
                f"The checkpoint of step {version.timesteps:,} isn't pinned, so a newer one may "
                "replace it. Pin it first.",
                field="checkpoint",
            )
        if is_checkpoint or (version.kind == kind and not isinstance(which, int)):
            return version
    if which is None:
        raise WrongStateError(run.id, run.status, "be published: it has no model yet")
    known = publishable_versions(run, folder, evaluations)
    names = ", ".join(str(one.address or "the final model") for one in known) or "none"
    raise InputError(
        f"Run {run.id} has no version {which} to publish. It has: {names}.", field="checkpoint"
    )


def _model_file(folder: RunFolder, version: Version) -> tuple[Path, str | None]:
    if version.kind != "checkpoint":
        return folder.delivered[version.name], None
    path = folder.artifacts()[version.name].path
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.getinfo(_MEMBER).file_size <= _LARGEST_MODEL:
                return path, _MEMBER
    except (OSError, KeyError, *_UNREADABLE):
        pass
    raise InputError(
        f"The checkpoint of step {version.timesteps:,} has no readable model. Publish another "
        "version.",
        field="checkpoint",
    )


def _normalization(folder: RunFolder, version: Version) -> Path | None:
    names = {"final": "vecnormalize.pkl", "best": "best-vecnormalize.pkl"}
    path = folder.delivered.get(names.get(version.kind, ""))
    return path if path is not None and path.is_file() else None


def _selection(folder: RunFolder, step: int | None) -> Selection | None:
    found = periodic_evaluations(folder.metrics)
    own = [mean for timesteps, mean in found if timesteps == step]
    return Selection(evaluations=len(found), mean_return=own[-1]) if own else None


def _training_mean(
    run: RunRecord, folder: RunFolder, version: Version, step: int | None
) -> float | None:
    """Return the mean return of training at the version's step, if it was stored."""
    if version.kind == "checkpoint":
        files = (file for file in folder.checkpoints if file.timesteps == step)
        return next((file.facts().get("mean_reward") for file in files), None)
    is_newest = version.kind == "final" and step == run.progress.timesteps
    return (run.latest or {}).get("mean_reward") if is_newest else None


def _library_versions(model: Path, member: str | None) -> dict[str, str]:
    """Read the text in which SB3 stores the versions; nothing is unpickled."""
    try:
        with zipfile.ZipFile(model) as archive:
            if member is None:
                return _parse_versions(archive)
            with zipfile.ZipFile(io.BytesIO(archive.read(member))) as inner:
                return _parse_versions(inner)
    except (OSError, KeyError, *_UNREADABLE):
        return {}


def _parse_versions(archive: zipfile.ZipFile) -> dict[str, str]:
    with archive.open(_SYSTEM_INFO) as file:
        text = file.read(_LARGEST_INFO).decode(errors="replace")
    return dict(_LIBRARY.findall(text))
