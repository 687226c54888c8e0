"""Evaluation code over the API, in real sandboxed workers: its metrics and its errors."""

from collections.abc import Iterator

import pytest

from tests.app.evaluation.evaluating import BRIEF, Subject
from tests.conftest import free_port
from tests.lab_server import LabServer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    folder = tmp_path_factory.mktemp("evaluation-code-lab")
    settings = {"RL_LAB_WORKERS": "1", "RL_LAB_VIEWERS": "1", "RL_LAB_WORKER_MEMORY": "1536"}
    with LabServer(folder, free_port(), **settings) as lab:
        yield Subject(lab, lab.train(**BRIEF)["id"])


def code(*lines: str) -> str:
    return "\n".join(("import time", "def evaluate(episode):", *(f"    {line}" for line in lines)))


def test_its_metrics_are_added_to_the_summary(subject: Subject) -> None:
    metrics = code("return {'steps': episode.length, 'far': abs(episode.observations[:, 0]).max()}")

    evaluation = subject.evaluate(episodes=3, seed=42, record=False, code=metrics)

    per_episode = evaluation["custom_per_episode"]
    assert per_episode["steps"] == evaluation["lengths"]
    assert evaluation["custom"]["steps"] == pytest.approx(evaluation["mean_length"])
    assert evaluation["custom"]["far"] == pytest.approx(sum(per_episode["far"]) / 3)
    assert (evaluation["code"], evaluation["error_line"]) == (metrics, None)
    assert evaluation["returns"] == subject.evaluate(episodes=3, seed=42, record=False)["returns"]


@pytest.mark.parametrize(
    ("body", "reason", "line"),
    [
        ("return episode.wind", "evaluate.py, line 3: AttributeError", 3),
        ("return {'a': float('nan')}", "evaluate.py, line 3: evaluate() returned NaN as 'a'", 3),
        ("while True: print('x' * 1000)", "evaluate.py, line 3: it printed more than", 3),
        ("__import__('ctypes').string_at(0)", "evaluate.py, line 3: it crashed the worker", 3),
        ("x = bytearray(4 << 30)", "evaluate.py, line 3: it ran out of the memory", 3),
        ("open('/etc/passwd', 'w')", "evaluate.py, line 3: the sandbox does not allow", 3),
    ],
)
def test_an_error_in_the_code_fails_the_evaluation_with_a_message_and_the_line(
    subject: Subject, body: str, reason: str, line: int
) -> None:
    evaluation = subject.wait(subject.start(episodes=1, code=code(body, "return 1")))

    assert evaluation["status"] == "failed"
    assert evaluation["error"].startswith(reason)
    assert evaluation["error_line"] == line
    assert (evaluation["custom"], evaluation["mean_return"], evaluation["video_url"]) == (
        None,
        None,
        None,
    )
    assert f"Evaluation failed: {evaluation['error']}" in subject.lab.messages(subject.run_id)
    assert f"{evaluation['id']}.mp4" not in subject.files


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("import os; os._exit(3)", "it ended by itself (exit code 3)."),
        ("import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0)", "the sandbox ended it"),
    ],
)
def test_code_that_ends_its_worker_fails_the_evaluation_with_the_cause(
    subject: Subject, body: str, reason: str
) -> None:
    evaluation = subject.wait(subject.start(episodes=1, code=code(body, "return 1")))

    assert evaluation["status"] == "failed"
    assert evaluation["error"].startswith(f"The worker could not finish the evaluation: {reason}")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def evaluate(episode) return 1", "code, line 1: Python can't read this"),
        ("def judge(episode): return 1", "Start with: def evaluate(episode):"),
        ("#" * (1 << 16) + "\n", "at most 65536 characters"),
    ],
)
def test_invalid_code_is_refused_before_an_episode_is_played(
    subject: Subject, source: str, words: str
) -> None:
    before = subject.files

    answer = subject.request(code=source)

    assert answer.status_code == 422
    error = answer.json()["error"]
    assert (error["field"], words in error["message"]) == ("code", True), error
    assert subject.files == before


def test_a_replay_contains_the_terms_of_the_custom_reward_of_the_run(subject: Subject) -> None:
    lab = subject.lab
    source = "def reward(obs, action, next_obs, reward, terminated, truncated, info):\n"
    source += "    return {'upright': 1.0 - abs(next_obs.pole_angle), 'stay': -0.5}\n"
    shaped = Subject(lab, lab.train(**BRIEF, reward_code=source)["id"])

    evaluation = shaped.evaluate(episodes=1, seed=42)

    steps = lab.api.get(f"{shaped.path}/{evaluation['id']}/replay").json()["moments"]
    assert evaluation["returns"] == [evaluation["lengths"][0]]
    assert {step["reward"] for step in steps} == {1.0}
    seen = [step["seen"] for step in steps]
    assert all(step["terms"]["stay"] == -0.5 for step in steps)
    for step, after in zip(steps, seen[1:], strict=False):
        assert step["terms"]["upright"] == pytest.approx(1 - abs(after[2]), abs=2e-3)
