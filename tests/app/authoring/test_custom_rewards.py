import io
import json
import zipfile
from typing import Any

import pytest

from tests.lab_server import LabServer

pytestmark = pytest.mark.slow

HEAD = "def reward(obs, action, next_obs, reward, terminated, truncated, info):\n"
SMALL = {"n_steps": 64, "batch_size": 64, "n_epochs": 2, "net_arch": [8]}
TERMS = HEAD + "    return {'alive': 1, 'upright': -abs(next_obs.pole_angle)}\n"


def train(lab: LabServer, code: str, **values: Any) -> dict[str, Any]:
    return lab.train(
        **{"reward_code": code, "hyperparameters": SMALL, "total_timesteps": 3_000, **values}
    )


def lines_of(lab: LabServer, run: dict[str, Any]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = lab.api.get(f"/runs/{run['id']}/metrics").json()["items"]
    return items


def events_of(lab: LabServer, run: dict[str, Any]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = lab.api.get(f"/runs/{run['id']}/events").json()["items"]
    return items


@pytest.fixture(scope="module")
def trained(server: LabServer) -> dict[str, Any]:
    return train(server, TERMS)


def test_terms_are_recorded_along_with_the_original_reward(
    server: LabServer, trained: dict[str, Any]
) -> None:
    assert trained["status"] == "completed", trained["error"]
    episodes = [line for line in lines_of(server, trained) if "reward" in line]
    assert episodes
    for line in episodes:
        assert line["reward"] == line["episode_length"] == line["terms"]["alive"]
        assert line["shaped_reward"] == pytest.approx(sum(line["terms"].values()), abs=1e-5)
        assert line["terms"]["upright"] < 0


def test_the_code_is_stored_with_the_run_and_in_its_bundle(server: LabServer) -> None:
    run = server.create(reward_code=TERMS)

    artifacts = {artifact["name"]: artifact["url"] for artifact in run["artifacts"]}
    assert run["config"]["reward_code"] == TERMS
    assert server.api.get(artifacts["reward.py"].removeprefix("/api")).text == TERMS
    config = json.loads(server.api.get(artifacts["config.json"].removeprefix("/api")).text)
    assert config["reward_code"] == TERMS
    bundle = server.api.get(f"/runs/{run['id']}/artifacts/bundle.zip").content
    assert zipfile.ZipFile(io.BytesIO(bundle)).read("reward.py").decode() == TERMS


@pytest.mark.parametrize(
    ("code", "line", "message"),
    [
        (HEAD + "    return (1", 2, "'(' was never closed"),
        ("def reward(obs):\n    return 1.0", 1, "is called with 7 arguments"),
        ("x = 1", 1, "No reward function found"),
    ],
)
def test_invalid_code_is_refused_at_once(
    server: LabServer, code: str, line: int, message: str
) -> None:
    body = {"env_id": "CartPole-v1", "algorithm": "PPO", "reward_code": code}

    answer = server.api.post("/runs", json=body)

    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["field"] == "reward_code"
    assert error["message"].startswith(f"reward_code, line {line}: ")
    assert message in error["message"]


def test_code_that_is_too_long_is_refused(server: LabServer) -> None:
    body = {"env_id": "CartPole-v1", "algorithm": "PPO", "reward_code": "#" * (65 << 10)}

    answer = server.api.post("/runs", json=body)

    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == "reward_code"


DONE = "\n    return 0.0"
FAILURES = {
    "nan": (HEAD + "    return float('nan')", 2, "reward returned NaN"),
    "infinity": (HEAD + "    return {'a': float('inf')}", 2, "term 'a', infinity"),
    "type": (HEAD + "    return 'high'", 2, "reward returned a value of type str"),
    "exception": (HEAD + "    x = 1\n    return x / 0", 3, "ZeroDivisionError: division by zero"),
    "print flood": (
        HEAD + "    while True: print('x' * 99)" + DONE,
        2,
        "it printed more than 1 MiB",
    ),
    "crash": (
        HEAD + "    import ctypes\n    ctypes.string_at(0)" + DONE,
        3,
        "it crashed the worker",
    ),
    "memory": (HEAD + "    return bytearray(10 << 30)[0]", 2, "it ran out of the memory"),
    "memory bit by bit": (
        "import numpy as np\nkept = []\n" + HEAD + "    kept.append(np.empty(1 << 24))" + DONE,
        4,
        "it ran out of the memory",
    ),
    "file": (
        HEAD + "    return open('/etc/passwd').read()",
        2,
        "the sandbox does not allow access to '/etc/passwd'",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_code_that_fails_ends_its_run_with_one_sentence_and_the_line(
    server: LabServer, name: str
) -> None:
    code, line, message = FAILURES[name]

    run = train(server, code)

    assert run["status"] == "failed"
    assert message in run["error"]
    assert "\n" not in run["error"]
    last = server.api.get(f"/runs/{run['id']}/events").json()["items"][0]
    assert last["event_type"] == "failed"
    assert last["message"] == run["error"]
    assert run["error"].startswith(f"reward.py, line {last['data']['line']}: ")
    assert line is None or last["data"]["line"] == line


def test_the_lab_keeps_working_after_code_that_ends_its_worker(server: LabServer) -> None:
    code = HEAD + "    import os\n    os._exit(0)" + DONE

    assert train(server, code)["status"] == "failed"
    assert server.train(total_timesteps=500)["status"] == "completed"


def test_evaluations_and_solving_use_the_original_reward(server: LabServer) -> None:
    code = HEAD + "    return 100.0"

    run = train(server, code, evaluate_every=1_500)

    lines = lines_of(server, run)
    scores = [line["eval_reward"] for line in lines if "eval_reward" in line]
    assert scores
    assert max(scores) <= 500
    assert run["best"] is None or run["best"] <= 500
    assert all(line["mean_reward"] <= 500 for line in lines if "mean_reward" in line)


def test_envpool_is_not_used_and_the_log_says_why(server: LabServer) -> None:
    wrappers = {"simulator": "envpool"}
    body = {"env_id": "CartPole-v1", "algorithm": "PPO", "wrappers": wrappers}
    if server.api.post("/runs", json=body).status_code == 422:
        pytest.skip("EnvPool isn't installed")

    run = train(server, TERMS, wrappers=wrappers)

    events = server.api.get(f"/runs/{run['id']}/events").json()["items"]
    assert any("EnvPool is not used" in event["message"] for event in events)
    assert run["status"] == "completed", run["error"]


def test_terms_are_exported_and_part_of_the_report(
    server: LabServer, trained: dict[str, Any]
) -> None:
    address = f"/runs/{trained['id']}"
    table = server.api.get(f"{address}/export", params={"names": "shaped_reward,terms/upright"})
    head, *rows = table.text.splitlines()
    assert head.endswith("shaped_reward,terms/upright")
    assert rows
    assert all(row.rpartition(",")[2].startswith("-") for row in rows)
    query = {"names": "terms/alive", "max_points": 10}
    items = server.api.get(f"{address}/metrics", params=query).json()["items"]
    assert items
    assert all(item["terms/alive"] > 0 for item in items)
    page = server.api.get(f"{address}/report", params={"format": "html"}).text
    assert "next_obs.pole_angle" in page
    assert "Shaped episode reward" in page
    report = server.api.get(f"{address}/report", params={"format": "json"}).json()
    assert report["repeat"]["body"]["reward_code"] == TERMS
    assert "--reward reward.py" in report["repeat"]["command"]


def test_a_training_run_can_be_branched_with_another_reward(server: LabServer) -> None:
    parent = server.create(hyperparameters=SMALL, total_timesteps=5_000_000, seed=7, start=True)
    server.wait_for_steps(parent["id"], 2_000)

    body = {"reward_code": TERMS, "total_timesteps": 2_000, "start": True}
    answer = server.api.post(f"/runs/{parent['id']}/branch", json=body)

    assert answer.status_code == 201, answer.text
    branch = answer.json()
    assert branch["parent"] == parent["id"]
    assert branch["config"]["reward_code"] == TERMS
    assert branch["config"]["hyperparameters"] == parent["config"]["hyperparameters"]
    assert server.get(parent["id"])["status"] == "running"
    server.api.post(f"/runs/{parent['id']}/stop")
    assert server.wait_for(branch["id"], "completed", "failed")["status"] == "completed"
    events = {e["event_type"]: e for e in events_of(server, branch)}
    assert events["branched"]["data"]["parent"] == parent["id"]
    assert events["branched"]["data"]["timesteps"] >= 2_000
    assert "another custom reward" in events["branched"]["message"]
    parent_events = {e["event_type"]: e for e in events_of(server, parent)}
    assert parent_events["branch_made"]["data"]["child"] == branch["id"]


def test_a_branch_of_a_completed_run_has_the_whole_budget_again(
    server: LabServer, trained: dict[str, Any]
) -> None:
    body = {"reward_code": None}
    branch = server.api.post(f"/runs/{trained['id']}/branch", json=body).json()

    assert branch["status"] == "created"
    assert branch["config"]["reward_code"] is None
    # Nothing of the budget was left, so it gets the whole budget again.
    assert branch["config"]["total_timesteps"] == 3_000
    assert "reward.py" not in {artifact["name"] for artifact in branch["artifacts"]}


def test_a_run_without_a_policy_cannot_be_branched(server: LabServer) -> None:
    run = server.create()

    answer = server.api.post(f"/runs/{run['id']}/branch", json={"reward_code": TERMS})

    assert answer.status_code == 409
    assert "no policy yet" in answer.json()["error"]["message"]


def test_a_branch_with_invalid_code_leaves_nothing_behind(
    server: LabServer, trained: dict[str, Any]
) -> None:
    before = len(server.api.get("/runs", params={"limit": 500}).json()["items"])

    answer = server.api.post(f"/runs/{trained['id']}/branch", json={"reward_code": "x ="})

    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == "reward_code"
    assert len(server.api.get("/runs", params={"limit": 500}).json()["items"]) == before
