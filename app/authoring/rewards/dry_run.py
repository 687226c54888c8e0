"""Run a reward on recorded episodes, in a locked worker that does nothing else and then ends."""

import asyncio
import re
import signal

from app.authoring.rewards.errors import CannotCheckError
from app.authoring.rewards.recordings import FILE
from app.catalog.environments.spec import EnvSpec
from app.code_check.problems import Problem, Severity
from app.protocol import commands, messages
from app.protocol.user_code import REWARD_FILE, UserCodeError
from app.workers.hanging import receive_unless_hanging
from app.workers.local_worker import ProtocolError, Received, WorkerGoneError
from app.workers.pool import WorkerPool

_WITHIN_S = 25.0


class DryRun:
    """Asks a worker what a reward pays."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool

    async def of(
        self, code: str, spec: EnvSpec, recording: bytes
    ) -> messages.RewardChecked | Problem:
        """Return what was paid, or what went wrong in the code.

        Raises:
            CannotCheckError: if there is no worker, or it is lost for no fault of the code.
        """
        try:
            worker = await self._pool.start()
        except (WorkerGoneError, ProtocolError, OSError) as error:
            raise CannotCheckError(f"The worker could not be started: {error}.") from error
        components = tuple(component.attribute for component in spec.observed)
        try:
            order = commands.CheckReward(code=code, components=components)
            worker.send(messages.encode(order))
            await worker.send_file(FILE, recording)
            async with asyncio.timeout(_WITHIN_S):
                return _believe(await receive_unless_hanging(worker), code)
        except UserCodeError as error:
            return _problem(code, str(error), error.line)
        except (WorkerGoneError, ProtocolError, ConnectionError) as error:
            worker.kill()
            return _lost(code, await worker.wait(), error)
        except TimeoutError:
            return _problem(code, f"It took longer than {_WITHIN_S:g} s.")
        finally:
            worker.kill()
            await worker.wait()


def _believe(said: Received, code: str) -> messages.RewardChecked | Problem:
    match said:
        case messages.RewardChecked():
            return said
        case messages.Failed(reason=reason, line=line):
            return _problem(code, reason, line)
        case other:
            raise ProtocolError(f"{type(other).__name__} instead of what a reward pays")


def _lost(code: str, exit_code: int, error: Exception) -> Problem:
    if exit_code == -signal.SIGSYS:
        return _problem(code, "The sandbox ended the worker: the code tried what is forbidden.")
    if isinstance(error, ProtocolError):
        return _problem(code, f"The worker was ended because of what the code did: {error}.")
    return _problem(code, f"The code ended the worker that ran it (exit code {exit_code}).")


def _problem(code: str, message: str, line: int | None = None) -> Problem:
    """Return what is wrong, at its line, or where the reward begins if nobody knows it."""
    where = REWARD_FILE if line is None else f"{REWARD_FILE}, line {line}"
    text = message.removeprefix(f"{where}: ")
    return Problem(line=line or _begin(code), column=1, severity=Severity.ERROR, message=text)


def _begin(code: str) -> int:
    begin = re.search(r"^(?:async )?(?:def|class) reward", code, re.IGNORECASE | re.MULTILINE)
    return 1 + code.count("\n", 0, begin.start()) if begin else 1
