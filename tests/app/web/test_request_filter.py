import asyncio

import pytest
from starlette.types import Message, Receive, Scope, Send

from app.web.request_filter import RequestFilter


async def _hello(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        return
    body = b""
    while (message := await receive()).get("more_body"):
        body += message["body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


FILTER = RequestFilter(_hello, hosts={"localhost", "127.0.0.1", "::1"})


async def request(
    *,
    method: str = "GET",
    path: str = "/",
    kind: str = "http",
    body: list[bytes] | None = None,
    **headers: str,
) -> list[Message]:
    scope = {
        "type": kind,
        "method": method,
        "path": path,
        "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()],
    }
    parts = body or [b""]
    incoming = [
        {"type": "http.request", "body": part, "more_body": i < len(parts) - 1}
        for i, part in enumerate(parts)
    ]
    if kind == "websocket":
        incoming = [{"type": "websocket.connect"}]
    sent: list[Message] = []

    async def receive() -> Message:
        return incoming.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    await FILTER(scope, receive, send)
    return sent


@pytest.mark.parametrize("host", ["localhost:8080", "127.0.0.1", "[::1]:8080", "LOCALHOST"])
async def test_allowed_host_names_are_accepted(host: str) -> None:
    assert (await request(host=host))[0]["status"] == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "",
        "[::2]:80",
        "localhost:@evil.example",
        "localhost:evil.example",
        "localhost/evil.example:80",
        "[::1]evil.example",
    ],
)
async def test_other_host_names_are_refused(host: str) -> None:
    assert (await request(host=host))[0]["status"] == 403


async def test_two_host_headers_are_refused() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    names = [(b"host", b"evil.example"), (b"host", b"localhost")]
    scope = {"type": "http", "method": "GET", "path": "/", "headers": names}
    await FILTER(scope, asyncio.Queue[Message]().get, send)

    assert sent[0]["status"] == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_other_sites_can_link_to_the_lab_but_not_embed_it(site: str) -> None:
    image = {"sec_fetch_mode": "no-cors", "sec_fetch_dest": "image"}
    frame = {"sec_fetch_mode": "navigate", "sec_fetch_dest": "iframe"}
    link = {"sec_fetch_mode": "navigate", "sec_fetch_dest": "document"}

    answers = [
        await request(host="localhost", sec_fetch_site=from_site, **headers_sent)
        for from_site, headers_sent in (
            (site, image),
            (site, frame),
            (site, link),
            ("same-origin", image),
            ("none", link),
        )
    ]

    assert [answer[0]["status"] for answer in answers] == [403, 403, 200, 200, 200]


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE", "PUT", "OPTIONS"])
async def test_write_requests_from_another_site_are_refused(method: str) -> None:
    foreign = await request(method=method, host="localhost:8080", origin="http://evil.example")
    own = await request(method=method, host="localhost:8080", origin="http://localhost:8080")
    script = await request(method=method, host="localhost:8080")

    assert foreign[0]["status"] == 403
    assert own[0]["status"] == 200
    assert script[0]["status"] == 200


@pytest.mark.parametrize("origin", ["http://[", "null", "", "http://localhost:8080@evil.example"])
async def test_an_invalid_origin_is_refused(origin: str) -> None:
    answer = await request(method="POST", host="localhost:8080", origin=origin)

    assert answer[0]["status"] == 403


async def test_another_port_of_the_same_host_is_another_site() -> None:
    answer = await request(method="POST", host="localhost:8080", origin="http://localhost:9090")

    assert answer[0]["status"] == 403


async def test_a_websocket_from_another_site_is_closed() -> None:
    foreign = await request(kind="websocket", host="localhost", origin="http://evil.example")
    own = await request(kind="websocket", host="localhost", origin="http://localhost")

    assert foreign[0]["type"] == "websocket.close"
    assert own[0]["type"] == "websocket.accept"


async def test_socket_polling_from_another_site_is_refused() -> None:
    answer = await request(
        path="/_nicegui_ws/socket.io", host="localhost", origin="http://evil.example"
    )

    assert answer[0]["status"] == 403


async def test_a_body_with_too_large_a_content_length_is_refused_unread() -> None:
    answer = await request(method="POST", host="localhost", content_length=str(2 << 20))

    assert answer[0]["status"] == 413


async def test_a_streamed_body_that_becomes_too_large_is_refused() -> None:
    answer = await request(method="POST", host="localhost", body=[b"x" * (1 << 19)] * 3)

    assert answer[0]["status"] == 413
    assert b"larger than 1 MiB" in answer[1]["body"]


@pytest.mark.parametrize("path", ["/login", "/register", "/auth/finish", "/api/auth/login"])
async def test_bodies_of_unauthenticated_requests_are_limited_to_16_kib(path: str) -> None:
    declared = await request(method="POST", path=path, host="localhost", content_length="20000")
    streamed = await request(method="POST", path=path, host="localhost", body=[b"&" * 10_000] * 2)
    accepted = await request(method="POST", path=path, host="localhost", body=[b"&" * 10_000, b""])

    assert [answer[0]["status"] for answer in (declared, streamed, accepted)] == [413, 413, 200]
    assert b"larger than 16 KiB" in streamed[1]["body"]


async def test_a_body_that_never_ends_gets_408() -> None:
    request_filter = RequestFilter(_hello, hosts={"localhost"}, body_within_s=0.01)
    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"host", b"localhost")]}
    sent: list[Message] = []

    async def receive() -> Message:
        await asyncio.sleep(60)
        raise AssertionError("the filter waited for the body")

    async def send(message: Message) -> None:
        sent.append(message)

    await request_filter(scope, receive, send)

    assert sent[0]["status"] == 408
    assert b"too_slow" in sent[1]["body"]


async def test_every_answer_has_the_security_headers() -> None:
    for answer in (await request(host="localhost"), await request(host="evil.example")):
        headers = dict(answer[0]["headers"])

        assert b"default-src 'self'" in headers[b"content-security-policy"]
        assert headers[b"x-content-type-options"] == b"nosniff"
        assert headers[b"x-frame-options"] == b"DENY"
