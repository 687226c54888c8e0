"""Custom environments: checked, saved, trained on and deleted."""

from typing import Any

import pytest

from app.authoring.environments.template import TEMPLATE
from tests.lab_server import LabServer

pytestmark = pytest.mark.slow


def test_an_environment_is_written_checked_trained_on_and_tested(server: LabServer) -> None:
    created = server.api.post("/environments/custom", json={"name": "maze", "code": TEMPLATE})
    assert created.status_code == 201, created.text
    (version,) = created.json()["versions"]
    assert {finding["level"] for finding in version["findings"]} == {"ok"}
    env_id = version["env_id"]
    assert env_id == "custom/maze-v1"
    listed = server.api.get("/environments").json()["items"]
    assert env_id in [one["id"] for one in listed]
    described = server.api.get(f"/environments/{env_id}").json()
    assert described["obs_labels"] == ["row", "column"]
    assert described["action_labels"] == ["up", "right", "down", "left"]
    image = server.api.get(f"/environments/{env_id}/preview.png")
    assert image.headers["content-type"] == "image/png"

    run = server.train(env_id=env_id, algorithm="PPO", total_timesteps=2_048, n_envs=2)
    assert run["status"] == "completed", run["error"]
    config = server.api.get(f"/runs/{run['id']}/config").json()
    assert config["env_code"] == TEMPLATE
    tested = server.api.post(f"/runs/{run['id']}/evaluations", json={"episodes": 1})
    assert tested.status_code == 202, tested.text
    preview = server.api.post("/previews", json={"env_id": env_id, "mode": "step"})
    assert preview.status_code == 201, preview.text
    server.api.delete(f"/previews/{preview.json()['id']}")


def test_the_success_rate_is_measured_where_the_environment_reports_it(
    server: LabServer,
) -> None:
    reports = TEMPLATE.replace("at_goal, False, {}", 'at_goal, False, {"is_success": at_goal}')
    added = server.api.post("/environments/custom", json={"name": "goals", "code": reports})
    assert added.status_code == 201, added.text

    run = server.train(env_id="custom/goals-v1", total_timesteps=1_024, n_envs=2)
    other = server.train(env_id="CartPole-v1", total_timesteps=512)

    lines = server.api.get(f"/runs/{run['id']}/metrics").json()["items"]
    episodes = [line for line in lines if "reward" in line]
    # The goal gives a reward of 1, each other step costs 0.01.
    reached = [line["reward"] > -0.01 * line["episode_length"] + 0.5 for line in episodes]
    rates = [sum(reached[:n][-100:]) / min(n, 100) for n in range(1, len(reached) + 1)]
    assert [line["success_rate"] for line in episodes] == pytest.approx(rates)
    assert run["latest"]["success_rate"] == pytest.approx(rates[-1])
    assert "success_rate" not in other["latest"]


def test_a_new_version_does_not_change_runs_of_the_old_one(server: LabServer) -> None:
    server.api.post("/environments/custom", json={"name": "growing", "code": TEMPLATE})
    run = server.create(env_id="custom/growing-v1")
    changed = TEMPLATE.replace("-0.01", "-0.02")

    added = server.api.post("/environments/custom/growing/versions", json={"code": changed})
    repeated = server.api.post("/environments/custom/growing/versions", json={"code": changed})

    assert [one["version"] for one in added.json()["versions"]] == [2, 1]
    assert repeated.json()["versions"] == added.json()["versions"]
    config = server.api.get(f"/runs/{run['id']}/config").json()
    assert (config["env_id"], config["env_code"]) == ("custom/growing-v1", TEMPLATE)


def test_runs_of_a_deleted_environment_can_still_train(server: LabServer) -> None:
    server.api.post("/environments/custom", json={"name": "short-lived", "code": TEMPLATE})
    run = server.create(env_id="custom/short-lived-v1", total_timesteps=500)

    assert server.api.delete("/environments/custom/short-lived").status_code == 204

    assert server.api.get("/environments/custom/short-lived").status_code == 404
    refused = server.api.post("/runs", json={"env_id": "custom/short-lived-v1", "algorithm": "PPO"})
    assert refused.status_code == 422
    assert "was deleted" in refused.json()["error"]["message"]
    server.api.post(f"/runs/{run['id']}/start")
    assert server.wait_for(run["id"], "completed", "failed")["status"] == "completed"


def test_an_unknown_custom_environment_is_refused_by_name(server: LabServer) -> None:
    answer = server.api.post("/runs", json={"env_id": "custom/unknown-v1", "algorithm": "PPO"})

    assert answer.status_code == 422
    assert "no environment 'custom/unknown-v1'" in answer.json()["error"]["message"]


FAULTY = {
    "a syntax error": ("class Maze(", "environment.py, line 1: SyntaxError"),
    "no environment": ("x = 1", "defines no environment"),
    "an error in reset": (
        TEMPLATE.replace("self.agent = (0, 0)", "self.agent = 1 / 0"),
        "line 28: ZeroDivisionError: division by zero",
    ),
    "a look at files": (
        TEMPLATE.replace("self.agent = (0, 0)", "open('/etc/passwd')"),
        "line 28: the sandbox does not allow access to '/etc/passwd'",
    ),
    "a reward that isn't finite": (
        TEMPLATE.replace("else -0.01", 'else float("nan")'),
        "line 38: The reward at step 1 is nan. It must be finite.",
    ),
    "a reward that is no number": (
        TEMPLATE.replace("else -0.01", 'else "little"'),
        "line 38: The reward must be a number, and is str.",
    ),
    "four values": (
        TEMPLATE.replace("at_goal, False, {}", "at_goal, {}"),
        "line 38: step() must return (observation, reward, terminated, truncated, info), and "
        "returns 4 values.",
    ),
    "an observation of another shape": (
        TEMPLATE.replace("return self.observe(), 1.0", "return np.zeros(3), 1.0"),
        "line 38: The observation at step 1 has the shape (3,); the observation space says (2,).",
    ),
    "an exit": (
        TEMPLATE.replace("at_goal = MAP", "raise SystemExit\n        at_goal = MAP"),
        "line 37: it raised SystemExit, which would end the worker",
    ),
    "a crash": (
        TEMPLATE.replace(
            "at_goal = MAP", "__import__('ctypes').string_at(0)\n        at_goal = MAP"
        ),
        "line 37: it crashed the worker",
    ),
    "forbidden calls": (
        f"import ctypes\nctypes.CDLL(None).ptrace(0, 0, 0, 0)\n{TEMPLATE}",
        "the sandbox ended it",
    ),
}


@pytest.mark.parametrize("what", FAULTY)
def test_a_faulty_environment_is_refused_with_its_line(what: str, server: LabServer) -> None:
    code, message = FAULTY[what]

    saved = server.api.post("/environments/custom", json={"name": "spoilt", "code": code})

    assert saved.status_code == 422, saved.text
    assert message in saved.json()["error"]["message"]
    assert server.api.get("/environments/custom/spoilt").status_code == 404


def test_a_check_reports_unusable_code_and_saves_nothing(server: LabServer) -> None:
    code, message = FAULTY["a syntax error"]

    checked = server.api.post("/environments/custom/check", json={"code": code}).json()

    assert not checked["usable"]
    assert message in checked["findings"][0]["message"]
    assert checked["findings"][0]["line"] == 1


def findings_of(server: LabServer, code: str) -> dict[str, dict[str, Any]]:
    checked = server.api.post("/environments/custom/check", json={"code": code}).json()
    assert checked["usable"], checked
    warnings = [one for one in checked["findings"] if one["level"] == "warning"]
    return {one["check"]: one for one in warnings}


def test_questionable_code_is_accepted_with_a_warning(server: LabServer) -> None:
    # Not at the first step, where Gymnasium's own checker would detect it.
    random = "import random\n" + TEMPLATE.replace(
        "else -0.01", "else -random.random() * (self.agent[0] > 1)"
    )
    endless = TEMPLATE.replace("    max_episode_steps = 100\n", "").replace(
        '== "G"', '== "nowhere"'
    )
    leaking = TEMPLATE.replace(
        "        row = self.agent[0]",
        "        KEPT.append(bytearray(20_000))\n        row = self.agent[0]",
    ).replace("MOVES =", "KEPT = []\nMOVES =")
    unrendered = TEMPLATE.replace('"rgb_array"', "")

    assert "diverge at step" in findings_of(server, random)["repeats"]["message"]
    assert "No episode ended" in findings_of(server, endless)["episodes"]["message"]
    assert "It grew by" in findings_of(server, leaking)["memory"]["message"]
    assert "can't be rendered" in findings_of(server, unrendered)["rendering"]["message"]


@pytest.mark.parametrize("name", ["Maze", "a b", "-x", "x-v1", "", "../x", "check", "x" * 41])
def test_names_that_do_not_fit_into_a_url_are_refused(name: str, server: LabServer) -> None:
    answer = server.api.post("/environments/custom", json={"name": name, "code": TEMPLATE})

    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == "name"


def test_an_environment_survives_a_restart(server: LabServer) -> None:
    server.api.post("/environments/custom", json={"name": "kept", "code": TEMPLATE})
    server.terminate()

    server.restart()

    items = server.api.get("/environments/custom").json()["items"]
    (environment,) = [one for one in items if one["name"] == "kept"]
    assert environment["versions"][0]["code"] == TEMPLATE
    assert server.create(env_id="custom/kept-v1")["env_id"] == "custom/kept-v1"
