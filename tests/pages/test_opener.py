import pytest
from nicegui import core
from socketio import AsyncServer

from pages.opener import bind_sockets


def test_messages_of_a_socket_are_accepted_for_its_own_page_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sockets, received = AsyncServer(async_mode="asgi"), []
    names = ("event", "javascript_response", "ack", "log")
    for name in names:
        sockets.on(name, lambda _, frame: received.append(frame["client_id"]))
    scope = {"path": "/socket.io/", "query_string": b"client_id=mine&EIO=4"}
    monkeypatch.setattr(sockets, "get_environ", lambda _: {"asgi.scope": scope})

    bind_sockets(sockets)
    for name in names:
        sockets.handlers["/"][name]("sid", {"client_id": "somebody else's"})
        sockets.handlers["/"][name]("sid", {"client_id": "mine"})

    assert received == ["mine"] * 4


def test_every_message_type_that_nicegui_handles_is_known() -> None:
    """NiceGUI itself checks the page of `handshake` and `disconnect`."""
    handled = set(core.sio.handlers["/"]) - {"connect", "handshake", "disconnect"}

    assert handled == {"event", "javascript_response", "ack", "log"}


def test_a_log_message_of_a_browser_becomes_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    sockets, received = AsyncServer(async_mode="asgi"), list[str]()
    for name in ("event", "javascript_response", "ack", "log"):
        sockets.on(name, lambda _, frame: received.append(frame["message"]))
    scope = {"path": "/socket.io/", "query_string": b"client_id=mine"}
    monkeypatch.setattr(sockets, "get_environ", lambda _: {"asgi.scope": scope})

    bind_sockets(sockets)
    forged = "oops\n2026-01-01 WARNING signed_in by 'root@example.org'" + "x" * 5_000
    sockets.handlers["/"]["log"]("sid", {"client_id": "mine", "message": forged})

    (line,) = received
    assert "\n" not in line
    assert len(line) <= 1_000
