"""When a training has its policy evaluated, and which policy it keeps as the best."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.protocol import Channel, commands, framing
from app.run_config import RunConfig, RunRequest
from app.worker.envs.vectorized.pipeline import make_training_envs
from app.worker.models.models import build_model
from app.worker.training.eval_schedule import EvalSchedule

SMALL: dict[str, Any] = {"n_steps": 16, "batch_size": 16, "n_epochs": 1, "net_arch": [4]}


class Training:
    """A small training whose channel writes to a file."""

    def __init__(self, path: Path, **options: Any) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
        request = RunRequest(
            env_id="CartPole-v1",
            algorithm="PPO",
            total_timesteps=1_000,
            n_envs=1,
            hyperparameters=SMALL,
            evaluate_every=16,
            **options,
        )
        job = RunConfig.from_request(request).job()
        self._envs = make_training_envs(job.setup, 1)
        self.model = build_model(job.setup, self._envs, seed=0)
        self.schedule = EvalSchedule(job, self._envs, Channel(self._descriptor), {})

    def learn(self) -> None:
        """Do one rollout and one update."""
        self.model.learn(16, reset_num_timesteps=False)

    def is_due(self, mean_reward: float | None = 0.0) -> bool:
        return self.schedule.is_due(self.model, mean_reward)

    def send(self) -> int:
        """Send the policy to be evaluated and return its step."""
        self.schedule.send_policy(self.model, episode=1)
        return self.model.num_timesteps

    def hear(self, step: int, mean_return: float) -> None:
        result = commands.EvaluationResult(timesteps=step, mean_return=mean_return)
        assert self.schedule.add_result(result) == {"eval_timesteps": step}

    def best_steps(self) -> list[int]:
        """Return the steps of the best policies that were delivered, oldest first."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        size, steps = os.fstat(self._descriptor).st_size, []
        while os.lseek(self._descriptor, 0, os.SEEK_CUR) < size:
            tag, content = framing.read(self._descriptor)
            if tag == framing.BLOB:
                head = msgspec.json.decode(framing.split_header(content)[0])
                steps += [head["timesteps"]] if head["name"] == "best.pt" and head["last"] else []
        return steps

    def close(self) -> None:
        self._envs.close()
        os.close(self._descriptor)


@pytest.fixture
def training(tmp_path: Path) -> Iterator[Training]:
    training = Training(tmp_path / "channel")
    yield training
    training.close()


def test_the_same_weights_are_not_evaluated_twice(training: Training) -> None:
    training.learn()
    assert training.is_due()
    training.hear(training.send(), 1.0)

    # More steps, but no update yet.
    training.model.num_timesteps += 100
    assert not training.is_due()

    training.learn()
    assert training.is_due()


def test_the_policy_after_the_last_update_is_not_taken_for_the_one_before_it(
    training: Training,
) -> None:
    training.learn()
    training.send()
    assert training.schedule.has_evaluated(training.model)

    training.learn()

    assert not training.schedule.has_evaluated(training.model)


def test_the_best_policy_is_kept(training: Training) -> None:
    steps = []
    for mean_return in (1.0, 3.0, 2.0):
        training.learn()
        steps.append(training.send())
        training.hear(steps[-1], mean_return)

    assert training.best_steps() == steps[:2]


def test_a_late_result_does_not_discard_the_newer_policy(training: Training) -> None:
    training.learn()
    late = training.send()
    training.learn()
    newer = training.send()

    training.hear(late, 5.0)
    assert training.schedule.is_waiting
    training.hear(newer, 3.0)

    assert not training.schedule.is_waiting
    # The files of the late one were dropped when the newer one was sent.
    assert training.best_steps() == [newer]


def test_evaluations_wait_for_a_mean_reward(tmp_path: Path) -> None:
    training = Training(tmp_path / "channel", evaluation={"start_above": 50.0})
    training.learn()

    assert not training.is_due(None)
    assert not training.is_due(50.0)
    assert training.is_due(50.1)
    training.close()


def test_a_checkpoint_has_the_next_evaluation_and_the_best_result(training: Training) -> None:
    training.learn()
    training.hear(training.send(), 7.0)

    assert training.schedule.counts() == {"next_at": 32, "best": 7.0, "updates": 1}
