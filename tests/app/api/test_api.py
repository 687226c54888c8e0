import io
import json
import re
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from PIL import Image
from stable_baselines3 import PPO
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.lab_server import SLEEPING_REWARD, LabServer, wait_until

pytestmark = pytest.mark.slow

SMALL = {"n_steps": 64, "batch_size": 64, "n_epochs": 2, "net_arch": [8]}
LONG = {
    "total_timesteps": 5_000_000,
    "hyperparameters": SMALL,
    "reward_code": SLEEPING_REWARD.format(seconds=0.001),
}


@pytest.fixture(scope="module")
def finished(server: LabServer) -> dict[str, Any]:
    """A finished run that tests only read."""
    return server.train(
        total_timesteps=4_000, hyperparameters=SMALL, seed=3, name="The finished one"
    )


def error_of(answer: httpx.Response) -> dict[str, Any]:
    error: dict[str, Any] = answer.json()["error"]
    return error


def test_health_describes_the_state_of_the_server(server: LabServer) -> None:
    health = server.api.get("/health").json()

    assert health["status"] == "ok"
    assert health["sandbox"] in {"full", "partial", "none"}
    assert health["workers"]["limit"] >= 1
    assert health["uptime_s"] >= 0


def test_environments_have_the_fields_of_the_contract(server: LabServer) -> None:
    items = server.api.get("/environments").json()["items"]

    walker = next(item for item in items if item["id"] == "BipedalWalker-v3")
    assert walker["action_space_type"] == "continuous"
    assert walker["action_shape"] == [4]
    assert walker["obs_space_dims"] == [24]
    assert len(walker["obs_labels"]) == 24
    assert walker["installed"] is True


def test_an_environment_has_a_preview_image(server: LabServer) -> None:
    spec = server.api.get("/environments/CartPole-v1").json()
    image = server.api.get(spec["preview_url"].removeprefix("/api"))

    assert spec["solved_threshold"] == 475
    assert image.headers["content-type"] == "image/png"
    assert Image.open(io.BytesIO(image.content)).size == (600, 400)


def test_an_old_environment_id_returns_its_successor(server: LabServer) -> None:
    assert server.api.get("/environments/LunarLander-v2").json()["id"] == "LunarLander-v3"


def test_an_unknown_environment_is_a_404_with_a_hint(server: LabServer) -> None:
    answer = server.api.get("/environments/CartPole-v9")

    assert answer.status_code == 404
    assert "CartPole-v1" in error_of(answer)["message"]


def test_algorithms_explain_every_hyperparameter(server: LabServer) -> None:
    items = server.api.get("/algorithms").json()["items"]

    assert {"PPO", "DQN", "SAC", "CrossQ"} <= {item["id"] for item in items}
    for parameter in items[0]["hyperparameters"]:
        assert {"name", "type", "default", "min", "max", "choices", "scale"} <= set(parameter)
        assert parameter["description"]


def test_a_finished_run_has_its_results_and_files(
    server: LabServer, finished: dict[str, Any]
) -> None:
    assert finished["status"] == "completed"
    assert finished["progress"] == 1.0
    assert finished["timesteps"] >= 4_000
    assert finished["latest"]["mean_reward"] > 0
    assert finished["error"] is None
    assert finished["config"]["seed"] == 3
    names = [artifact["name"] for artifact in finished["artifacts"]]
    assert names[:4] == ["model.zip", "policy.pt", "config.json", "metrics.jsonl"]
    assert all(re.fullmatch(r"checkpoint-\d+\.zip", name) for name in names[4:])
    assert server.messages(finished["id"])[-1].startswith("Training complete")


def test_the_downloaded_model_can_be_loaded_by_stable_baselines3(
    server: LabServer, finished: dict[str, Any]
) -> None:
    answer = server.api.get(f"/runs/{finished['id']}/artifacts/model.zip")

    assert answer.headers["content-type"] == "application/zip"
    assert "attachment" in answer.headers["content-disposition"]
    assert PPO.load(io.BytesIO(answer.content)).num_timesteps >= 4_000


@pytest.mark.parametrize(
    "name",
    ["../lab.db", "..%2Flab.db", "%2e%2e/lab.db", "worker.log", "nope", "%00", "/etc/passwd"],
)
def test_only_listed_artifacts_can_be_downloaded(
    server: LabServer, finished: dict[str, Any], name: str
) -> None:
    answer = server.api.get(f"/runs/{finished['id']}/artifacts/{name}")

    assert answer.status_code == 404
    assert error_of(answer)["code"] == "not_found"


def test_metrics_are_numbered_and_can_be_reduced(
    server: LabServer, finished: dict[str, Any]
) -> None:
    path = f"/runs/{finished['id']}/metrics"
    lines = server.api.get(path).json()["items"]
    tail = server.api.get(path, params={"tail": 3}).json()["items"]
    few = server.api.get(path, params={"max_points": 5, "names": "reward"}).json()["items"]
    named = server.api.get(path, params={"names": "loss"}).json()["items"]

    assert [line["n"] for line in lines] == list(range(1, len(lines) + 1))
    assert tail == lines[-3:]
    rewards = [line for line in lines if "reward" in line]
    assert 2 <= len(few) <= 5
    assert [few[0]["n"], few[-1]["n"]] == [rewards[0]["n"], rewards[-1]["n"]]
    assert max(line["reward"] for line in few) == max(line["reward"] for line in rewards)
    assert named
    assert all(set(line) == {"n", "t", "timesteps", "loss"} for line in named)


def test_the_event_log_is_sorted_newest_first_and_paged(
    server: LabServer, finished: dict[str, Any]
) -> None:
    path = f"/runs/{finished['id']}/events"
    everything = server.api.get(path).json()["items"]
    first = server.api.get(path, params={"limit": 1}).json()
    second = server.api.get(path, params={"limit": 1, "cursor": first["next"]}).json()

    assert [event["id"] for event in everything] == sorted(
        (event["id"] for event in everything), reverse=True
    )
    assert [first["items"][0], second["items"][0]] == everything[:2]


def test_lists_filter_sort_and_page(server: LabServer, finished: dict[str, Any]) -> None:
    listed = server.api.get("/runs", params={"q": "finished one", "status": "completed"}).json()

    assert finished["id"] in [run["id"] for run in listed["items"]]
    for params in ({"limit": 0}, {"limit": 501}, {"sort": "colour"}, {"cursor": "x"}, {"no": 1}):
        answer = server.api.get("/runs", params=params)
        assert answer.status_code == 422, params
        assert error_of(answer)["field"] == next(iter(params))


def test_a_run_can_be_renamed_tagged_and_archived(server: LabServer) -> None:
    run = server.create()
    path = f"/runs/{run['id']}"

    changed = server.api.patch(path, json={"name": "New", "tags": ["a"], "archived": True}).json()

    assert (changed["name"], changed["tags"], changed["archived"]) == ("New", ["a"], True)
    assert server.api.patch(path, json={"name": " "}).status_code == 422
    assert server.api.patch(path, json={"status": "completed"}).status_code == 422


def test_a_run_is_created_then_started_then_stopped_with_its_model(server: LabServer) -> None:
    run = server.create(**LONG)
    assert run["status"] == "created"
    path = f"/runs/{run['id']}"

    assert server.api.post(f"{path}/start").status_code == 202
    running = server.wait_for_steps(run["id"], 1_000)
    assert running["status"] == "running"
    assert server.api.delete(path).status_code == 409
    assert server.api.post(f"{path}/stop").status_code == 202
    stopped = server.wait_for(run["id"], "stopped")

    assert 0 < stopped["progress"] < 1
    assert "model.zip" in {artifact["name"] for artifact in stopped["artifacts"]}
    for verb in ("start", "stop"):
        answer = server.api.post(f"{path}/{verb}")
        assert answer.status_code == 409
        assert "is stopped" in error_of(answer)["message"]


def test_a_run_that_never_started_can_be_stopped(server: LabServer) -> None:
    run = server.create()

    stopped = server.api.post(f"/runs/{run['id']}/stop").json()

    assert stopped["status"] == "stopped"


def test_runs_beyond_the_limit_wait_and_train_in_turn(server: LabServer) -> None:
    first = server.create(start=True, total_timesteps=3_000, hyperparameters=SMALL)
    waiting = [
        server.create(start=True, total_timesteps=500, hyperparameters=SMALL) for _ in range(2)
    ]
    health = server.api.get("/health").json()["workers"]

    assert health["active"] <= health["limit"]
    for run in (first, *waiting):
        assert server.wait_for(run["id"], "completed")["status"] == "completed"
    assert "Waiting for a free worker." in server.messages(waiting[-1]["id"])


def test_a_deleted_run_is_gone_at_once_and_its_files_later(server: LabServer) -> None:
    run = server.create()

    assert server.api.delete(f"/runs/{run['id']}").status_code == 204
    assert server.api.get(f"/runs/{run['id']}").status_code == 404
    assert not (server.folder / run["id"]).exists()
    assert (server.folder / ".trash" / run["id"]).exists()
    wait_until(lambda: not (server.folder / ".trash" / run["id"]).exists(), within=20)


def test_an_old_environment_id_is_mapped_with_an_event(server: LabServer) -> None:
    run = server.create(env_id="LunarLander-v2")

    assert run["env_id"] == "LunarLander-v3"
    assert any(
        "LunarLander-v2 is an earlier version" in text for text in server.messages(run["id"])
    )


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ('{"env_id": "CartPole-v9", "algorithm": "PPO"}', 422, "env_id"),
        ('{"env_id": "BipedalWalker-v3", "algorithm": "DQN"}', 422, "algorithm"),
        ('{"env_id": "CartPole-v1", "algorithm": "PPO", "learning_rate": 0}', 422, "learning_rate"),
        ('{"env_id": "CartPole-v1", "algorithm": "PPO", "n_envs": 1e12}', 422, "n_envs"),
        ('{"env_id": "CartPole-v1"}', 422, "algorithm"),
        ("{nope", 400, None),
        ("[]", 422, "body"),
        ("", 422, "body"),
        (" " * (2 << 20), 413, None),
    ],
)  # fmt: skip
def test_invalid_input_leaves_nothing_behind(
    server: LabServer, body: str, status: int, field: str | None
) -> None:
    def count() -> tuple[int, int]:
        listed = server.api.get("/runs", params={"limit": 500, "archived": "all"}).json()["items"]
        return len(listed), len(list(server.folder.iterdir()))

    before = count()
    answer = server.api.post("/runs", content=body, headers={"content-type": "application/json"})

    assert answer.status_code == status
    assert error_of(answer)["field"] == field
    assert "Traceback" not in answer.text
    assert count() == before


def test_the_size_of_a_body_without_a_declared_length_is_limited(server: LabServer) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(40):
            yield b" " * (1 << 16)

    headers = {"content-type": "application/json"}
    answer = server.api.post("/runs", content=chunks(), headers=headers)

    assert answer.status_code == 413
    assert error_of(answer)["code"] == "too_large"


@pytest.mark.parametrize("cursor", ["x", "YWJ8eHl6", "YQ==", "%00", "w6k="])
def test_an_invalid_cursor_is_refused(server: LabServer, cursor: str) -> None:
    answer = server.api.get("/runs", params={"cursor": cursor})

    assert answer.status_code == 422
    assert error_of(answer)["field"] == "cursor"


def test_a_budget_is_unchanged_when_the_name_is_refused(server: LabServer) -> None:
    run = server.create()

    refused = server.api.patch(f"/runs/{run['id']}", json={"total_timesteps": 9, "name": " "})

    assert refused.status_code == 422
    assert server.get(run["id"])["config"]["total_timesteps"] == 2_000


def test_a_run_stopped_while_it_starts_ends_and_frees_its_worker(
    server: LabServer,
) -> None:
    for _ in range(3):
        run = server.create(**LONG, start=True)
        server.api.post(f"/runs/{run['id']}/stop")
        assert server.wait_for(run["id"], "stopped", within=30)["status"] == "stopped"

    wait_until(lambda: server.api.get("/health").json()["workers"]["active"] == 0)
    assert server.train(total_timesteps=300)["status"] == "completed"


def test_errors_of_unknown_paths_and_methods_have_the_same_shape(server: LabServer) -> None:
    assert error_of(server.api.get("/nothing"))["code"] == "not_found"
    assert error_of(server.api.get("/runs/nothing"))["message"] == "There is no run 'nothing'."
    assert error_of(server.api.put("/runs"))["code"] == "method_not_allowed"


def test_the_stream_of_all_lines_misses_none(server: LabServer) -> None:
    run = server.create(total_timesteps=3_000, hyperparameters=SMALL, start=True)

    with server.stream(f"/runs/{run['id']}/stream?all=1&after=0") as stream:
        events = list(stream)

    numbers = [
        line["n"]
        for event in events
        if event["event"] == "metrics"
        for line in json.loads(event["data"])["items"]
    ]
    total = len(server.api.get(f"/runs/{run['id']}/metrics").json()["items"])
    assert numbers == list(range(1, total + 1))
    statuses = [json.loads(e["data"])["status"] for e in events if e["event"] == "status"]
    assert statuses[-1] == "completed"
    assert json.loads(events[-1]["data"])["status"] == "completed"
    assert events[-1]["event"] == "end"


def test_a_stream_resumes_where_it_was_interrupted(
    server: LabServer, finished: dict[str, Any]
) -> None:
    path = f"/runs/{finished['id']}/stream?all=1"
    total = len(server.api.get(f"/runs/{finished['id']}/metrics").json()["items"])

    with server.stream(path, **{"Last-Event-ID": str(total - 2)}) as stream:
        metrics = [event for event in stream if event["event"] == "metrics"]

    assert [line["n"] for line in json.loads(metrics[0]["data"])["items"]] == [total - 1, total]
    assert metrics[0]["id"] == str(total)


def test_a_stream_without_options_skips_to_the_newest_line(
    server: LabServer, finished: dict[str, Any]
) -> None:
    total = len(server.api.get(f"/runs/{finished['id']}/metrics").json()["items"])

    with server.stream(f"/runs/{finished['id']}/stream?after=0") as stream:
        (metrics,) = [event for event in stream if event["event"] == "metrics"]

    line = json.loads(metrics["data"])
    assert line["n"] == total
    assert line["skipped"] == total - 1


def test_a_position_beyond_the_file_is_answered_with_truncated(
    server: LabServer, finished: dict[str, Any]
) -> None:
    total = len(server.api.get(f"/runs/{finished['id']}/metrics").json()["items"])

    with server.stream(f"/runs/{finished['id']}/stream?after={total + 50}") as stream:
        first = next(iter(stream))

    assert first["event"] == "truncated"
    assert json.loads(first["data"]) == {"n": total}


def test_the_event_log_can_be_streamed(server: LabServer, finished: dict[str, Any]) -> None:
    with server.stream(f"/runs/{finished['id']}/events/stream") as stream:
        *events, end = list(stream)

    assert end["event"] == "end"
    assert json.loads(end["data"])["status"] == "completed"
    assert {event["event"] for event in events} == {"log"}
    assert json.loads(events[-1]["data"])["event_type"] == "completed"
    assert [json.loads(event["data"])["message"] for event in events] == server.messages(
        finished["id"]
    )


def read_frame(data: bytes) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(data[:4], "big")
    return json.loads(data[4 : 4 + length]), data[4 + length :]


def test_live_frames_are_sent_while_a_client_acknowledges_them(server: LabServer) -> None:
    run = server.create(**LONG, start=True)
    address = f"{server.url.replace('http', 'ws')}/api/runs/{run['id']}/frames"

    with connect(address, origin=server.url) as socket:
        frames = []
        for _ in range(5):
            data = socket.recv(timeout=60)
            assert isinstance(data, bytes)
            frames.append(read_frame(data))
            socket.send("ack")
        still = server.api.get(f"/runs/{run['id']}/frame.jpg")
    server.api.post(f"/runs/{run['id']}/stop")
    server.wait_for(run["id"], "stopped")

    headers = [header for header, _ in frames]
    assert {"seq", "kind", "episode", "step", "reward", "return"} <= set(headers[0])
    assert headers[0]["kind"] == "training"
    assert [h["seq"] for h in headers] == sorted({h["seq"] for h in headers})
    assert Image.open(io.BytesIO(frames[0][1])).format == "JPEG"
    assert still.headers["content-type"] == "image/jpeg"
    # The last frame stays available after the end.
    assert server.api.get(f"/runs/{run['id']}/frame.jpg").status_code == 200


def test_a_client_that_never_acknowledges_gets_two_frames(server: LabServer) -> None:
    run = server.create(**LONG, start=True)
    address = f"{server.url.replace('http', 'ws')}/api/runs/{run['id']}/frames"

    with connect(address) as socket:
        for _ in range(2):
            socket.recv(timeout=60)
        with pytest.raises(TimeoutError):
            socket.recv(timeout=1.5)
        socket.send("ack")
        assert socket.recv(timeout=30)
    server.api.post(f"/runs/{run['id']}/stop")
    server.wait_for(run["id"], "stopped")


def test_nothing_is_rendered_without_a_subscriber(server: LabServer) -> None:
    run = server.create(**LONG, start=True)
    server.wait_for_steps(run["id"], 600)

    assert server.api.get(f"/runs/{run['id']}/frame.jpg").status_code == 404
    server.api.post(f"/runs/{run['id']}/stop")
    server.wait_for(run["id"], "stopped")


def test_frames_are_refused_to_other_origins(server: LabServer, finished: dict[str, Any]) -> None:
    address = f"{server.url.replace('http', 'ws')}/api/runs/{finished['id']}/frames"

    with pytest.raises(InvalidStatus, match="403"):
        connect(address, origin="http://evil.example")


def test_openapi_and_its_documentation_need_no_other_server(server: LabServer) -> None:
    schema = server.api.get("/openapi.json").json()
    page = server.api.get("/docs").text

    assert "/runs/{run_id}/stream" in schema["paths"]
    assert "//" not in page.replace("http://www.w3.org", "").split("<script>")[0].replace(
        "<!--", ""
    )
    assert httpx.get(f"{server.url}/assets/swagger-ui-bundle.js").status_code == 200


def test_timesteps_of_a_running_run_are_up_to_date(server: LabServer) -> None:
    run = server.create(**LONG, start=True)
    server.wait_for_steps(run["id"], 1)

    timesteps = set()
    for _ in range(6):
        timesteps.add(server.get(run["id"])["timesteps"])
        time.sleep(0.6)
    server.api.post(f"/runs/{run['id']}/stop")
    server.wait_for(run["id"], "stopped")

    assert len(timesteps) >= 3
