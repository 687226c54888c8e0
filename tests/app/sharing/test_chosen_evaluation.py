"""Which of a version's evaluations is its score, and is published."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from app.evaluation.evaluation import Evaluation
from app.protocol.seeds import SeedFamily
from app.run_config.config import RunConfig
from app.run_config.request import RunRequest
from app.sharing.published_version import published_version
from app.sharing.versions import versions_of
from storage.files.run_folder import RunFolder
from storage.records.runs import Progress, RunRecord, RunStatus

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_STEP = 500
_REWARD = (
    "def reward(obs, action, next_obs, reward, terminated, truncated, info):\n    return 1.0\n"
)


def measured(mean: float, family: SeedFamily = SeedFamily.TEST, **more: Any) -> Evaluation:
    episodes = 20
    return Evaluation(
        id=f"{mean}",
        run_id="run",
        created_at=_NOW,
        timesteps=_STEP,
        episodes=episodes,
        mean_return=mean,
        returns=(mean,) * episodes,
        seeds=tuple(range(family.first_seed, family.first_seed + episodes)),
        **more,
    )


def completed_run(*, has_reward: bool = False) -> RunRecord:
    code = _REWARD if has_reward else None
    request = RunRequest(env_id="CartPole-v1", algorithm="PPO", reward_code=code)
    return RunRecord(
        id="run",
        name="run",
        env_id="CartPole-v1",
        algorithm="PPO",
        status=RunStatus.COMPLETED,
        config=RunConfig.from_request(request).model_dump(),
        created_at=_NOW,
        updated_at=_NOW,
        progress=Progress(timesteps=_STEP),
    )


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run whose best policy and final one are of the same step."""
    folder = RunFolder(tmp_path)
    for policy, model in ((folder.policy, "model.zip"), (folder.best_policy, "best.zip")):
        folder.delivered[model].write_bytes(b"weights")
        folder.save_step(policy, _STEP)
    return folder


_GOOD = measured(1.0)
_FINAL = measured(1.0, SeedFamily.FINAL)


@pytest.mark.parametrize(
    ("better", "newer", "has_reward"),
    [
        (_FINAL, measured(9.0), False),
        (_FINAL, measured(9.0, SeedFamily.FINAL, code="..."), False),
        (_GOOD, measured(9.0, code="..."), False),
        (_GOOD, measured(9.0, record=True), True),
        (replace(_GOOD, deterministic=False), measured(9.0, record=True), True),
        (replace(_FINAL, record=True), measured(9.0), True),
        (_GOOD, measured(9.0, deterministic=False), False),
        (_GOOD, measured(9.0, disturbances=("noise",)), False),
        (replace(_GOOD, deterministic=False), measured(9.0, disturbances=("noise",)), False),
        (_GOOD, measured(9.0, SeedFamily.SELECTION), False),
    ],
)
def test_the_more_reliable_evaluation_counts_even_if_a_newer_one_is_higher(
    folder: RunFolder, better: Evaluation, newer: Evaluation, *, has_reward: bool
) -> None:
    run = completed_run(has_reward=has_reward)

    published = published_version(run, folder, None, [newer, better])

    assert published.evaluation == better
    assert published.version.score == better.mean_return


def test_the_newest_of_equally_reliable_evaluations_counts(folder: RunFolder) -> None:
    newer = measured(2.0, record=True)

    assert published_version(completed_run(), folder, None, [newer, _GOOD]).evaluation == newer


def test_final_and_best_model_of_the_same_step_have_their_own_scores(folder: RunFolder) -> None:
    def scores(*evaluations: Evaluation) -> dict[str, float | None]:
        found = versions_of(completed_run(), folder, evaluations)
        return {version.kind: version.score for version in found}

    of_best, of_final = measured(9.0, checkpoint="best"), measured(1.0)

    assert scores(of_best) == {"final": None, "best": 9.0}
    assert scores(of_final) == {"final": 1.0, "best": None}
    assert scores(of_best, of_final) == {"final": 1.0, "best": 9.0}
