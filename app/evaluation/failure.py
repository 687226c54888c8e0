"""Say why an evaluation could not be brought to its end."""

import logging
from dataclasses import replace

from app.core.errors import InputError
from app.evaluation.evaluation import Evaluation, EvaluationStatus
from app.evaluation.register import EvaluationRegister, UnderWay
from app.protocol.user_code import UserCodeError
from app.runs.service import RunService
from app.workers.errors import JobError, WorkerGoneError
from storage.errors import RunNotFoundError, WrongStateError
from storage.records.runs import EventLevel

_log = logging.getLogger(__name__)


async def fail(
    trainer: RunService, register: EvaluationRegister, known: UnderWay, error: Exception
) -> None:
    """End one with a reason, on its record and in the run's log."""
    if known.over.is_set():
        return
    kind, reason = known.evaluation.kind, _reason(error)
    known.evaluation = replace(known.evaluation, error_line=getattr(error, "line", None))

    async def tell(ended: Evaluation) -> None:
        text, level = f"{kind.capitalize()} failed: {reason}", EventLevel.WARNING
        await trainer.tell(ended.run_id, f"{kind}_failed", text, level=level)

    await register.end(known, EvaluationStatus.FAILED, reason, tell)


def _reason(error: Exception) -> str:
    match error:
        case WorkerGoneError() if str(error) == str(WorkerGoneError()):
            return "The worker ended without a word; something killed it, or its run ended."
        case JobError():
            return f"The worker could not play to the end: {error}."
        case OSError():
            reason = error.strerror or type(error).__name__
            return f"What it found could not be stored ({reason})."
        case InputError() | WrongStateError() | RunNotFoundError() | UserCodeError():
            return str(error)
    _log.error("An evaluation was lost", exc_info=error)
    return f"The lab could not follow it ({type(error).__name__})."
