"""Evaluations of policies: requests, the queue, the worker that plays, records and videos."""

from app.evaluation.evaluation import (
    EPISODES,
    MAX_EPISODES,
    MIN_FINAL_EPISODES,
    Evaluation,
    EvaluationRequest,
    EvaluationStatus,
)
from app.evaluation.service import EvaluationError, Evaluations
from app.evaluation.store import EvaluationStore

__all__ = [
    "EPISODES",
    "MAX_EPISODES",
    "MIN_FINAL_EPISODES",
    "Evaluation",
    "EvaluationError",
    "EvaluationRequest",
    "EvaluationStatus",
    "EvaluationStore",
    "Evaluations",
]
