"""The time machine over the API, with real workers: clips, the evolution video, and a restart."""

import io
from collections.abc import Iterator
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
    folder = tmp_path_factory.mktemp("filmed-lab")
    with LabServer(folder, free_port(), RL_LAB_WORKERS="1", RL_LAB_CLIPS="3") as server:
        yield server


@pytest.fixture(scope="module")
def run_id(lab: LabServer) -> str:
    found: str = lab.train(**SMALL)["id"]
    wait_until(lambda: not waiting(lab, found) and len(clips(lab, found)) > 1, within=180)
    return found


def clips(lab: LabServer, run_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = lab.api.get(f"/runs/{run_id}/clips").json()["items"]
    return found


def waiting(lab: LabServer, run_id: str) -> list[Path]:
    return [*(lab.folder / run_id / "clips").glob("*.policy")]


def get(lab: LabServer, url: str, **headers: str) -> httpx.Response:
    return lab.api.get(url.removeprefix("/api"), headers=headers)


def pictures(content: bytes) -> list[Any]:
    with av.open(io.BytesIO(content)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def test_a_run_has_clips_from_its_first_step_to_its_last(lab: LabServer, run_id: str) -> None:
    found = clips(lab, run_id)

    steps = [clip["timesteps"] for clip in found]
    assert steps == sorted(steps)
    assert steps[-1] == lab.get(run_id)["timesteps"]
    assert all(clip["score"] >= 8 for clip in found)
    answer = get(lab, found[0]["url"])
    assert (answer.status_code, answer.headers["content-type"]) == (200, "video/mp4")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert len(answer.content) == found[0]["size"]
    shown = pictures(answer.content)
    assert len(shown) == found[0]["seconds"] * found[0]["fps"] == 125
    assert shown[0].shape == (320, 480, 3)


def test_clips_are_served_in_parts_and_unknown_ones_are_unknown(
    lab: LabServer, run_id: str
) -> None:
    url = clips(lab, run_id)[-1]["url"]

    assert get(lab, url, Range="bytes=0-99").status_code == 206
    assert get(lab, url, Range="bytes=99999999-").status_code == 416
    assert get(lab, f"/api/runs/{run_id}/clips/7").status_code == 404
    assert get(lab, f"/api/runs/{run_id}/clips/x").status_code == 422
    assert lab.api.get("/runs/nothing/clips").status_code == 404


def test_the_evolution_strings_all_clips_together_with_words_below(
    lab: LabServer, run_id: str
) -> None:
    answer = lab.api.post(f"/runs/{run_id}/evolutions")
    assert answer.status_code == 202
    assert lab.api.post(f"/runs/{run_id}/evolutions").status_code == 409
    url = f"/runs/{run_id}/evaluations/{answer.json()['id']}"
    wait_until(lambda: lab.api.get(url).json()["status"] not in {"queued", "running"}, within=180)

    found = lab.api.get(url).json()

    assert (found["status"], found["error"]) == ("completed", None)
    assert lab.api.get(f"/runs/{run_id}/evolutions").json()["items"][0]["id"] == found["id"]
    shown = pictures(get(lab, found["video_url"]).content)
    count = len(clips(lab, run_id))
    assert found["episodes"] == count
    assert len(shown) == 125 * count
    below = [picture[-30:] for picture in (shown[0], shown[-1])]
    assert all(words.max() > 180 and words.mean() < 80 for words in below)
    assert (below[0] != below[1]).any()


def test_a_run_without_clips_has_no_evolution(lab: LabServer) -> None:
    created = lab.create(**SMALL)

    answer = lab.api.post(f"/runs/{created['id']}/evolutions")

    assert answer.status_code == 409
    assert "fewer than two clips" in answer.json()["error"]["message"]


def test_after_a_restart_all_is_there_and_what_waited_is_filmed(
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

    wait_until(lambda: not waiting(lab, run_id), within=180)
    # What can't be played is left out, and the rest is as it was.
    again = clips(lab, run_id)
    assert again[:-1] == before[:-1]
    assert [again[-1][name] for name in ("timesteps", "score")] == [last, before[-1]["score"]]
