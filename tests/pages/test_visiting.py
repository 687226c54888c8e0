import pytest
from nicegui import core
from socketio import AsyncServer

from pages.visiting import bind_frames


def test_a_socket_speaks_for_its_own_page_only(monkeypatch: pytest.MonkeyPatch) -> None:
    sockets, heard = AsyncServer(async_mode="asgi"), []
    names = ("event", "javascript_response", "ack", "log")
    for name in names:
        sockets.on(name, lambda _, frame: heard.append(frame["client_id"]))
    scope = {"path": "/socket.io/", "query_string": b"client_id=mine&EIO=4"}
    monkeypatch.setattr(sockets, "get_environ", lambda _: {"asgi.scope": scope})

    bind_frames(sockets)
    for name in names:
        sockets.handlers["/"][name]("sid", {"client_id": "somebody else's"})
        sockets.handlers["/"][name]("sid", {"client_id": "mine"})

    assert heard == ["mine"] * 4


def test_every_frame_that_nicegui_hears_is_known() -> None:
    """`handshake` and `disconnect` NiceGUI itself compares with what the socket opened with."""
    heard = set(core.sio.handlers["/"]) - {"connect", "handshake", "disconnect"}

    assert heard == {"event", "javascript_response", "ack", "log"}


def test_what_a_browser_logs_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    sockets, heard = AsyncServer(async_mode="asgi"), list[str]()
    for name in ("event", "javascript_response", "ack", "log"):
        sockets.on(name, lambda _, frame: heard.append(frame["message"]))
    scope = {"path": "/socket.io/", "query_string": b"client_id=mine"}
    monkeypatch.setattr(sockets, "get_environ", lambda _: {"asgi.scope": scope})

    bind_frames(sockets)
    forged = "oops\n2026-01-01 WARNING signed_in by 'root@example.org'" + "x" * 5_000
    sockets.handlers["/"]["log"]("sid", {"client_id": "mine", "message": forged})

    (line,) = heard
    assert "\n" not in line
    assert len(line) <= 1_000
