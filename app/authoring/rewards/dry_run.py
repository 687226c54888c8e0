"""Run a reward on recorded episodes, in a sandboxed worker of its own."""

import re

from app.authoring.rewards.errors import CannotCheckError
from app.authoring.rewards.recordings import FILE
from app.catalog.environments import EnvSpec
from app.code_check import Problem, Severity
from app.protocol import REWARD_FILE, UserCodeError, commands, messages
from app.workers import JobError, JobFailedError, NoWorkerError, WorkerGoneError, WorkerPool

_WITHIN_S = 25.0


class DryRun:
    """Computes rewards of recorded episodes in a worker."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool

    async def of(
        self, code: str, spec: EnvSpec, recording: bytes
    ) -> messages.RewardChecked | Problem:
        """Return the computed rewards, or the error in the code.

        Raises:
            CannotCheckError: if no worker can be started.
        """
        components = tuple(component.attribute for component in spec.observed)
        command = commands.CheckReward(code=code, components=components)
        file = (FILE, recording)
        try:
            async with self._pool.job(command, file=file, within_s=_WITHIN_S) as job:
                return await job.answer(messages.RewardChecked)
        except (UserCodeError, JobFailedError) as error:
            return _problem(code, str(error), error.line)
        except NoWorkerError as error:
            raise CannotCheckError(f"The worker could not be started: {error}.") from error
        except WorkerGoneError as error:
            return _problem(code, f"The code ended the worker that ran it: {error}.")
        except JobError as error:
            return _problem(code, f"The worker was ended because of what the code did: {error}.")


def _problem(code: str, message: str, line: int | None = None) -> Problem:
    """Return the problem at its line, or at the first line of the reward if it is unknown."""
    where = REWARD_FILE if line is None else f"{REWARD_FILE}, line {line}"
    text = message.removeprefix(f"{where}: ")
    return Problem(line=line or _begin(code), column=1, severity=Severity.ERROR, message=text)


def _begin(code: str) -> int:
    begin = re.search(r"^(?:async )?(?:def|class) reward", code, re.IGNORECASE | re.MULTILINE)
    return 1 + code.count("\n", 0, begin.start()) if begin else 1
