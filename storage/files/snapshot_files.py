"""Policy snapshots that a run had just before a change, from which new runs can branch."""

from dataclasses import dataclass
from pathlib import Path

from storage.files.atomic import Content, write_atomically

_KEPT = 20
"""More changes than a user makes by hand; if a program makes more, only the newest are kept."""


@dataclass(frozen=True, slots=True)
class SnapshotFiles:
    """A folder with one policy snapshot for each step at which a run was changed."""

    path: Path

    def save(self, timesteps: int, policy: Content) -> None:
        """Store a policy and remove the oldest ones."""
        self.path.mkdir(exist_ok=True)
        write_atomically(self.policy_path(timesteps), policy)
        for old in self.steps()[:-_KEPT]:
            self.policy_path(old).unlink(missing_ok=True)

    def steps(self) -> list[int]:
        """Return the steps that have a snapshot, earliest first."""
        if not self.path.is_dir():
            return []
        names = (file.stem for file in self.path.glob("*.pt"))
        return sorted(int(name) for name in names if name.isdecimal())

    def policy_path(self, timesteps: int) -> Path:
        """Return the path of the policy of a step, which is one of `steps`."""
        return self.path / f"{timesteps}.pt"

    def cut_back(self, timesteps: int) -> None:
        """Remove all snapshots after this step, from which the run resumes."""
        for step in self.steps():
            if step > timesteps:
                self.policy_path(step).unlink(missing_ok=True)
