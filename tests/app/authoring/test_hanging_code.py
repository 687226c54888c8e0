"""User code that hangs, in every place that accepts code: ended after 5 s, with its line.

All of it hangs at once, in one lab: in sequence it would take a minute of CPU time.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from app.authoring.environments.template import TEMPLATE
from tests.app.evaluation.evaluating import BRIEF, Subject
from tests.conftest import free_port
from tests.lab_server import LabServer

pytestmark = pytest.mark.slow

TOO_LONG = "the call took longer than 5 s"
HEAD = "def reward(obs, action, next_obs, reward, terminated, truncated, info):\n"
DONE = "\n    return 0.0"
STUBBORN = "    while True:\n        try: x = 1\n        except: pass"
REWARDS = {
    "asleep": (HEAD + "    import time\n    time.sleep(600)" + DONE, 3),
    "endless": (HEAD + "    while True: pass" + DONE, 2),
    "endless while loading": (HEAD + "    return 0.0\nwhile True: pass", 3),
    "endless and stubborn": (HEAD + STUBBORN + DONE, None),
    "busy without Python": (HEAD + "    return sum(range(10**13))", 2),
    "flood of bytes": ("import os\n" + HEAD + "    while True: os.write(2, b'x' * 9999)" + DONE, 3),
}
EVALUATIONS = {
    "endless": "def evaluate(episode):\n    while True: pass\n    return 1",
    "busy without Python": "def evaluate(episode):\n    sum(range(10**13))\n    return 1",
}
ENVIRONMENTS = {
    "endless while loading": (f"while True: pass\n{TEMPLATE}", 1),
    "busy in a step": (
        TEMPLATE.replace("at_goal = MAP", "sum(range(10**13))\n        at_goal = MAP"),
        37,
    ),
}
# It hangs only after more steps than the check takes.
LATE = TEMPLATE.replace("MOVES =", "TAKEN = []\nMOVES =").replace(
    "        at_goal = MAP",
    "        TAKEN.append(1)\n        while len(TAKEN) > 15_000: pass\n        at_goal = MAP",
)


class Hanging:
    """The results of all the code that hung."""

    def __init__(self, lab: LabServer) -> None:
        self.lab = lab
        self._results: dict[tuple[str, str], Future[Any]] = {}

    def start(self, executor: ThreadPoolExecutor) -> None:
        def submit(kind: str, name: str, task: Callable[..., Any], *arguments: str) -> None:
            self._results[kind, name] = executor.submit(task, *arguments)

        for name, (code, _) in REWARDS.items():
            submit("reward", name, self._train, "CartPole-v1", code)
        for name, code in EVALUATIONS.items():
            submit("evaluation", name, self._evaluate, code)
        for name, (code, _) in ENVIRONMENTS.items():
            submit("environment", name, self._save, code)
        submit("environment", "late", self._train, "custom/late-v1", None)

    def result(self, kind: str, name: str) -> Any:
        return self._results[kind, name].result()

    def _train(self, env_id: str, code: str | None) -> dict[str, Any]:
        return self.lab.train(
            env_id=env_id,
            reward_code=code,
            hyperparameters={"n_steps": 64, "batch_size": 64, "n_epochs": 2, "net_arch": [8]},
            total_timesteps=40_000,
        )

    def _evaluate(self, code: str) -> tuple[Subject, dict[str, Any]]:
        # Evaluations of the same run wait for each other.
        subject = Subject(self.lab, self.lab.train(**BRIEF)["id"])
        return subject, subject.wait(subject.start(episodes=1, code=code))

    def _save(self, code: str) -> dict[str, Any]:
        body = {"name": "hanging", "code": code}
        answer = self.lab.api.post("/environments/custom", json=body, timeout=90)
        return {"status_code": answer.status_code, **answer.json()}


@pytest.fixture(scope="module")
def hanging(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hanging]:
    folder = tmp_path_factory.mktemp("hanging-lab")
    settings = {"RL_LAB_WORKERS": "8", "RL_LAB_VIEWERS": "8"}
    with LabServer(folder, free_port(), **settings) as lab, ThreadPoolExecutor(16) as executor:
        late = lab.api.post("/environments/custom", json={"name": "late", "code": LATE})
        assert late.status_code == 201, late.text
        hanging = Hanging(lab)
        hanging.start(executor)
        yield hanging


@pytest.mark.parametrize("name", REWARDS)
def test_a_reward_that_hangs_ends_its_run(hanging: Hanging, name: str) -> None:
    run = hanging.result("reward", name)

    assert run["status"] == "failed"
    last = hanging.lab.api.get(f"/runs/{run['id']}/events").json()["items"][0]
    line = last["data"]["line"]
    assert run["error"] == f"reward.py, line {line}: {TOO_LONG}"
    assert (last["event_type"], last["message"]) == ("failed", run["error"])
    assert REWARDS[name][1] in {line, None}


@pytest.mark.parametrize("name", EVALUATIONS)
def test_code_that_hangs_ends_its_evaluation(hanging: Hanging, name: str) -> None:
    subject, result = hanging.result("evaluation", name)

    assert result["status"] == "failed"
    assert (result["error"], result["error_line"]) == (f"evaluate.py, line 2: {TOO_LONG}", 2)
    assert (result["custom"], result["mean_return"], result["video_url"]) == (None, None, None)
    assert f"Evaluation failed: {result['error']}" in subject.lab.messages(subject.run_id)
    assert f"{result['id']}.mp4" not in subject.files


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_an_environment_that_hangs_is_refused(hanging: Hanging, name: str) -> None:
    answer = hanging.result("environment", name)

    assert answer["status_code"] == 422
    assert f"line {ENVIRONMENTS[name][1]}: {TOO_LONG}" in answer["error"]["message"]
    assert hanging.lab.api.get("/environments/custom/hanging").status_code == 404


def test_an_environment_that_hangs_later_ends_its_run(hanging: Hanging) -> None:
    run = hanging.result("environment", "late")

    assert run["status"] == "failed"
    assert run["error"] == f"environment.py, line 39: {TOO_LONG}"


def test_the_lab_keeps_working(hanging: Hanging) -> None:
    assert hanging.lab.train(total_timesteps=500)["status"] == "completed"
