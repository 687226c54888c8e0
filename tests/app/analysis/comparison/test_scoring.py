from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.analysis.comparison.scoring import Scored, score_runs
from storage.metrics import CurveCache, MetricsWriter
from storage.records.curves import Curves, View
from storage.records.runs import Progress, RunRecord, RunStatus, ScoreKind
from tests.past_runs import climb, line
from tests.stored_configs import stored_config


class Runs:
    """Runs with metrics on disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cache = CurveCache()

    def add(
        self,
        name: str,
        lines: Sequence[dict[str, Any]],
        *,
        steps: int = 2_000,
        solved_at: int | None = None,
    ) -> RunRecord:
        """Return a completed run with these metrics."""
        writer = MetricsWriter(self._folder / name)
        writer.append(lines)
        writer.close()
        now = datetime.now(UTC)
        return RunRecord(
            id=name,
            name=name,
            env_id="CartPole-v1",
            algorithm="PPO",
            status=RunStatus.COMPLETED,
            config=stored_config(total_timesteps=2_000),
            created_at=now,
            updated_at=now,
            progress=Progress(timesteps=steps, solved_at=solved_at),
        )

    async def score(self, *runs: RunRecord) -> Scored:
        """Return the scores of runs."""
        return await score_runs(runs, self._read)

    async def _read(self, run: RunRecord, view: View) -> Curves:
        return self._cache.read(self._folder / run.id, view)


def evaluated(to: float, *, every: int = 500, steps: int = 2_000) -> list[dict[str, Any]]:
    """Return the metrics of a run with periodic evaluations, whose results arrive later."""
    return [
        {**line(step + 40, 1.0), "eval_reward": to * step / steps, "eval_timesteps": step}
        for step in range(every, steps + 1, every)
    ]


async def test_final_evaluations_are_preferred_where_all_runs_have_them(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    one, other = runs.add("one", evaluated(80)), runs.add("other", evaluated(40))
    final_one, final_other = _with_final_evaluation(one, 77.0), _with_final_evaluation(other, 55.0)

    both, only_one = await runs.score(final_one, final_other), await runs.score(final_one, other)

    assert both.kind is ScoreKind.FINAL_EVALUATION
    assert both.by_run == {"one": 77.0, "other": 55.0}
    assert only_one.kind is ScoreKind.LAST_EVALUATION


def _with_final_evaluation(run: RunRecord, score: float) -> RunRecord:
    at = run.progress.timesteps
    progress = replace(run.progress, final_evaluation=score, final_evaluation_at=at)
    return replace(run, progress=progress)


async def test_periodic_evaluations_are_preferred_where_all_runs_have_them(tmp_path: Path) -> None:
    runs = Runs(tmp_path)

    scored = await runs.score(
        runs.add("one", evaluated(80), steps=2_040), runs.add("other", evaluated(40), steps=2_040)
    )

    assert scored == Scored(
        kind=ScoreKind.LAST_EVALUATION, timesteps=2_000, by_run={"one": 80.0, "other": 40.0}
    )


async def test_all_are_compared_at_the_last_evaluation_that_all_have(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    behind = evaluated(40, every=100)[:-1]

    scored = await runs.score(
        runs.add("one", evaluated(80, every=100), steps=2_040), runs.add("behind", behind)
    )

    assert scored.timesteps == 1_900
    assert scored.by_run == {"one": 76.0, "behind": 38.0}


async def test_training_is_compared_if_one_run_has_no_evaluations(tmp_path: Path) -> None:
    runs = Runs(tmp_path)

    scored = await runs.score(
        runs.add("one", [*climb(60), *evaluated(80)]), runs.add("plain", climb(30))
    )

    assert (scored.kind, scored.timesteps) == (ScoreKind.TRAINING_MEAN, 2_000)
    assert scored.by_run["plain"] == 30.0


async def test_training_is_compared_if_evaluations_stopped_long_before(tmp_path: Path) -> None:
    runs = Runs(tmp_path)
    early = [*evaluated(40)[:1], *climb(30)[5:]]

    scored = await runs.score(runs.add("one", evaluated(80)), runs.add("early", early))

    assert scored.kind == ScoreKind.TRAINING_MEAN


async def test_a_run_that_ended_as_solved_keeps_its_score(tmp_path: Path) -> None:
    """The others are compared where they have ended, not where the first one was solved."""
    runs = Runs(tmp_path)
    quick = runs.add("quick", climb(90, steps=600), steps=600, solved_at=600)

    scored = await runs.score(quick, runs.add("slow", climb(30)))

    assert scored.timesteps == 2_000
    assert scored.by_run == {"quick": 90.0, "slow": 30.0}


async def test_runs_without_steps_have_no_scores(tmp_path: Path) -> None:
    scored = await Runs(tmp_path).score()

    assert scored == Scored(kind=ScoreKind.TRAINING_MEAN, timesteps=None, by_run={})
