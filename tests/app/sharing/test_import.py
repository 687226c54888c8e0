import json
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.app.sharing import bundles
from tests.lab_server import LabServer, wait_until

pytestmark = pytest.mark.slow

SMALL = {"n_steps": 64, "batch_size": 64, "n_epochs": 3, "net_arch": [16]}

Start = Callable[..., LabServer]


def export(lab: LabServer, run_id: str) -> bytes:
    answer = lab.api.get(f"/runs/{run_id}/artifacts/bundle.zip")
    assert answer.status_code == 200
    return answer.content


def send(lab: LabServer, body: bytes) -> Any:
    return lab.api.post(
        "/runs/import", content=body, headers={"Content-Type": "application/zip"}, timeout=60
    )


@pytest.fixture(scope="module")
def bundle(server: LabServer) -> bytes:
    run = server.train(name="Fläche & co/1", hyperparameters=SMALL, tags=["a"], total_timesteps=640)
    assert run["status"] == "completed", run["error"]
    evaluate(server, run["id"], record=True)
    return export(server, run["id"])


def evaluate(lab: LabServer, run_id: str, *, record: bool) -> dict[str, Any]:
    wanted = {"episodes": 2, "record": record}
    test = lab.api.post(f"/runs/{run_id}/evaluations", json=wanted).json()
    path = f"/runs/{run_id}/evaluations/{test['id']}"
    wait_until(lambda: lab.api.get(path).json()["status"] == "completed", within=60)
    evaluation: dict[str, Any] = lab.api.get(path).json()
    return evaluation


def test_a_run_resumed_in_another_lab_is_bit_identical(
    server: LabServer, start_server: Start
) -> None:
    options = {"hyperparameters": SMALL, "total_timesteps": 120_000, "seed": 4}
    whole = server.train(**options)
    cut = server.create(**options, start=True, name="cut short", tags=["x"])
    server.wait_for_steps(cut["id"], 15_000)
    server.api.post(f"/runs/{cut['id']}/stop")
    stopped = server.wait_for(cut["id"], "stopped", "completed")
    assert stopped["status"] == "stopped", "it was too quick to be stopped"
    other_lab = start_server()

    answer = send(other_lab, export(server, cut["id"]))

    assert answer.status_code == 201, answer.text
    run = answer.json()
    assert run["id"] != cut["id"]
    same = ("name", "tags", "status", "timesteps", "config", "best", "episodes")
    assert {name: run[name] for name in same} == {name: stopped[name] for name in same}
    log = other_lab.messages(run["id"])
    assert log[:-1] == server.messages(cut["id"])
    assert f"run {cut['id']} of a lab" in log[-1]
    other_lab.api.post(f"/runs/{run['id']}/resume")
    assert other_lab.wait_for(run["id"], "completed", "failed")["status"] == "completed"
    for name in ("policy.pt",):
        ours = other_lab.api.get(f"/runs/{run['id']}/artifacts/{name}").content
        assert ours == server.api.get(f"/runs/{whole['id']}/artifacts/{name}").content
    ours, theirs = (
        lab.api.get(f"/runs/{run_id}/metrics?names=reward").json()["items"]
        for lab, run_id in ((other_lab, run["id"]), (server, whole["id"]))
    )
    assert [one["reward"] for one in ours] == [one["reward"] for one in theirs]


def test_an_imported_run_keeps_what_an_extension_did_to_its_schedules(server: LabServer) -> None:
    values = {**SMALL, "learning_rate": "1e-3 -> 1e-4"}
    run = server.train(hyperparameters=values, total_timesteps=512, n_envs=1)
    extended = server.api.patch(f"/runs/{run['id']}", json={"total_timesteps": 1_024}).json()

    imported = send(server, export(server, run["id"])).json()

    assert imported["config"]["schedule_timesteps"] == 512
    (before,), (after,) = (one["config"]["changes"] for one in (extended, imported))
    assert before["schedules"] == "hold"
    assert before.items() <= after.items()


def test_an_imported_run_has_its_evaluations_and_videos(server: LabServer, bundle: bytes) -> None:
    run = send(server, bundle).json()

    evaluation = server.api.get(f"/runs/{run['id']}/evaluations").json()["items"][0]
    assert (evaluation["run_id"], evaluation["episodes"]) == (run["id"], 2)
    assert (
        server.api.get(f"/runs/{run['id']}/evaluations/{evaluation['id']}/video").status_code == 200
    )
    replay = server.api.get(f"/runs/{run['id']}/evaluations/{evaluation['id']}/replay")
    assert replay.json()["moments"]
    assert evaluate(server, run["id"], record=False)["returns"] == evaluation["returns"]


def with_evaluation(bundle: bytes, name: str, mean: float) -> bytes:
    def change(manifest: dict[str, Any]) -> None:
        manifest["run"][name] = mean

    return bundles.pack(bundles.with_manifest(bundles.read(bundle), change))


def test_an_imported_run_is_sorted_by_its_score(server: LabServer, bundle: bytes) -> None:
    run = send(server, with_evaluation(bundle, "last_evaluation", 999.0)).json()

    highest, lower = server.api.get("/runs", params={"sort": "-score", "limit": 2}).json()["items"]

    assert (highest["id"], highest["score"]) == (run["id"], 999.0)
    assert lower["score"] < 999.0


def test_a_score_keeps_its_kind_from_bundle_to_bundle(server: LabServer, bundle: bytes) -> None:
    first = send(server, with_evaluation(bundle, "best_evaluation", 99.5)).json()

    second = send(server, export(server, first["id"])).json()

    for run in (first, second):
        assert (run["score"], run["score_kind"]) == (99.5, "best_evaluation")


def test_a_bundle_is_named_after_its_run(server: LabServer) -> None:
    run = server.create(name='x"; rm -rf /: ü')

    answer = server.api.get(f"/runs/{run['id']}/artifacts/bundle.zip")

    assert answer.headers["Content-Disposition"] == 'attachment; filename="x-rm--rf.rllab.zip"'


def _bad_bundles(good: bytes) -> dict[str, tuple[bytes, str]]:
    files = bundles.read(good)
    record = next(name for name in files if name.startswith("evaluations/") and ".json" in name)
    metadata = next(name for name in files if name.startswith("checkpoints/") and ".json" in name)
    config = json.loads(files["config.json"])
    lines = files["metrics.jsonl"].splitlines(keepends=True)

    def with_changed_manifest(change: Callable[[dict[str, Any]], None]) -> bytes:
        return bundles.pack(bundles.with_manifest(files, change))

    def with_config(**values: Any) -> bytes:
        return bundles.changed(good, **{"config.json": json.dumps({**config, **values}).encode()})

    def replaced(name: str, content: bytes) -> bytes:
        return bundles.changed(good, **{name: content})

    def with_extra(name: str, content: bytes = b"x") -> bytes:
        return bundles.pack(bundles.with_manifest({**files, name: content}))

    tampered = {**files, "model.zip": files["model.zip"][:-1] + b"!"}
    deep = b'{"env_id": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    return {
        "empty": (b"", "The body is empty"),
        "not a zip": (b"hello " * 100, "This is not a zip file"),
        "truncated": (good[: len(good) // 2], "it is incomplete"),
        "prefixed": (b"MZ" + good, "it is incomplete"),
        "commented": (bundles.pack(files)[:-2] + b"\x05\0hello", "it is incomplete"),
        "damaged": (
            good[:200] + bytes(byte ^ 255 for byte in good[200:260]) + good[260:],
            "damaged|can't be read|it is incomplete|holds|isn't what",
        ),
        "foreign": (bundles.pack({"notes.txt": b"hi"}), "not part of a run"),
        "without a manifest": (_without(files), "no manifest.json"),
        "tampered": (bundles.pack(tampered), "model.zip doesn't match the bundle's manifest"),
        "unlisted": (
            bundles.pack({**files, "reward.py": b"1"}),
            "differ from those in its manifest",
        ),
        "missing": (
            with_changed_manifest(lambda m: m["files"].pop()),
            "differ from those in its manifest",
        ),
        "climbing": (with_extra("../../evil.py"), "not part of a run"),
        "absolute": (with_extra("/etc/passwd"), "not part of a run"),
        "backslashes": (with_extra("..\\evil.py"), "not part of a run"),
        "nul": (
            with_extra("config.json-.png").replace(b"json-.png", b"json\0.png"),
            "not part of a run",
        ),
        "hidden": (with_extra(".lock"), "not part of a run"),
        "a linked file": (bundles.with_link(good), "is a link"),
        "a bomb": (with_extra("reward.py", b"\0" * (60 << 10) * 20), "is larger than 64 KiB"),
        "a large bomb": (
            with_extra("best.pt", b"\0" * (64 << 20)),
            "implausible compression ratio",
        ),
        "newer": (
            with_changed_manifest(lambda m: m.update(schema=2, more=1)),
            "made by a newer lab",
        ),
        "of another kind": (
            with_changed_manifest(lambda m: m.update(format="x")),
            "another format",
        ),
        "wrong types": (
            with_changed_manifest(lambda m: m["run"].update(timesteps="many")),
            "manifest can't be read",
        ),
        "unknown fields": (
            with_changed_manifest(lambda m: m.update(token="x")),
            "manifest can't be read",
        ),
        "negative": (
            with_changed_manifest(lambda m: m["run"].update(timesteps=-1)),
            "manifest can't be read",
        ),
        "two stories": (with_config(algorithm="A2C", hyperparameters={}), "A2C|describe different"),
        "greedy": (with_config(n_envs=10_000), "n_envs must be at most 64"),
        "unknown environment": (with_config(env_id="Nope-v0"), "Unknown environment"),
        "unknown setting": (with_config(shell="sh"), "Unknown field 'shell'"),
        "another environment": (
            with_config(env_code="x = 1"),
            "is a different environment in this lab",
        ),
        "bad change": (
            with_config(changes=[{"timesteps": 1, "learning_rate": -5.0}]),
            "learning_rate must be",
        ),
        "deep": (replaced("config.json", deep), "config.json can't be read"),
        "a list": (replaced("config.json", b"[]"), "config.json can't be read"),
        "not numbered": (replaced("metrics.jsonl", lines[1]), "Line 1 of metrics.jsonl says"),
        "cut metrics": (
            replaced("metrics.jsonl", files["metrics.jsonl"][:-5]),
            "is too long or truncated",
        ),
        "no numbers": (
            replaced("metrics.jsonl", lines[0].replace(b'"n":1', b'"n":1,"x":[1]')),
            "Line 1 of metrics.jsonl can't be read",
        ),
        "infinite": (
            replaced("metrics.jsonl", lines[0].replace(b'"n":1', b'"n":1,"x":1e999')),
            "Line 1 of metrics.jsonl can't be read",
        ),
        "too few lines": (
            replaced("metrics.jsonl", lines[0]),
            "lines of metrics, the bundle has 1",
        ),
        "another's metadata": (
            replaced(metadata, b'{"timesteps": 1, "lines": 1, "sha256": "x"}'),
            "describes another checkpoint",
        ),
        "half a checkpoint": (bundles.changed(good, **{metadata: None}), "is incomplete"),
        "another's evaluation": (
            replaced(record, files[record].replace(b'"id": "', b'"id": "0')),
            "belongs to another evaluation",
        ),
        "no film": (replaced(record.replace(".json", ".mp4"), b"<html>"), "is not an MP4"),
        "no steps": (replaced(record.replace(".json", ".steps.gz"), b"x"), "can't be read"),
        "no log": (replaced("events.json", b'[{"message": 1}]'), "events.json can't be read"),
    }


def _without(files: bundles.Files) -> bytes:
    return bundles.pack({name: files[name] for name in files if name != "manifest.json"})


def test_an_invalid_bundle_is_refused_with_the_reason_and_leaves_no_files(
    server: LabServer, bundle: bytes
) -> None:
    def all_files() -> set[Path]:
        return {path for path in server.folder.rglob("*") if ".db" not in path.name}

    runs = len(server.api.get("/runs?limit=500").json()["items"])
    before = all_files()
    unexpected = {}

    for name, (body, sentence) in _bad_bundles(bundle).items():
        answer = send(server, body)
        message = answer.json()["error"]["message"] if answer.status_code != 201 else "accepted"
        if answer.status_code != 422 or not re.search(sentence, message):
            unexpected[name] = (answer.status_code, message)

    assert unexpected == {}
    assert len(server.api.get("/runs?limit=500").json()["items"]) == runs
    assert all_files() - before <= {server.folder / ".arriving"}


def test_a_bundle_with_a_duplicate_file_is_refused(server: LabServer, bundle: bytes) -> None:
    packed = bundles.pack(bundles.read(bundle))
    twice = packed.replace(b"policy.json", b"config.json")

    answer = send(server, twice)

    assert answer.status_code == 422
    assert "twice" in answer.json()["error"]["message"]


def test_a_bundle_that_is_too_large_is_refused_before_it_is_read(server: LabServer) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(
            f"POST /api/runs/import HTTP/1.1\r\nHost: {host}\r\n"
            f"Content-Type: application/zip\r\nContent-Length: {(512 << 20) + 1}\r\n\r\n".encode()
        )
        answer = connection.recv(100)

    assert answer.startswith(b"HTTP/1.1 413")


def test_pinned_checkpoints_are_kept_and_exported(start_server: Start) -> None:
    lab = start_server(RL_LAB_KEEP_CHECKPOINTS="1")
    run = lab.create(hyperparameters=SMALL, total_timesteps=2_000, start=True)
    lab.wait_for(run["id"], "completed")
    path = f"/runs/{run['id']}/artifacts"
    first = next(one for one in lab.api.get(path).json()["items"] if one["kind"] == "checkpoint")
    assert first["timesteps"] >= 2_000
    assert first["score_from"] == "training"
    assert lab.api.patch(f"{path}/{first['name']}", json={"pinned": True}).json()["pinned"]
    assert lab.api.patch(f"{path}/model.zip", json={"pinned": True}).status_code == 404

    lab.api.patch(f"/runs/{run['id']}", json={"total_timesteps": 4_000})
    lab.api.post(f"/runs/{run['id']}/resume")
    lab.wait_for(run["id"], "completed")

    kept = {one["name"]: one for one in lab.api.get(path).json()["items"] if one["kind"]}
    assert kept[first["name"]]["pinned"]
    assert sum(one["kind"] == "checkpoint" for one in kept.values()) == 2
    assert kept["model.zip"]["timesteps"] >= 4_000
    files = bundles.read(export(lab, run["id"]))
    assert f"checkpoints/{first['timesteps']}.zip" in files
