"""Taking runs along as one visitor may: every call checks again whether they may."""

from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from typing import Protocol

from app.accounts.visitors import Visitor
from app.core.events import Event
from app.sharing.bundle import Bundle
from app.sharing.publishing import Parcel, Publication, Wish, check_token
from app.sharing.pulling import PullWish
from app.sharing.sharing import Sharing
from app.sharing.versions import Version
from storage.records.runs import RunRecord


class _Runs(Protocol):
    """Who knows what the visitor may do with a run."""

    visitor: Visitor

    def get(self, run_id: str) -> Awaitable[RunRecord]:
        """Return a run that the visitor may look at."""

    def changeable_run(self, run_id: str, *, doing: str) -> Awaitable[RunRecord]:
        """Return a run that the visitor may change, and note that they do."""

    def room(self) -> Awaitable[int | None]:
        """Return how many bytes more the visitor's runs may take."""

    def check_may_write_code(self, what: str) -> Awaitable[None]:
        """Make sure that the visitor may bring code in."""

    def note_sharing(self, action: str, run: RunRecord, **data: str) -> Awaitable[None]:
        """Note what the visitor did with a run of their own, too."""

    def saved_token(self) -> str | None:
        """Return the Hugging Face token of the visitor's profile, if it has one."""


class SharingAccess:
    """What `Sharing` does, for one visitor."""

    def __init__(self, sharing: Sharing, runs: _Runs) -> None:
        self._sharing = sharing
        self._runs = runs

    @property
    def changed(self) -> Event[[str]]:
        """Something about what can be taken along of a run is new; whose id tells nobody more."""
        return self._sharing.changed

    async def versions(self, run_id: str) -> Sequence[Version]:
        """Return the versions of a run's model, newest first."""
        return await self._sharing.versions(await self._runs.get(run_id))

    async def pin(self, run_id: str, name: str, *, on: bool) -> None:
        """Keep a checkpoint for good, or let newer ones take its place."""
        run = await self._runs.changeable_run(run_id, doing="run_version_pinned")
        await self._sharing.pin(run, name, on=on)

    async def bundle(self, run_id: str) -> Bundle:
        """Return a run packed into one file."""
        return await self._sharing.bundle(await self._runs.get(run_id))

    async def tensorboard(self, run_id: str) -> Iterator[bytes]:
        """Return a run's metrics as an event file of TensorBoard, piece by piece."""
        return self._sharing.exports.tensorboard(await self._runs.get(run_id))

    async def onnx(self, run_id: str) -> bytes:
        """Return a zip with a run's newest policy as ONNX and a script that plays it."""
        return await self._sharing.exports.onnx(await self._runs.get(run_id))

    async def take_in(self, body: AsyncIterator[bytes]) -> RunRecord:
        """Make a run of the visitor's own of a bundle."""
        visitor = self._runs.visitor
        # A checkpoint is a pickle: whoever made it may let a worker do anything.
        await self._runs.check_may_write_code("a bundle")
        room = await self._runs.room()
        owner = None if visitor.person is None else visitor.person.id
        run = await self._sharing.imports.take_in(body, owner=owner, room=room)
        await self._runs.note_sharing("run_imported", run)
        return run

    async def pull(self, wish: PullWish) -> RunRecord:
        """Make a run of the visitor's own of a public model of the Hub."""
        visitor = self._runs.visitor
        # A model is a pickle: whoever made it may let a worker do anything.
        await self._runs.check_may_write_code("a model of the Hub")
        await self._runs.room()
        owner = None if visitor.person is None else visitor.person.id
        run = await self._sharing.pulls.pull(wish, owner=owner)
        await self._runs.note_sharing("run_imported", run, repo_id=wish.repo_id)
        return run

    @property
    def has_profile(self) -> bool:
        """Whether the visitor has a profile that could keep a token: not without accounts."""
        return self._runs.visitor.person is not None

    def has_saved_token(self) -> bool:
        """Whether the visitor's profile has a Hugging Face token."""
        return self._runs.saved_token() is not None

    async def preview(self, run_id: str, wish: Wish) -> tuple[Parcel, dict[str, int | None]]:
        """Return what would be published: the card, and the files with their sizes."""
        return await self._sharing.publishing.preview(await self._runs.get(run_id), wish)

    async def publish(self, run_id: str, wish: Wish, token: str | None) -> Publication:
        """Begin to publish a run, with a token that was given or the one of the profile."""
        run = await self._runs.changeable_run(run_id, doing="run_published")
        checked = check_token(token or self._runs.saved_token())
        begun = await self._sharing.publishing.start(run, wish, checked)
        await self._runs.note_sharing("run_published", run, repo_id=wish.repo_id)
        return begun

    async def publication(self, run_id: str) -> Publication | None:
        """Return how publishing a run goes or went; None: it was never tried."""
        return await self._sharing.publishing.get(await self._runs.get(run_id))
