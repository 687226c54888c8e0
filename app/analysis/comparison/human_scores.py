"""Scores of runs relative to human play, where they were measured on its task."""

from app.analysis.comparison.tasks import differences_from_reference, has_default_task
from app.catalog.environments import human_normalized, reference_score
from app.evaluation import Evaluation
from app.run_config import readable_config
from storage.records import RunRecord, ScoreKind


def human_normalized_score(
    run: RunRecord, score: float | None, kind: ScoreKind | None
) -> float | None:
    """Return a run's score relative to random (0) and human (1) play.

    None if these aren't known, were measured on another task, or if it is no evaluation. The
    environment as it is counts as the task of human play.
    """
    found = human_normalized(run.env_id, score)
    if found is None or kind is None or kind is ScoreKind.TRAINING_MEAN:
        return None
    if readable_config(run) is None:
        return None
    return found if has_default_task(run, kind) or _is_of_reference(run, kind) else None


def human_normalized_evaluation(run: RunRecord, evaluation: Evaluation) -> float | None:
    """Return the mean return of an evaluation relative to random (0) and human (1) play.

    None as for scores, for recordings, and with the disturbances of training.
    """
    if evaluation.kind != "evaluation" or evaluation.disturbances:
        return None
    return human_normalized_score(run, evaluation.mean_return, ScoreKind.FINAL_EVALUATION)


def _is_of_reference(run: RunRecord, kind: ScoreKind) -> bool:
    reference = reference_score(run.env_id)
    return reference is not None and not differences_from_reference(run, kind, reference)
