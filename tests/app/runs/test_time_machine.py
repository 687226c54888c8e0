"""The time machine over the API, with real workers: clips, the evolution video, and a restart."""

import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import av
import httpx
import pytest

from app.protocol.messages import encode_weights
from tests.conftest import free_port
from tests.lab_server import LabServer, wait_until

pytestmark = pytest.mark.slow

SMALL: dict[str, Any] = {"hyperparameters": {"n_steps": 64, "net_arch": [8]}, "n_envs": 2}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    folder = tmp_path_factory.mktemp("clips-lab")
    with LabServer(folder, free_port(), RL_LAB_WORKERS="1", RL_LAB_CLIPS="3") as server:
        yield server


@pytest.fixture(scope="module")
def run_id(lab: LabServer) -> str:
    run_id: str = lab.train(**SMALL)["id"]
    wait_until(
        lambda: not pending_policies(lab, run_id) and len(clips(lab, run_id)) > 1, within=180
    )
    return run_id


def clips(lab: LabServer, run_id: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = lab.api.get(f"/runs/{run_id}/clips").json()["items"]
    return items


def pending_policies(lab: LabServer, run_id: str) -> list[Path]:
    return [*(lab.folder / run_id / "clips").glob("*.policy")]


def get(lab: LabServer, url: str, **headers: str) -> httpx.Response:
    return lab.api.get(url.removeprefix("/api"), headers=headers)


def decode(content: bytes) -> list[Any]:
    with av.open(io.BytesIO(content)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def test_a_run_has_clips_from_its_first_step_to_its_last(lab: LabServer, run_id: str) -> None:
    items = clips(lab, run_id)

    steps = [clip["timesteps"] for clip in items]
    assert steps == sorted(steps)
    assert steps[-1] == lab.get(run_id)["timesteps"]
    assert all(clip["score"] >= 8 for clip in items)
    answer = get(lab, items[0]["url"])
    assert (answer.status_code, answer.headers["content-type"]) == (200, "video/mp4")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert len(answer.content) == items[0]["size"]
    frames = decode(answer.content)
    assert len(frames) == items[0]["seconds"] * items[0]["fps"] == 125
    assert frames[0].shape == (320, 480, 3)


def test_clips_are_served_in_byte_ranges_and_unknown_ones_get_404(
    lab: LabServer, run_id: str
) -> None:
    url = clips(lab, run_id)[-1]["url"]

    assert get(lab, url, Range="bytes=0-99").status_code == 206
    assert get(lab, url, Range="bytes=99999999-").status_code == 416
    assert get(lab, f"/api/runs/{run_id}/clips/7").status_code == 404
    assert get(lab, f"/api/runs/{run_id}/clips/x").status_code == 422
    assert lab.api.get("/runs/nothing/clips").status_code == 404


def test_the_evolution_video_joins_all_clips_with_captions(lab: LabServer, run_id: str) -> None:
    path = f"/runs/{run_id}/evolutions"
    with ThreadPoolExecutor() as clients:
        answers = list(clients.map(lambda _: lab.api.post(path), range(4)))
    answer, *refused = sorted(answers, key=lambda one: one.status_code)
    assert answer.status_code == 202
    assert [one.status_code for one in refused] == [409] * 3
    url = f"/runs/{run_id}/evaluations/{answer.json()['id']}"
    wait_until(lambda: lab.api.get(url).json()["status"] not in {"queued", "running"}, within=180)

    evolution = lab.api.get(url).json()

    assert (evolution["status"], evolution["error"]) == ("completed", None)
    assert lab.api.get(f"/runs/{run_id}/evolutions").json()["items"][0]["id"] == evolution["id"]
    frames = decode(get(lab, evolution["video_url"]).content)
    count = len(clips(lab, run_id))
    assert evolution["episodes"] == count
    assert len(frames) == 125 * count
    captions = [frame[-30:] for frame in (frames[0], frames[-1])]
    assert all(caption.max() > 180 and caption.mean() < 80 for caption in captions)
    assert (captions[0] != captions[1]).any()


def test_a_run_without_clips_has_no_evolution_video(lab: LabServer) -> None:
    created = lab.create(**SMALL)

    answer = lab.api.post(f"/runs/{created['id']}/evolutions")

    assert answer.status_code == 409
    assert "fewer than two clips" in answer.json()["error"]["message"]


def test_after_a_restart_clips_are_kept_and_pending_ones_are_recorded(
    lab: LabServer, run_id: str
) -> None:
    before = clips(lab, run_id)
    lab.kill()
    folder = lab.folder / run_id / "clips"
    last = before[-1]["timesteps"]
    policy = (lab.folder / run_id / "policy.pt").read_bytes()
    for ending in ("json", "mp4"):
        (folder / f"{last}.{ending}").unlink()
    (folder / f"{last}.policy").write_bytes(encode_weights(policy, timesteps=last))
    (folder / "5.policy").write_bytes(encode_weights(b"no policy", timesteps=5))

    lab.restart()

    wait_until(lambda: not pending_policies(lab, run_id), within=180)
    # The snapshot that can't be played is skipped; the other clips are unchanged.
    after = clips(lab, run_id)
    assert after[:-1] == before[:-1]
    assert [after[-1][name] for name in ("timesteps", "score")] == [last, before[-1]["score"]]
