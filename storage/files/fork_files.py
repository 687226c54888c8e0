"""Policies that a run had just before it was changed: places to which one can return."""

from dataclasses import dataclass
from pathlib import Path

from storage.files.atomic import Content, write_atomically

_KEPT = 20
"""More changes than anybody makes by hand; of a program that makes more, the newest stay."""


@dataclass(frozen=True, slots=True)
class ForkFiles:
    """A folder with one policy for each step at which a run was changed."""

    path: Path

    def save(self, timesteps: int, policy: Content) -> None:
        """Keep a policy."""
        self.path.mkdir(exist_ok=True)
        write_atomically(self.policy_path(timesteps), policy)
        for old in self.steps()[:-_KEPT]:
            self.policy_path(old).unlink(missing_ok=True)

    def steps(self) -> list[int]:
        """Return the steps that have one, earliest first."""
        if not self.path.is_dir():
            return []
        names = (file.stem for file in self.path.glob("*.pt"))
        return sorted(int(name) for name in names if name.isdecimal())

    def policy_path(self, timesteps: int) -> Path:
        """Return where the policy of a step lies, which is one of `steps`."""
        return self.path / f"{timesteps}.pt"

    def cut_back(self, timesteps: int) -> None:
        """Forget those after a step: the run goes on before them."""
        for step in self.steps():
            if step > timesteps:
                self.policy_path(step).unlink(missing_ok=True)
