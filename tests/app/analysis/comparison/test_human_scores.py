from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from app.analysis.comparison.human_scores import (
    human_normalized_evaluation,
    human_normalized_score,
)
from app.evaluation import Evaluation
from storage.records.runs import RunRecord, RunStatus, ScoreKind
from tests.stored_configs import stored_config

HUMAN = 14.6
CLASSIC = {"protocol": "NoFrameskip-v4"}


def pong(**values: Any) -> RunRecord:
    now = datetime.now(UTC)
    return RunRecord(
        id="id",
        name="name",
        env_id="ALE/Pong-v5",
        algorithm="PPO",
        status=RunStatus.COMPLETED,
        config=stored_config(layout=2, env_id="ALE/Pong-v5", **values),
        created_at=now,
        updated_at=now,
    )


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"env_kwargs": CLASSIC},
        {"env_kwargs": CLASSIC, "wrappers": {"sticky_actions": 0.25, "frame_stack": 4}},
    ],
)
def test_both_protocols_are_compared_with_human_play(values: dict[str, Any]) -> None:
    assert human_normalized_score(pong(**values), HUMAN, ScoreKind.FINAL_EVALUATION) == 1.0


@pytest.mark.parametrize(
    "values",
    [
        {"wrappers": {"time_limit": 1_000}},
        {"wrappers": {"frame_skip": 2}},
        {"env_kwargs": {"repeat_action_probability": 0.9}},
        {"env_kwargs": {**CLASSIC, "repeat_action_probability": 0.5}},
        {"env_kwargs": {"full_action_space": True}},
        {"n_envs": "many"},
    ],
)
def test_other_tasks_are_not_compared_with_human_play(values: dict[str, Any]) -> None:
    assert human_normalized_score(pong(**values), HUMAN, ScoreKind.FINAL_EVALUATION) is None


def test_only_evaluations_are_compared_with_human_play() -> None:
    assert human_normalized_score(pong(), HUMAN, ScoreKind.LAST_EVALUATION) == 1.0
    assert human_normalized_score(pong(), HUMAN, ScoreKind.TRAINING_MEAN) is None
    assert human_normalized_score(pong(), None, None) is None


def test_recordings_and_disturbed_evaluations_are_not_compared_with_human_play() -> None:
    test = Evaluation(
        id="id", run_id="id", created_at=datetime.now(UTC), episodes=20, mean_return=HUMAN
    )

    assert human_normalized_evaluation(pong(), test) == 1.0
    for other in (
        replace(test, kind="recording"),
        replace(test, disturbances=("sticky_actions",)),
        replace(test, mean_return=None),
    ):
        assert human_normalized_evaluation(pong(), other) is None
