"""Evaluations on demand over the API, with real workers: numbers, videos, and bad days."""

import io
import re
from collections.abc import Callable, Iterator
from typing import Any

import av
import pytest

from tests.app.evaluation.evaluating import BRIEF, OVER, Subject
from tests.conftest import free_port
from tests.lab_server import CALM, LabServer, wait_until

pytestmark = pytest.mark.slow

LONG: dict[str, Any] = {
    **BRIEF,
    "total_timesteps": 50_000_000,
    "reward_code": CALM.format(seconds=0.001),
    "start": True,
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    folder = tmp_path_factory.mktemp("tested-lab")
    with LabServer(folder, free_port(), RL_LAB_WORKERS="1", RL_LAB_VIEWERS="1") as server:
        yield server


@pytest.fixture(scope="module")
def subject(lab: LabServer) -> Subject:
    return Subject(lab, lab.train(**BRIEF)["id"])


@pytest.fixture(scope="module")
def found(subject: Subject) -> dict[str, Any]:
    return subject.evaluate(episodes=3, seed=42)


def test_an_evaluation_says_what_its_episodes_say(subject: Subject, found: dict[str, Any]) -> None:
    assert found["seeds"] == [42, 43, 44]
    assert found["mean_return"] == pytest.approx(sum(found["returns"]) / 3)
    assert found["median_return"] == sorted(found["returns"])[1]
    assert found["min"] <= found["ci95"][0] <= found["ci95"][1] <= found["max"]
    assert found["lengths"] == [int(score) for score in found["returns"]]
    assert sum(found["terminations"].values()) == found["episodes"] == found["played"] == 3
    assert found["timesteps"] == subject.lab.get(subject.run_id)["timesteps"]
    log = subject.lab.messages(subject.run_id)
    assert "Evaluation started: 3 episodes." in log
    assert any(line.startswith("Evaluation complete: mean ") for line in log)


def test_the_same_seed_gives_the_same_returns_with_and_without_a_video(
    subject: Subject, found: dict[str, Any]
) -> None:
    again = subject.evaluate(episodes=3, seed=42, record=False)

    assert again["returns"] == found["returns"]
    assert again["video_url"] is None
    assert subject.video(again["id"]).status_code == 404


def test_the_video_is_whole_and_as_long_as_the_episodes(
    subject: Subject, found: dict[str, Any]
) -> None:
    answer = subject.lab.api.get(found["video_url"].removeprefix("/api"))

    assert (answer.status_code, answer.headers["content-type"]) == (200, "video/mp4")
    assert re.search(r'filename="eval_\d{8}-\d{6}\.mp4"', answer.headers["content-disposition"])
    container: Any = av.open(io.BytesIO(answer.content))
    stream = container.streams.video[0]
    assert (stream.codec.name, stream.pix_fmt) == ("h264", "yuv420p")
    assert (stream.width, stream.height) == (600, 400)
    assert float(stream.duration * stream.time_base) == pytest.approx(found["video"]["seconds"])
    # Every second step at 25 pictures a second, and a moment on the last one of each episode.
    assert sum(1 for _ in container.decode(video=0)) == pytest.approx(
        sum(found["lengths"]) / 2 + 3 * 11, abs=9
    )
    assert len(answer.content) == found["video"]["size"]


def test_every_step_can_be_looked_up(subject: Subject, found: dict[str, Any]) -> None:
    answer = subject.lab.api.get(f"{subject.path}/{found['id']}/replay").json()

    moments = answer["moments"]
    assert answer["weighs"] == "probability"
    assert len(moments) == sum(found["lengths"])
    for episode, score in enumerate(found["returns"], start=1):
        assert sum(m["reward"] for m in moments if m["episode"] == episode) == score
    for moment in moments:
        assert len(moment["seen"]) == 4
        assert sum(moment["weighed"]) == pytest.approx(1, abs=1e-3)
        # The likeliest action is the one it took.
        assert moment["weighed"][int(moment["action"][0])] == max(moment["weighed"])
    pictures = [moment["picture"] for moment in moments]
    assert pictures == sorted(pictures)
    assert pictures[-1] < found["video"]["seconds"] * found["video"]["fps"]
    without = subject.evaluate(episodes=1, record=False)
    assert subject.lab.api.get(f"{subject.path}/{without['id']}/replay").status_code == 404


def test_a_part_of_a_video_can_be_asked_for(subject: Subject, found: dict[str, Any]) -> None:
    whole = subject.video(found["id"]).content

    part = subject.video(found["id"], Range="bytes=10-19")
    tail = subject.video(found["id"], Range="bytes=-100")
    beyond = subject.video(found["id"], Range=f"bytes={len(whole)}-")
    nonsense = subject.video(found["id"], Range="pictures=1-2")

    assert (part.status_code, part.content) == (206, whole[10:20])
    assert part.headers["content-range"] == f"bytes 10-19/{len(whole)}"
    assert (tail.status_code, tail.content) == (206, whole[-100:])
    assert beyond.status_code == 416
    assert beyond.json()["error"]["code"].endswith("range_not_satisfiable")
    assert (nonsense.status_code, nonsense.content) == (200, whole)


def test_old_videos_go_and_pinned_ones_stay(lab: LabServer) -> None:
    subject = Subject(lab, lab.train(**BRIEF)["id"])
    first, second = (subject.evaluate(episodes=1)["id"] for _ in range(2))
    pinned = lab.api.patch(f"{subject.path}/{first}", json={"pinned": True})
    assert pinned.json()["pinned"]

    newer = [subject.evaluate(episodes=1)["id"] for _ in range(3)]

    assert subject.video(first).status_code == 200
    gone = subject.video(second)
    assert (gone.status_code, gone.json()["error"]["code"]) == (410, "gone")
    assert subject.get(second)["video_url"] is None
    assert subject.get(second)["mean_return"] is not None
    assert subject.files == {f"{one}.json" for one in (first, second, *newer)} | {
        f"{one}.{kind}" for one in (first, *newer) for kind in ("mp4", "steps.gz")
    }
    lab.api.patch(f"{subject.path}/{first}", json={"pinned": False})
    assert subject.video(first).status_code == 410


def test_evaluations_are_listed_newest_first(subject: Subject, found: dict[str, Any]) -> None:
    newest = subject.evaluate(episodes=1, record=False)

    listed = subject.lab.api.get(subject.path, params={"limit": 1}).json()
    following = subject.lab.api.get(subject.path, params={"cursor": listed["next"]}).json()

    assert [one["id"] for one in listed["items"]] == [newest["id"]]
    assert found["id"] in [one["id"] for one in following["items"]]
    assert following["next"] is None
    assert subject.lab.api.get(f"{subject.path}/latest").json() == newest
    bad = subject.lab.api.get(subject.path, params={"cursor": "nothing"})
    assert (bad.status_code, bad.json()["error"]["field"]) == (422, "cursor")


@pytest.mark.parametrize(
    ("wishes", "field"),
    [
        ({"episodes": 10_000}, "episodes"),
        ({"episodes": 0}, "episodes"),
        ({"seed": -1}, "seed"),
        ({"record": "yes"}, "record"),
        ({"checkpoint": 7}, "checkpoint"),
        ({"checkpoint": "best"}, "checkpoint"),
        ({"checkpoint": ["best"]}, "checkpoint"),
        ({"code": "def judge(episode): return {}"}, "code"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_can_not_be_played_is_refused(
    subject: Subject, wishes: dict[str, Any], field: str
) -> None:
    before = subject.files

    answer = subject.ask(**wishes)

    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)
    assert subject.files == before


def test_a_run_without_a_policy_is_refused(lab: LabServer) -> None:
    subject = Subject(lab, lab.create()["id"])

    answer = subject.ask()

    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "wrong_state")
    assert "has no policy yet. Train it first." in answer.json()["error"]["message"]
    assert lab.api.get(f"{subject.path}/latest").status_code == 404
    assert lab.api.get(f"{subject.path}/nothing").status_code == 404
    assert Subject(lab, "0123456789ab").ask().status_code == 404


def test_a_run_is_evaluated_from_its_first_second_on_while_it_trains(lab: LabServer) -> None:
    subject = Subject(lab, lab.create(**LONG)["id"])

    early = subject.evaluate(episodes=1)
    lab.wait_for_steps(subject.run_id, early["timesteps"] + 1_000)
    late = subject.evaluate(episodes=1)
    lab.api.post(f"/runs/{subject.run_id}/pause")
    lab.wait_for(subject.run_id, "paused")
    paused = subject.evaluate(episodes=1)

    assert late["timesteps"] > early["timesteps"]
    assert paused["timesteps"] == lab.get(subject.run_id)["timesteps"]
    lab.api.post(f"/runs/{subject.run_id}/stop")
    lab.wait_for(subject.run_id, "stopped")


def test_a_checkpoint_that_goes_away_meanwhile_is_named(lab: LabServer) -> None:
    subject = Subject(lab, lab.train(**BRIEF)["id"])
    checkpoints = lab.folder / subject.run_id / "checkpoints"
    step = max(int(path.stem) for path in checkpoints.glob("*.zip"))
    of_checkpoint = subject.evaluate(episodes=2, checkpoint=step)
    assert of_checkpoint["timesteps"] == step
    # It waits behind another one, and is gone when its turn comes.
    subject.start(episodes=8)
    waiting = subject.start(checkpoint=step)
    for path in checkpoints.iterdir():
        path.unlink()

    ended = subject.wait(waiting)

    assert ended["status"] == "failed"
    assert "checkpoint must be best or a step of which run" in ended["error"]


def test_evaluations_wait_for_each_other_up_to_a_limit_and_can_be_cancelled(
    lab: LabServer,
) -> None:
    subject = Subject(lab, lab.train(**BRIEF)["id"])
    five = [subject.start(episodes=100) for _ in range(5)]

    sixth = subject.ask()

    assert (sixth.status_code, sixth.json()["error"]["code"]) == (429, "too_many")
    assert "retry-after" in sixth.headers
    assert subject.get(five[4])["status"] == "queued"
    for one in reversed(five):
        if subject.get(one)["status"] not in OVER:
            lab.api.post(f"{subject.path}/{one}/cancel")
    assert {subject.wait(one)["status"] for one in five} <= {"cancelled", "completed"}
    assert subject.get(five[4])["status"] == "cancelled"
    again = lab.api.post(f"{subject.path}/{five[4]}/cancel")
    assert again.status_code == 409
    assert "Evaluation cancelled." in lab.messages(subject.run_id)
    assert subject.evaluate(episodes=1)["status"] == "completed"
    assert not [name for name in subject.files if name.endswith((".pending", ".part"))]


def test_a_killed_worker_fails_its_evaluation_alone(lab: LabServer) -> None:
    subject = Subject(lab, lab.train(**BRIEF)["id"])
    wait_until(lambda: not lab.workers())
    started = subject.start(episodes=100)
    wait_until(lambda: subject.get(started)["status"] == "running")

    for worker in lab.workers():
        worker.kill()

    ended = subject.wait(started)
    assert (ended["status"], ended["video_url"]) == ("failed", None)
    assert (
        ended["error"] == "The worker ended without a word; something killed it, or its run ended."
    )
    assert subject.files == {f"{started}.json"}
    assert any(
        line.startswith("Evaluation failed: The worker") for line in lab.messages(subject.run_id)
    )
    assert subject.evaluate(episodes=1)["status"] == "completed"


@pytest.mark.parametrize("end", [LabServer.terminate, LabServer.kill])
def test_a_server_that_ends_leaves_no_evaluation_under_way(
    lab: LabServer, end: Callable[[LabServer], object]
) -> None:
    subject = Subject(lab, lab.train(**BRIEF)["id"])
    running, queued = subject.start(episodes=100), subject.start(episodes=100)
    subject.wait(running, "running")

    end(lab)
    lab.restart()

    for one in (running, queued):
        assert subject.get(one)["status"] == "failed"
        assert "The server ended" in subject.get(one)["error"]
    assert subject.files == {f"{running}.json", f"{queued}.json"}
    assert subject.evaluate(episodes=1)["status"] == "completed"


def test_a_deleted_run_takes_its_evaluations_along(lab: LabServer) -> None:
    subject = Subject(lab, lab.train(**BRIEF)["id"])
    subject.start(episodes=100)

    assert lab.api.delete(f"/runs/{subject.run_id}").status_code == 204

    assert lab.api.get(subject.path).status_code == 404
    other = Subject(lab, lab.train(**BRIEF)["id"])
    assert other.evaluate(episodes=1)["status"] == "completed"
