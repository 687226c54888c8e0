"""Details of HTTP that programs rely on."""

import json

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.sync.client import connect

from app.web.json_bodies import JsonBodies, has_too_many_values
from tests.app.accounts.users import ApiUser, code_of, new_user
from tests.lab_server import LabServer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(server: LabServer) -> str:
    """The id of a completed run."""
    run_id: str = server.train(total_timesteps=300, hyperparameters={"n_steps": 32})["id"]
    return run_id


def socket_address(server: LabServer, path: str) -> str:
    return server.url.replace("http", "ws") + path


@pytest.mark.parametrize(
    "path",
    [
        "/health",
        "/runs",
        "/runs/{run}",
        "/runs/{run}/artifacts/config.json",
        "/runs/{run}/artifacts/bundle.zip",
        "/runs/nothing",
        "/nowhere",
    ],
)
def test_head_answers_like_get_without_a_body(server: LabServer, run: str, path: str) -> None:
    address = path.format(run=run)
    head, whole = server.api.head(address), server.api.get(address)

    assert head.status_code == whole.status_code
    assert head.content == b""
    for name in ("content-type", "content-length", "etag"):
        if path != "/health" or name != "content-length":
            assert head.headers.get(name) == whole.headers.get(name), name


@pytest.mark.parametrize("path", ["/runs/{run}/stream", "/runs/{run}/events/stream"])
def test_head_of_a_stream_ends(server: LabServer, path: str) -> None:
    waiting = server.create()["id"]

    head = server.api.head(path.format(run=waiting))

    assert head.status_code == 200
    assert head.headers["content-type"].startswith("text/event-stream")


def test_head_of_a_page_is_answered(server: LabServer) -> None:
    assert httpx.head(f"{server.url}/runs").status_code == 200


@pytest.mark.parametrize(
    "range_header",
    ["bytes=0-1,4-5", "bytes=", "bytes=-", "bytes=9-2", "lines=1-2", "nonsense", "bytes=a-b"],
)
def test_an_invalid_or_multipart_range_gets_the_whole_file(
    server: LabServer, run: str, range_header: str
) -> None:
    path = f"/runs/{run}/artifacts/config.json"
    whole = server.api.get(path)
    answer = server.api.get(path, headers={"Range": range_header})

    assert answer.status_code == 200
    assert answer.content == whole.content


def test_one_range_gets_that_part(server: LabServer, run: str) -> None:
    path = f"/runs/{run}/artifacts/config.json"
    whole = server.api.get(path).content

    part = server.api.get(path, headers={"Range": "bytes=2-5"})
    tail = server.api.get(path, headers={"Range": "bytes=-7"})
    beyond = server.api.get(path, headers={"Range": f"bytes={len(whole)}-"})

    assert (part.status_code, part.content) == (206, whole[2:6])
    assert (tail.status_code, tail.content) == (206, whole[-7:])
    assert (beyond.status_code, code_of(beyond)) == (416, "range_not_satisfiable")
    assert beyond.headers["content-range"] == f"bytes */{len(whole)}"


@pytest.mark.parametrize(
    ("path", "code", "reason"),
    [
        ("/api/runs/{run}/frames?fps=-1", 4422, "fps: input should be greater than 0."),
        ("/api/runs/nothing/frames", 4404, "no run"),
        ("/api/previews/nothing/frames", 4404, "preview"),
    ],
)
def test_a_refused_socket_says_why(
    server: LabServer, run: str, path: str, code: int, reason: str
) -> None:
    with (
        connect(socket_address(server, path.format(run=run)), proxy=None) as socket,
        pytest.raises(ConnectionClosedError) as closed,
    ):
        socket.recv()

    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == code
    assert reason.lower() in closed.value.rcvd.reason.lower()


def test_a_socket_that_is_refused_before_its_route_says_why(server: LabServer, run: str) -> None:
    address = socket_address(server, f"/api/runs/{run}/frames")

    with pytest.raises(InvalidStatus) as refused:
        connect(address, origin="http://elsewhere.example", proxy=None)  # type: ignore[arg-type]

    answer = refused.value.response
    assert answer.status_code == 403
    assert json.loads(answer.body)["error"]["code"] == "foreign_origin"


@pytest.mark.parametrize("body", [b"{}", b'{"episodes": "many"}', b"{", b"[1]"])
def test_a_hidden_run_answers_404_to_any_body(
    guarded: LabServer, admin: ApiUser, body: bytes
) -> None:
    hidden = admin.create_run()
    headers = {"Content-Type": "application/json"}

    answer = new_user(guarded).api.post(
        f"/runs/{hidden}/evaluations", content=body, headers=headers
    )

    assert (answer.status_code, code_of(answer)) == (404, "not_found")


MANY = {
    "names": b"{%s}" % b",".join(b'"%d":1' % n for n in range(100_000)),
    "numbers": b"[%s1]" % (b"1," * 400_000),
    "lists": b"[%s[]]" % (b"[]," * 300_000),
    "depth": b"[" * 500_000,
    "texts": b'[%s""]' % (b'"",' * 300_000),
}


@pytest.mark.parametrize("body", MANY.values(), ids=MANY)
def test_a_body_of_too_many_values_is_refused(server: LabServer, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}

    answer = server.api.post("/runs", content=body, headers=headers)

    assert (answer.status_code, code_of(answer)) == (422, "too_many_values")


def test_commas_in_strings_are_not_counted_as_values() -> None:
    code = json.dumps({"code": 'x = ["a", \\"b\\"]\n' * 60_000}).encode()

    assert not has_too_many_values(code)


async def test_a_body_that_is_too_long_is_not_held_in_memory() -> None:
    """An upload may have 512 MiB, whatever its content type."""
    received, received_before = 0, []

    async def receive() -> Message:
        nonlocal received
        received += 1
        return {"type": "http.request", "body": b" " * (1 << 16), "more_body": received < 400}

    async def inner(scope: Scope, receive: Receive, send: Send) -> None:
        received_before.append(received)
        while (await receive())["more_body"]:
            pass

    async def send(_: Message) -> None:
        pytest.fail("nothing is refused here")

    scope = {"type": "http", "headers": [(b"content-type", b"application/json")]}
    await JsonBodies(inner)(scope, receive, send)

    assert received_before[0] < 20
    assert received == 400


def test_a_run_without_an_episode_or_an_update_still_has_a_metrics_line(server: LabServer) -> None:
    run = server.train(
        env_id="MountainCarContinuous-v0",
        algorithm="TD3",
        total_timesteps=600,
        hyperparameters={"learning_starts": 10_000},
    )

    (*_, last) = server.api.get(f"/runs/{run['id']}/metrics").json()["items"]

    assert last["timesteps"] == 600
    assert last["progress"] == 1.0
    assert "reward" not in last
