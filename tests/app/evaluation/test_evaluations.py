"""Evaluations on demand over the API, with real workers: numbers, videos, and failures."""

import io
import re
from collections.abc import Callable, Iterator
from typing import Any

import av
import pytest

from tests.app.evaluation.evaluating import BRIEF, OVER, Subject
from tests.conftest import free_port
from tests.lab_server import SLEEPING_REWARD, LabServer, wait_until

pytestmark = pytest.mark.slow

LONG: dict[str, Any] = {
    **BRIEF,
    "total_timesteps": 50_000_000,
    "reward_code": SLEEPING_REWARD.format(seconds=0.001),
    "start": True,
}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    folder = tmp_path_factory.mktemp("evaluations-lab")
    with LabServer(folder, free_port(), RL_LAB_WORKERS="1", RL_LAB_VIEWERS="1") as server:
        yield server


@pytest.fixture(scope="module")
def subject(lab: LabServer) -> Subject:
    return Subject(lab, lab.train(**BRIEF)["id"])


@pytest.fixture(scope="module")
def evaluation(subject: Subject) -> dict[str, Any]:
    return subject.evaluate(episodes=3, seed=42)


def test_the_statistics_of_an_evaluation_follow_from_its_episodes(
    subject: Subject, evaluation: dict[str, Any]
) -> None:
    assert evaluation["seeds"] == [42, 43, 44]
    assert evaluation["mean_return"] == pytest.approx(sum(evaluation["returns"]) / 3)
    assert evaluation["median_return"] == sorted(evaluation["returns"])[1]
    assert evaluation["min"] <= evaluation["mean_return"] <= evaluation["max"]
    assert evaluation["ci95"][0] <= evaluation["mean_return"] <= evaluation["ci95"][1]
    assert evaluation["lengths"] == [int(score) for score in evaluation["returns"]]
    assert (
        sum(evaluation["terminations"].values())
        == evaluation["episodes"]
        == evaluation["played"]
        == 3
    )
    assert evaluation["timesteps"] == subject.lab.get(subject.run_id)["timesteps"]
    log = subject.lab.messages(subject.run_id)
    assert "Evaluation started: 3 episodes." in log
    assert any(line.startswith("Evaluation complete: mean ") for line in log)


def test_the_same_seed_gives_the_same_returns_with_and_without_a_video(
    subject: Subject, evaluation: dict[str, Any]
) -> None:
    repeated = subject.evaluate(episodes=3, seed=42, record=False)

    assert repeated["returns"] == evaluation["returns"]
    assert repeated["video_url"] is None
    assert subject.video(repeated["id"]).status_code == 404


def test_the_video_is_complete_and_as_long_as_the_episodes(
    subject: Subject, evaluation: dict[str, Any]
) -> None:
    answer = subject.lab.api.get(evaluation["video_url"].removeprefix("/api"))

    assert (answer.status_code, answer.headers["content-type"]) == (200, "video/mp4")
    assert re.search(r'filename="eval_\d{8}-\d{6}\.mp4"', answer.headers["content-disposition"])
    container: Any = av.open(io.BytesIO(answer.content))
    stream = container.streams.video[0]
    assert (stream.codec.name, stream.pix_fmt) == ("h264", "yuv420p")
    assert (stream.width, stream.height) == (600, 400)
    assert float(stream.duration * stream.time_base) == pytest.approx(
        evaluation["video"]["seconds"]
    )
    # Every second step at 25 frames per second, and the last frame of each episode is held.
    assert sum(1 for _ in container.decode(video=0)) == pytest.approx(
        sum(evaluation["lengths"]) / 2 + 3 * 11, abs=9
    )
    assert len(answer.content) == evaluation["video"]["size"]


def test_the_replay_contains_every_step(subject: Subject, evaluation: dict[str, Any]) -> None:
    answer = subject.lab.api.get(f"{subject.path}/{evaluation['id']}/replay").json()

    moments = answer["moments"]
    assert answer["weighs"] == "probability"
    assert len(moments) == sum(evaluation["lengths"])
    for episode, score in enumerate(evaluation["returns"], start=1):
        assert sum(m["reward"] for m in moments if m["episode"] == episode) == score
    for moment in moments:
        assert len(moment["seen"]) == 4
        assert sum(moment["weighed"]) == pytest.approx(1, abs=1e-3)
        # The likeliest action is the one it took.
        assert moment["weighed"][int(moment["action"][0])] == max(moment["weighed"])
    pictures = [moment["picture"] for moment in moments]
    assert pictures == sorted(pictures)
    assert pictures[-1] < evaluation["video"]["seconds"] * evaluation["video"]["fps"]
    without = subject.evaluate(episodes=1, record=False)
    assert subject.lab.api.get(f"{subject.path}/{without['id']}/replay").status_code == 404


def test_a_video_is_served_in_byte_ranges(subject: Subject, evaluation: dict[str, Any]) -> None:
    whole = subject.video(evaluation["id"]).content

    middle = subject.video(evaluation["id"], Range="bytes=10-19")
    tail = subject.video(evaluation["id"], Range="bytes=-100")
    past_the_end = subject.video(evaluation["id"], Range=f"bytes={len(whole)}-")
    unknown_unit = subject.video(evaluation["id"], Range="pictures=1-2")

    assert (middle.status_code, middle.content) == (206, whole[10:20])
    assert middle.headers["content-range"] == f"bytes 10-19/{len(whole)}"
    assert (tail.status_code, tail.content) == (206, whole[-100:])
    assert past_the_end.status_code == 416
    assert past_the_end.json()["error"]["code"].endswith("range_not_satisfiable")
    assert (unknown_unit.status_code, unknown_unit.content) == (200, whole)


def test_old_videos_are_removed_and_pinned_ones_are_kept(lab: LabServer) -> None:
    subject = Subject(lab, lab.train(**BRIEF)["id"])
    first, second = (subject.evaluate(episodes=1)["id"] for _ in range(2))
    pinned = lab.api.patch(f"{subject.path}/{first}", json={"pinned": True})
    assert pinned.json()["pinned"]

    newer = [subject.evaluate(episodes=1)["id"] for _ in range(3)]

    assert subject.video(first).status_code == 200
    removed = subject.video(second)
    assert (removed.status_code, removed.json()["error"]["code"]) == (410, "gone")
    assert subject.get(second)["video_url"] is None
    assert subject.get(second)["mean_return"] is not None
    assert subject.files == {f"{one}.json" for one in (first, second, *newer)} | {
        f"{one}.{kind}" for one in (first, *newer) for kind in ("mp4", "steps.gz")
    }
    lab.api.patch(f"{subject.path}/{first}", json={"pinned": False})
    assert subject.video(first).status_code == 410


def test_evaluations_are_listed_newest_first(subject: Subject, evaluation: dict[str, Any]) -> None:
    newest = subject.evaluate(episodes=1, record=False)

    listed = subject.lab.api.get(subject.path, params={"limit": 1}).json()
    following = subject.lab.api.get(subject.path, params={"cursor": listed["next"]}).json()

    assert [one["id"] for one in listed["items"]] == [newest["id"]]
    assert evaluation["id"] in [one["id"] for one in following["items"]]
    assert following["next"] is None
    assert subject.lab.api.get(f"{subject.path}/latest").json() == newest
    bad = subject.lab.api.get(subject.path, params={"cursor": "nothing"})
    assert (bad.status_code, bad.json()["error"]["field"]) == (422, "cursor")


@pytest.mark.parametrize(
    ("options", "field"),
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
def test_invalid_options_are_refused(subject: Subject, options: dict[str, Any], field: str) -> None:
    before = subject.files

    answer = subject.request(**options)

    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)
    assert subject.files == before


def test_a_run_without_a_policy_is_refused(lab: LabServer) -> None:
    subject = Subject(lab, lab.create()["id"])

    answer = subject.request()

    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "wrong_state")
    assert "has no policy yet. Train it first." in answer.json()["error"]["message"]
    assert lab.api.get(f"{subject.path}/latest").status_code == 404
    assert lab.api.get(f"{subject.path}/nothing").status_code == 404
    assert Subject(lab, "0123456789ab").request().status_code == 404


def test_a_run_can_be_evaluated_while_it_trains_and_while_it_is_paused(lab: LabServer) -> None:
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


def test_an_evaluation_of_a_checkpoint_that_was_removed_meanwhile_fails_with_the_reason(
    lab: LabServer,
) -> None:
    subject = Subject(lab, lab.train(**BRIEF)["id"])
    checkpoints = lab.folder / subject.run_id / "checkpoints"
    step = max(int(path.stem) for path in checkpoints.glob("*.zip"))
    of_checkpoint = subject.evaluate(episodes=2, checkpoint=step)
    assert of_checkpoint["timesteps"] == step
    # The evaluation waits behind another; its checkpoint is removed before it starts.
    subject.start(episodes=8)
    waiting = subject.start(checkpoint=step)
    for path in checkpoints.iterdir():
        path.unlink()

    ended = subject.wait(waiting)

    assert ended["status"] == "failed"
    assert "checkpoint must be best or a step of which run" in ended["error"]


def test_evaluations_are_queued_up_to_a_limit_and_can_be_cancelled(
    lab: LabServer,
) -> None:
    subject = Subject(lab, lab.train(**BRIEF)["id"])
    five = [subject.start(episodes=100) for _ in range(5)]

    sixth = subject.request()

    assert (sixth.status_code, sixth.json()["error"]["code"]) == (429, "too_many")
    assert "retry-after" in sixth.headers
    assert subject.get(five[4])["status"] == "queued"
    for one in reversed(five):
        if subject.get(one)["status"] not in OVER:
            lab.api.post(f"{subject.path}/{one}/cancel")
    assert {subject.wait(one)["status"] for one in five} <= {"cancelled", "completed"}
    assert subject.get(five[4])["status"] == "cancelled"
    cancelled_again = lab.api.post(f"{subject.path}/{five[4]}/cancel")
    assert cancelled_again.status_code == 409
    assert "Evaluation cancelled." in lab.messages(subject.run_id)
    assert subject.evaluate(episodes=1)["status"] == "completed"
    assert not [name for name in subject.files if name.endswith((".pending", ".part"))]


def test_a_killed_worker_fails_only_its_own_evaluation(lab: LabServer) -> None:
    subject = Subject(lab, lab.train(**BRIEF)["id"])
    wait_until(lambda: not lab.workers())
    started = subject.start(episodes=100)
    wait_until(lambda: subject.get(started)["status"] == "running")

    for worker in lab.workers():
        worker.kill()

    ended = subject.wait(started)
    assert (ended["status"], ended["video_url"]) == ("failed", None)
    assert ended["error"] == "The worker ended without a message: it was killed, or its run ended."
    assert subject.files == {f"{started}.json"}
    assert any(
        line.startswith("Evaluation failed: The worker") for line in lab.messages(subject.run_id)
    )
    assert subject.evaluate(episodes=1)["status"] == "completed"


@pytest.mark.parametrize("end", [LabServer.terminate, LabServer.kill])
def test_unfinished_evaluations_fail_when_the_server_ends(
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


def test_the_evaluations_of_a_run_are_deleted_with_it(lab: LabServer) -> None:
    subject = Subject(lab, lab.train(**BRIEF)["id"])
    subject.start(episodes=100)

    assert lab.api.delete(f"/runs/{subject.run_id}").status_code == 204

    assert lab.api.get(subject.path).status_code == 404
    other = Subject(lab, lab.train(**BRIEF)["id"])
    assert other.evaluate(episodes=1)["status"] == "completed"
