"""The numbers of periodic evaluations come from the worker that evaluates, not from the trainer."""

from typing import Any

from app.protocol import messages
from app.runs.execution.periodic_evaluation import PeriodicResults


def line(**values: Any) -> messages.Line:
    return messages.Line(
        t="2026-01-01T00:00:00Z",
        timesteps=2_000,
        vec_steps=500,
        updates=3,
        episode=7,
        elapsed_s=1.0,
        fps=None,
        progress=0.5,
        values=values,
    )


def evaluated(**more: Any) -> messages.Evaluated:
    values = {"timesteps": 1_000, "returns": (1.0, 3.0), "lengths": (10, 20), "truncated": 0}
    return messages.Evaluated(**values | more)


def test_a_line_of_the_trainer_gets_the_result_that_it_marks() -> None:
    results = PeriodicResults()
    results.add(evaluated(successes=1))

    values = results.take(line(eval_timesteps=1_000, loss=0.5))

    assert values == {
        "loss": 0.5,
        "eval_reward": 2.0,
        "eval_reward_min": 1.0,
        "eval_reward_max": 3.0,
        "eval_length": 15.0,
        "eval_timesteps": 1_000,
        "eval_success_rate": 0.5,
    }


def test_a_score_that_the_trainer_makes_up_is_dropped() -> None:
    results = PeriodicResults()
    results.add(evaluated())

    assert results.take(line(eval_reward=500.0, loss=0.5)) == {"loss": 0.5}
    assert results.take(line(eval_reward=500.0, eval_timesteps=999)) == {}
    assert results.take(line(eval_reward=500.0, eval_timesteps=1_000))["eval_reward"] == 2.0
    # The same result does not count twice.
    assert results.take(line(eval_timesteps=1_000)) == {}
