"""Requests to a worker that trains: use other values, send the policy."""

import asyncio
from collections import deque
from typing import Any

from app.protocol import commands, messages
from app.workers import PackedPolicy, ProtocolError, Worker, WorkerGoneError

_Change = tuple[messages.Change, asyncio.Future[None]]


class WorkerRequests:
    """Sends requests once the worker has its job, and tracks those that it hasn't answered."""

    def __init__(self) -> None:
        self._worker: Worker | None = None
        self._is_settled = asyncio.Event()
        """Set once the worker has its job, or there won't be one."""
        self._changes: deque[_Change] = deque()
        self._policy: asyncio.Future[PackedPolicy] | None = None

    def begin(self, worker: Worker) -> None:
        """Allow requests: the worker has its job."""
        self._worker = worker
        self._is_settled.set()

    async def change(self, change: messages.Change) -> None:
        """Send a change, and return once the worker confirms it.

        Raises:
            WorkerGoneError: if the run ends first.
        """
        worker = await self._ready()
        done = asyncio.get_running_loop().create_future()
        self._changes.append((change, done))
        worker.send(messages.encode(change))
        # The change still applies if the caller is canceled.
        await asyncio.shield(done)

    def confirmed_change(self) -> _Change:
        """Return the change that the worker just confirmed: what was sent, not what it reports.

        Raises:
            ProtocolError: if none was requested.
        """
        if not self._changes:
            raise ProtocolError("a change that was not requested")
        return self._changes.popleft()

    async def policy(self) -> PackedPolicy:
        """Return the current policy once the worker has sent it.

        Raises:
            WorkerGoneError: if the run ends first.
        """
        worker = await self._ready()
        if self._policy is None:
            self._policy = asyncio.get_running_loop().create_future()
            worker.send(messages.encode(commands.SendPolicy()))
        # The caller may be canceled; others may wait for the same policy.
        return await asyncio.shield(self._policy)

    def resolve_policy(self, policy: PackedPolicy) -> None:
        """Pass the policy that the worker sent to all waiting callers."""
        waiting, self._policy = self._policy, None
        if waiting is not None:
            waiting.set_result(policy)

    def close(self) -> None:
        """Fail all pending requests: the run is over."""
        self._worker = None
        self._is_settled.set()
        _fail([done for _, done in self._changes])
        _fail([] if self._policy is None else [self._policy])
        self._changes.clear()
        self._policy = None

    async def _ready(self) -> Worker:
        await self._is_settled.wait()
        if self._worker is None:
            raise WorkerGoneError
        return self._worker


def _fail(futures: list[asyncio.Future[Any]]) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(WorkerGoneError())
            # Mark it as retrieved: the requester may be gone.
            future.exception()
