"""Previews of environments over the API, in real workers."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpx
import numpy as np
import psutil
import pytest
from PIL import Image
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from app.catalog.environments.catalogue import ENVIRONMENTS
from tests.app.accounts.users import ApiUser, new_user
from tests.conftest import free_port
from tests.lab_server import LabServer, is_alive, wait_until

pytestmark = pytest.mark.slow

MISSING = [spec for spec in ENVIRONMENTS.values() if not spec.is_installed]


class Preview:
    def __init__(self, api: httpx.Client, **options: Any) -> None:
        self.api = api
        self.answer = api.post("/previews", json={"mode": "step", **options})
        assert self.answer.status_code == 201, self.answer.text
        self.id = self.answer.json()["id"]
        self.path = f"/previews/{self.id}"

    def post(self, route: str, **body: Any) -> httpx.Response:
        return self.api.post(f"{self.path}/{route}", json=body)

    def step(self, action: Any = None) -> dict[str, Any]:
        answer = self.post("step", action=action)
        assert answer.status_code == 200, answer.text
        state: dict[str, Any] = answer.json()
        return state

    def to_the_end(self, action: Any = None) -> dict[str, Any]:
        state = self.step(action)
        while not (state["terminated"] or state["truncated"]):
            state = self.step(action)
        return state


@contextmanager
def previewing(api: httpx.Client, env_id: str = "CartPole-v1", **options: Any) -> Iterator[Preview]:
    preview = Preview(api, env_id=env_id, **options)
    yield preview
    api.delete(preview.path)


def error_of(answer: httpx.Response) -> dict[str, Any]:
    error: dict[str, Any] = answer.json()["error"]
    return error


def connect_frames(server: LabServer, path: str) -> ClientConnection:
    return connect(f"{server.url.replace('http', 'ws')}/api{path}/frames")


def close_code(socket: ClientConnection) -> int | None:
    """Receive until the server closes the socket; return the close code."""
    try:
        while True:
            socket.recv(timeout=20)
    except ConnectionClosed:
        return socket.close_code


def wait_for_preview_images(lab: LabServer) -> None:
    """Wait until the worker that renders all preview images at the start has ended."""
    assert lab.api.get("/environments/CartPole-v1/preview.png").status_code == 200
    wait_until(lambda: lab.workers() == [], within=60)


def only_worker(lab: LabServer) -> psutil.Process:
    # The worker that renders preview images may only just have started.
    wait_until(lambda: len(lab.workers()) == 1, within=60)
    (worker,) = lab.workers()
    return worker


def next_header(socket: ClientConnection) -> dict[str, Any]:
    message = socket.recv(timeout=20)
    socket.send("ack")
    assert isinstance(message, bytes)
    length = int.from_bytes(message[:4], "big")
    assert Image.open(io.BytesIO(message[4 + length :])).format == "JPEG"
    header: dict[str, Any] = json.loads(message[4 : 4 + length])
    return header


def test_a_preview_steps_forward_and_back_and_resets(server: LabServer) -> None:
    with previewing(server.api, seed=3) as preview:
        first = preview.answer.json()["state"]
        left = preview.step(0)
        right = preview.step(1)
        back = preview.post("back").json()
        same = preview.post("reset").json()
        other = preview.post("reset", seed=4).json()
        random = preview.step()

    assert [one["name"] for one in left["observation"]] == [
        "cart position",
        "cart velocity",
        "pole angle",
        "pole angular velocity",
    ]
    assert left["observation"][0]["high"] == 4.8
    assert left["observation"][1]["high"] is None
    assert (right["step"], right["reward"], right["return"]) == (2, 1.0, 2.0)
    assert back == {**left, "is_exact": True}
    assert same["observation"] == first["observation"]
    assert (other["seed"], other["step"], other["action"]) == (4, 0, None)
    assert random["action"] in (0, 1)
    assert left["info"] == {}


def test_an_invalid_request_is_refused_with_its_field(server: LabServer) -> None:
    with previewing(server.api) as preview:
        for action in (2, "left", [0], 0.5, True):
            answer = preview.post("step", action=action)
            assert answer.status_code == 422
            assert error_of(answer)["field"] == "action"
        assert (
            "0 (push left), 1 (push right)" in error_of(preview.post("step", action=7))["message"]
        )
        assert error_of(preview.post("step", what=1))["field"] == "what"
        assert error_of(preview.post("reset", seed=-1))["field"] == "seed"
        slow = server.api.patch(preview.path, json={"speed": 3})
        assert (slow.status_code, error_of(slow)["field"]) == (422, "speed")
        assert preview.step(1)["step"] == 1

    for body, field in (
        ({}, "env_id"),
        ({"env_id": "CartPole-v7"}, "env_id"),
        ({"env_id": "CartPole-v1", "mode": "dance"}, "mode"),
        ({"env_id": "CartPole-v1", "seed": "x"}, "seed"),
    ):
        answer = server.api.post("/previews", json=body)
        assert (answer.status_code, error_of(answer)["field"]) == (422, field)


def test_continuous_actions_are_checked_against_the_bounds_of_the_environment(
    server: LabServer,
) -> None:
    with previewing(server.api, "Pendulum-v1") as preview:
        assert preview.step([1.5])["action"] == [1.5]
        answer = preview.post("step", action=[2.5])

    assert answer.status_code == 422
    assert "from -2 to 2 at place 1, got 2.5" in error_of(answer)["message"]


def test_an_ended_episode_takes_no_step_but_can_step_back(server: LabServer) -> None:
    with previewing(server.api, seed=1) as preview:
        end = preview.to_the_end(0)
        after = preview.post("step", action=0)
        back = preview.post("back").json()

    assert end["terminated"]
    assert (after.status_code, error_of(after)["code"]) == (409, "wrong_mode")
    assert back["step"] == end["step"] - 1
    assert not back["terminated"]


def test_frames_of_a_preview_have_the_format_of_those_of_a_run(server: LabServer) -> None:
    with previewing(server.api, seed=1) as preview:
        with connect_frames(server, preview.path) as socket:
            first = next_header(socket)
            preview.step(1)
            # The first frame is rendered again for a new subscriber.
            while (second := next_header(socket))["step"] == 0:
                pass

        assert (first["kind"], first["step"], first["episode"]) == ("preview", 0, 1)
        assert second["step"] == 1
        assert second["return"] == 1.0
        assert second["seq"] > first["seq"]


def test_a_random_agent_steps_by_itself_and_can_be_taken_over(server: LabServer) -> None:
    with previewing(server.api, "LunarLander-v3", mode="random") as preview:
        with connect_frames(server, preview.path) as socket:
            steps = [next_header(socket)["step"] for _ in range(6)]
        refused = preview.post("step", action=0)
        taken = server.api.patch(preview.path, json={"mode": "step"}).json()
        mine = preview.step(2)

    assert steps == sorted(steps)
    assert steps[-1] > steps[0]
    assert (refused.status_code, error_of(refused)["code"]) == (409, "wrong_mode")
    assert taken["mode"] == "step"
    assert mine["action"] == 2


def test_a_played_episode_can_be_saved_downloaded_and_deleted(server: LabServer) -> None:
    with previewing(server.api, mode="play", seed=2) as preview:
        early = preview.post("demonstration")
        preview.post("hold", actions=[0])
        wait_until(lambda: bool(server.api.get(preview.path).json()["state"]["terminated"]))
        total = server.api.get(preview.path).json()["state"]["return"]
        saved = preview.post("demonstration")

    assert (early.status_code, error_of(early)["code"]) == (409, "nothing_to_keep")
    assert saved.status_code == 201
    demonstration = saved.json()
    assert demonstration["total"] == demonstration["steps"] == total
    listed = server.api.get("/demonstrations", params={"env_id": "CartPole-v1"}).json()["items"]
    assert demonstration["id"] in {one["id"] for one in listed}
    content = server.api.get(demonstration["url"].removeprefix("/api")).content
    arrays = np.load(io.BytesIO(content), allow_pickle=False)
    assert arrays["observations"].shape == (total + 1, 4)
    assert set(arrays["actions"].tolist()) == {0}
    assert arrays["dones"].tolist() == [False] * (int(total) - 1) + [True]
    path = f"/demonstrations/{demonstration['id']}"
    assert server.api.delete(path).status_code == 204
    assert server.api.delete(path).status_code == 404
    assert server.api.get(path).status_code == 404


def test_ids_with_slashes_and_environments_outside_the_catalogue_work(server: LabServer) -> None:
    with previewing(server.api, "ALE/Pong-v5") as preview:
        assert preview.step(2)["observation"] is None
    with previewing(server.api, "CliffWalkingSlippery-v1") as other:
        (state,) = other.step(1)["observation"]
        assert (state["name"], state["high"]) == ("state", 47)


@pytest.mark.skipif(not MISSING, reason="every family is installed here")
def test_an_environment_that_is_not_installed_is_refused_with_the_install_command(
    server: LabServer,
) -> None:
    answer = server.api.post("/previews", json={"env_id": MISSING[0].id})

    assert (answer.status_code, error_of(answer)["code"]) == (422, "not_installed")
    assert MISSING[0].install_hint in error_of(answer)["message"]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """A lab with one preview slot."""
    settings = {"RL_LAB_VIEWERS": "1", "RL_LAB_WORKER_SILENCE": "5"}
    with LabServer(tmp_path_factory.mktemp("small-lab"), free_port(), **settings) as lab:
        yield lab


def test_the_number_of_previews_is_limited(small: LabServer) -> None:
    lab = small
    with previewing(lab.api) as first:
        refused = lab.api.post("/previews", json={"env_id": "Taxi-v4"})
        assert (refused.status_code, error_of(refused)["code"]) == (429, "too_many")
        lab.api.delete(first.path)
        with previewing(lab.api, "Taxi-v4") as second:
            assert second.step(0)["step"] == 1
        assert lab.api.get(first.path).status_code == 409


def preview_once_a_slot_is_free(api: httpx.Client, **options: Any) -> Preview:
    """Retry until the slot of an ending preview is free."""
    previews: list[Preview] = []

    def starts() -> bool:
        with suppress(AssertionError):
            previews.append(Preview(api, **options))
        return bool(previews)

    wait_until(starts)
    return previews[0]


def test_an_unused_preview_is_ended_for_a_new_one(small: LabServer) -> None:
    left = Preview(small.api, env_id="CartPole-v1")

    started = preview_once_a_slot_is_free(small.api, env_id="Taxi-v4")

    assert error_of(small.api.get(left.path))["code"] == "preview_ended"
    small.api.delete(started.path)


def test_a_preview_whose_worker_dies_or_hangs_ends_with_a_message(
    small: LabServer,
) -> None:
    lab = small
    wait_for_preview_images(lab)
    with previewing(lab.api) as dies:
        worker = only_worker(lab)
        with connect_frames(lab, dies.path) as socket:
            worker.kill()
            assert close_code(socket) == 4404
        answer = dies.post("step", action=0)
    with previewing(lab.api) as hangs:
        worker = only_worker(lab)
        worker.suspend()
        late = hangs.post("step", action=0)
        wait_until(lambda: not is_alive(worker))

    assert (answer.status_code, error_of(answer)["code"]) == (409, "preview_ended")
    assert ("CartPole-v1 ended the preview: it ended without a message.") in error_of(answer)[
        "message"
    ]
    assert (late.status_code, error_of(late)["code"]) == (409, "preview_ended")
    assert "didn't answer within 5 s" in error_of(late)["message"]
    wait_until(lambda: lab.workers() == [])


def test_a_shutdown_ends_the_worker_and_without_slots_no_preview_starts(small: LabServer) -> None:
    wait_for_preview_images(small)
    preview_once_a_slot_is_free(small.api, env_id="CartPole-v1", mode="random")
    worker = only_worker(small)

    small.terminate()

    assert not is_alive(worker)
    small.restart(RL_LAB_VIEWERS="0")
    answer = small.api.post("/previews", json={"env_id": "CartPole-v1"})
    assert (answer.status_code, error_of(answer)["code"]) == (503, "no_worker")
    assert "Try again" in error_of(answer)["message"]


@pytest.fixture
def ada(guarded: LabServer) -> ApiUser:
    return new_user(guarded)


@pytest.fixture
def bob(guarded: LabServer) -> ApiUser:
    return new_user(guarded)


def test_previews_and_demonstrations_are_accessible_only_to_their_owner(
    ada: ApiUser, bob: ApiUser, admin: ApiUser
) -> None:
    with previewing(ada.api, seed=2) as preview:
        preview.to_the_end(0)
        saved = preview.post("demonstration").json()
        for other in (bob, admin):
            assert other.api.get(preview.path).status_code == 404
            assert other.api.post(f"{preview.path}/step", json={}).status_code == 404
            assert other.api.delete(preview.path).status_code == 404
            assert other.api.get(saved["url"].removeprefix("/api")).status_code == 404
            assert other.api.delete(saved["url"].removeprefix("/api")).status_code == 404
            assert other.api.get("/demonstrations").json()["items"] == []
        assert ada.token("write").get(preview.path).status_code == 200


def test_one_user_cannot_occupy_every_slot(ada: ApiUser, bob: ApiUser) -> None:
    with previewing(ada.api):
        refused = ada.api.post("/previews", json={"env_id": "Taxi-v4"})
        with previewing(bob.api) as other:
            assert other.step(1)["step"] == 1

    assert (refused.status_code, error_of(refused)["code"]) == (429, "too_many")


def test_a_preview_ends_when_its_user_signs_out(guarded: LabServer, ada: ApiUser) -> None:
    preview = Preview(ada.api, env_id="CartPole-v1")
    before = len(guarded.workers())

    ada.api.post("/auth/logout")

    wait_until(lambda: len(guarded.workers()) < before)
    new_session = ada.new_session()
    assert error_of(new_session.api.get(preview.path))["code"] == "preview_ended"


def test_viewers_cannot_start_previews(admin: ApiUser, bob: ApiUser) -> None:
    admin.api.patch(f"/admin/people/{bob.me['id']}", json={"role": "viewer"})

    answer = bob.api.post("/previews", json={"env_id": "CartPole-v1"})

    assert (answer.status_code, error_of(answer)["code"]) == (403, "forbidden")
