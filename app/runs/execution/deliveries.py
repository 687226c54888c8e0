"""Store the files that a worker delivers in pieces once they are complete."""

from collections.abc import Awaitable, Callable

from app.core import StorageThread
from app.protocol import messages
from app.runs.state import RunFeed
from app.workers import Piece, ProtocolError
from storage.files import RunFolder, write_atomically

OnCheckpoint = Callable[[int, bytes], Awaitable[None]]

_LARGEST_FILE = 512 << 20


class Deliveries:
    """Stores the models and checkpoints of one run."""

    def __init__(
        self,
        feed: RunFeed,
        folder: RunFolder,
        disk: StorageThread,
        *,
        keep_checkpoints: int,
        on_checkpoint: OnCheckpoint,
    ) -> None:
        """`on_checkpoint` gets the policy of every checkpoint, as a frame for a worker."""
        self.resumable_step: int | None = None
        """The step from which the run could be resumed if it ended now."""
        self._feed = feed
        self._folder = folder
        self._disk = disk
        self._keep = keep_checkpoints
        self._on_checkpoint = on_checkpoint
        self._content = bytearray()
        self._policy = bytearray()
        """The policy of the checkpoint that the worker sends next."""

    async def take(self, piece: Piece, *, lines_written: int) -> None:
        """Add a piece; the last one stores the file.

        Raises:
            ProtocolError: if the file is too large or not one that training delivers.
        """
        if len(self._content) + len(piece.content) > _LARGEST_FILE:
            raise ProtocolError(f"a file of more than {_LARGEST_FILE >> 20} MB")
        self._content += piece.content
        if not piece.header.last:
            return
        content, self._content = self._content, bytearray()
        if piece.header.name == "checkpoint.pt":
            self._policy = content
        elif piece.header.name == "checkpoint.zip":
            lines = min(piece.header.lines, lines_written)
            await self._save_checkpoint(content, piece.header.timesteps, lines)
        else:
            await self._save_file(content, piece.header)

    async def _save_checkpoint(self, content: bytearray, timesteps: int, lines: int) -> None:
        score = self._mean_reward_at(lines)
        facts = {"timesteps": timesteps, "lines": lines, "mean_reward": score}
        save = self._folder.save_checkpoint
        await self._disk(save, content, facts, policy=self._policy, keep=self._keep)
        self.resumable_step = timesteps
        self._feed.set_has_checkpoint()
        policy = messages.encode_weights(bytes(self._policy), timesteps=timesteps)
        await self._on_checkpoint(timesteps, policy)

    async def _save_file(self, content: bytearray, header: messages.BlobHeader) -> None:
        path = self._folder.delivered.get(header.name)
        if path is None:
            raise ProtocolError(f"an unexpected file {header.name}")
        await self._disk(write_atomically, path, content)
        if path in (self._folder.policy, self._folder.best_policy):
            await self._disk(self._folder.save_step, path, header.timesteps)
        if path == self._folder.model:
            self._feed.set_has_model()

    def _mean_reward_at(self, line: int) -> float | None:
        """Return the mean reward at a line of metrics, None before the first measurement."""
        known = (one.get("mean_reward") for one in reversed(self._feed.lines) if one["n"] <= line)
        return next((value for value in known if value is not None), None)
