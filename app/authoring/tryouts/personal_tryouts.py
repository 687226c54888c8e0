"""Tryouts as one visitor may use them: every call checks again who asks."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.accounts.visitors import Visitor
from app.authoring.tryouts.demonstrations import Demonstrations
from app.authoring.tryouts.random_scores import RandomScore
from app.authoring.tryouts.tryout import Tryout
from app.authoring.tryouts.tryouts import Tryouts
from app.protocol.commands import TryoutMode
from storage.files.demonstrations import Demonstration


@dataclass(frozen=True, slots=True)
class PersonalTryouts:
    """What `Tryouts` and `Demonstrations` do, for one visitor."""

    visitor: Visitor
    tryouts: Tryouts
    demonstrations: Demonstrations

    async def start(self, env_id: str, mode: TryoutMode) -> Tryout:
        """Try an environment out; see `Tryouts.start`."""
        return await self.tryouts.start(self.visitor, env_id, mode=mode)

    def get(self, tryout_id: str) -> Tryout:
        """Return a tryout of the visitor's own that goes on; see `Tryouts.get`."""
        return self.tryouts.get(self.visitor, tryout_id)

    async def end(self, tryout_id: str) -> None:
        """End a tryout, whoever looks."""
        await self.tryouts.end_by_id(tryout_id)

    async def random_score(self, env_id: str) -> RandomScore | None:
        """Return what random actions are worth, if it was measured."""
        return await self.tryouts.random_scores.get(env_id)

    async def keep(self, tryout_id: str) -> Demonstration:
        """Keep the episode that was just played; see `Demonstrations.keep`."""
        return await self.demonstrations.keep(self.visitor, self.get(tryout_id))

    async def kept(self, env_id: str) -> Sequence[Demonstration]:
        """Return the visitor's demonstrations of an environment, newest first."""
        return await self.demonstrations.list(self.visitor, env_id)

    async def delete_kept(self, demonstration_id: str) -> None:
        """Delete a demonstration."""
        await self.demonstrations.delete(self.visitor, demonstration_id)
