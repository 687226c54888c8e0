"""Evaluation code over the API, in real locked workers: its numbers, and what it does wrong."""

from collections.abc import Iterator

import pytest

from tests.app.evaluation.evaluating import BRIEF, Subject
from tests.conftest import free_port
from tests.lab_server import LabServer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Subject]:
    folder = tmp_path_factory.mktemp("judging-lab")
    settings = {"RL_LAB_WORKERS": "1", "RL_LAB_VIEWERS": "1", "RL_LAB_WORKER_MEMORY": "1536"}
    with LabServer(folder, free_port(), **settings) as lab:
        yield Subject(lab, lab.train(**BRIEF)["id"])


def code(*lines: str) -> str:
    return "\n".join(("import time", "def evaluate(episode):", *(f"    {line}" for line in lines)))


def test_its_numbers_join_the_summary(subject: Subject) -> None:
    judged = code("return {'steps': episode.length, 'far': abs(episode.observations[:, 0]).max()}")

    found = subject.evaluate(episodes=3, seed=42, record=False, code=judged)

    per_episode = found["custom_per_episode"]
    assert per_episode["steps"] == found["lengths"]
    assert found["custom"]["steps"] == pytest.approx(found["mean_length"])
    assert found["custom"]["far"] == pytest.approx(sum(per_episode["far"]) / 3)
    assert (found["code"], found["error_line"]) == (judged, None)
    assert found["returns"] == subject.evaluate(episodes=3, seed=42, record=False)["returns"]


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
def test_what_it_does_wrong_ends_the_evaluation_with_a_sentence_and_the_line(
    subject: Subject, body: str, reason: str, line: int
) -> None:
    found = subject.wait(subject.start(episodes=1, code=code(body, "return 1")))

    assert found["status"] == "failed"
    assert found["error"].startswith(reason)
    assert found["error_line"] == line
    assert (found["custom"], found["mean_return"], found["video_url"]) == (None, None, None)
    assert f"Evaluation failed: {found['error']}" in subject.lab.messages(subject.run_id)
    assert f"{found['id']}.mp4" not in subject.files


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("import os; os._exit(3)", "it ended by itself (exit code 3)."),
        ("import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0)", "the sandbox ended it, because"),
    ],
)
def test_code_that_ends_its_worker_is_told_what_it_did(
    subject: Subject, body: str, reason: str
) -> None:
    found = subject.wait(subject.start(episodes=1, code=code(body, "return 1")))

    assert found["status"] == "failed"
    assert found["error"].startswith(f"The worker could not play to the end: {reason}")


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("def evaluate(episode) return 1", "code, line 1: Python can't read this"),
        ("def judge(episode): return 1", "Begin with: def evaluate(episode):"),
        ("#" * (1 << 16) + "\n", "at most 65536 characters"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_played(
    subject: Subject, written: str, words: str
) -> None:
    before = subject.files

    answer = subject.ask(code=written)

    assert answer.status_code == 422
    error = answer.json()["error"]
    assert (error["field"], words in error["message"]) == ("code", True), error
    assert subject.files == before


def test_a_replay_shows_the_terms_of_a_reward_that_the_run_learned_from(subject: Subject) -> None:
    lab = subject.lab
    written = "def reward(obs, action, next_obs, reward, terminated, truncated, info):\n"
    written += "    return {'upright': 1.0 - abs(next_obs.pole_angle), 'stay': -0.5}\n"
    shaped = Subject(lab, lab.train(**BRIEF, reward_code=written)["id"])

    found = shaped.evaluate(episodes=1, seed=42)

    steps = lab.api.get(f"{shaped.path}/{found['id']}/replay").json()["moments"]
    assert found["returns"] == [found["lengths"][0]]
    assert {step["reward"] for step in steps} == {1.0}
    seen = [step["seen"] for step in steps]
    assert all(step["terms"]["stay"] == -0.5 for step in steps)
    for step, after in zip(steps, seen[1:], strict=False):
        assert step["terms"]["upright"] == pytest.approx(1 - abs(after[2]), abs=2e-3)
