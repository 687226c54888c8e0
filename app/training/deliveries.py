"""Files that a worker delivers in pieces, stored once they are whole."""

from app.storage_thread import StorageThread
from app.training.backend import Piece, ProtocolError
from app.training.feed import RunFeed
from storage.run_folder import RunFolder, write_atomically

_LARGEST_FILE = 512 << 20


class Deliveries:
    """Stores the models and checkpoints of one run."""

    def __init__(
        self, feed: RunFeed, folder: RunFolder, disk: StorageThread, *, keep_checkpoints: int
    ) -> None:
        self.resumable_step: int | None = None
        """Where the run could go on, if it ended now."""
        self._feed = feed
        self._folder = folder
        self._disk = disk
        self._keep = keep_checkpoints
        self._content = bytearray()
        self._policy = bytearray()
        """The policy of the checkpoint that comes next."""

    async def take(self, piece: Piece, *, lines_written: int) -> None:
        """Add a piece; with the last one the file is stored.

        Raises:
            ProtocolError: if it is too large, or nothing that a training delivers.
        """
        if len(self._content) + len(piece.content) > _LARGEST_FILE:
            raise ProtocolError(f"a file of more than {_LARGEST_FILE >> 20} MB")
        self._content += piece.content
        if not piece.header.last:
            return
        content, self._content = self._content, bytearray()
        header = piece.header
        if header.name == "checkpoint.pt":
            self._policy = content
            return
        if header.name == "checkpoint.zip":
            facts = {"timesteps": header.timesteps, "lines": min(header.lines, lines_written)}
            save = self._folder.save_checkpoint
            await self._disk(save, content, facts, policy=self._policy, keep=self._keep)
            self.resumable_step = header.timesteps
            self._feed.set_has_checkpoint()
            return
        path = self._folder.delivered.get(header.name)
        if path is None:
            raise ProtocolError(f"an unexpected file {header.name}")
        await self._disk(write_atomically, path, content)
        if path == self._folder.policy:
            await self._disk(self._folder.save_policy_step, header.timesteps)
        if path == self._folder.model:
            self._feed.set_has_model()
