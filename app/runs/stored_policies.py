"""The policies of a run that lie on disk, found by their address."""

from dataclasses import dataclass
from pathlib import Path

from app.core.errors import InputError, short
from app.protocol import messages
from storage.files.fork_files import ForkFiles
from storage.files.run_folder import RunFolder

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
        """Read an address; whether there is such a policy, only its run knows."""
        run_id, _, which = text.partition("@")
        if which in {"", NEWEST}:
            return cls(run_id, None)
        is_step = which.isascii() and which.isdecimal() and len(which) <= _LONGEST_STEP
        return cls(run_id, int(which) if is_step else which)


@dataclass(frozen=True, slots=True)
class Policy:
    """The weights and normalisation of a policy; only workers open them."""

    weights: bytes
    timesteps: int | None

    @property
    def frame(self) -> bytes:
        """The policy as a worker takes it."""
        return messages.encode_weights(self.weights, timesteps=self.timesteps or 0)


def find_policy(folder: RunFolder, which: Which, *, field: str) -> tuple[Path, int | None] | None:
    """Return where a policy lies and its step; None if the run has none at all yet.

    Raises:
        InputError: if it has others, but not this one; `field` is what was asked for.
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
    called = "The policy to begin with" if field == "init_from" else field
    raise InputError(
        f"{called} must be best or a step of which run {folder.path.name} has one ({steps}), "
        f"got {short(which)}.",
        field=field,
    )


def read_policy(folder: RunFolder, which: Which, *, field: str) -> Policy | None:
    """Return a policy; None if the run has none at all yet.

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
            # The run trains, and this checkpoint just made room for a newer one.
            continue
    return None


def _stored(folder: RunFolder) -> dict[int, Path]:
    """Return the policies of checkpoints, and of moments just before a live change."""
    forks = ForkFiles(folder.forks_path)
    kept = {step: forks.policy_path(step) for step in forks.steps()}
    return kept | {file.timesteps: file.policy for file in folder.checkpoints}
