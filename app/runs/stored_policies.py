"""Find the stored policies of a run by their address."""

from dataclasses import dataclass
from pathlib import Path

from app.core import InputError, shorten
from app.protocol import messages
from storage.files import RunFolder, SnapshotFiles

BEST = "best"
"""The policy with the best periodic evaluation."""
NEWEST = "newest"

Which = int | str | None
"""A step, or `best`; None: the newest policy."""

_LONGEST_STEP = 19
_TRIES = 3


@dataclass(frozen=True, slots=True)
class PolicyAddress:
    """A policy of a run, written as `run`, `run@newest`, `run@best` or `run@step`."""

    run_id: str
    which: Which

    @classmethod
    def parse(cls, text: str) -> "PolicyAddress":
        """Read an address; whether there is such a policy is not checked."""
        run_id, _, which = text.partition("@")
        if which in {"", NEWEST}:
            return cls(run_id, None)
        is_step = which.isascii() and which.isdecimal() and len(which) <= _LONGEST_STEP
        return cls(run_id, int(which) if is_step else which)


@dataclass(frozen=True, slots=True)
class Policy:
    """The weights and normalization of a policy; only workers open them."""

    weights: bytes
    timesteps: int | None

    @property
    def frame(self) -> bytes:
        """The policy as a pipe frame for a worker."""
        return messages.encode_weights(self.weights, timesteps=self.timesteps or 0)


def find_policy(folder: RunFolder, which: Which, *, field: str) -> tuple[Path, int | None] | None:
    """Return the path of a policy and its step; None if the run has no policy yet.

    Raises:
        InputError: if it has others, but not this one; `field` names the field of the request.
    """
    if which is None:
        return folder.newest_policy()
    if which == BEST and folder.best_policy.is_file():
        return folder.best_policy, folder.step_of(folder.best_policy)
    stored = _stored(folder)
    if isinstance(which, int) and which in stored:
        return stored[which], which
    steps = ", ".join(map(str, sorted(stored))) or "none"
    if which == BEST:
        raise InputError(
            f"Run {folder.path.name} has no best policy: it wasn't evaluated while it trained. "
            f"It has policies of these steps: {steps}.",
            field=field,
        )
    name = "The policy to start with" if field == "init_from" else field
    raise InputError(
        f"{name} must be best or a step of which run {folder.path.name} has one ({steps}), "
        f"got {shorten(which)}.",
        field=field,
    )


def read_policy(folder: RunFolder, which: Which, *, field: str) -> Policy | None:
    """Return a policy; None if the run has no policy yet.

    Raises:
        InputError: as `find_policy`.
    """
    for _ in range(_TRIES):
        if (found := find_policy(folder, which, field=field)) is None:
            return None
        path, timesteps = found
        try:
            return Policy(path.read_bytes(), timesteps)
        except FileNotFoundError:
            # The run trains, and a newer checkpoint has just replaced this one.
            continue
    return None


def _stored(folder: RunFolder) -> dict[int, Path]:
    """Return the policies of checkpoints, and the snapshots taken before live changes."""
    files = SnapshotFiles(folder.snapshots_path)
    snapshots = {step: files.policy_path(step) for step in files.steps()}
    return snapshots | {file.timesteps: file.policy for file in folder.checkpoints}
