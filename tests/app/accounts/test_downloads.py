"""Downloads end with the user's access; anonymous clients and caches get no private files."""

import socket
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest

from tests.app.accounts.users import ApiUser, client
from tests.lab_server import LabServer, wait_until

pytestmark = pytest.mark.slow

_MANY_BYTES = 200 << 20


class Download:
    """Reads the beginning of a large file at once, and the rest on request."""

    def __init__(self, server: LabServer, path: str, headers: dict[str, str]) -> None:
        address = urlsplit(server.url)
        self._socket = socket.create_connection((address.hostname, address.port), timeout=30)
        lines = [f"GET /api{path} HTTP/1.1", f"Host: {address.netloc}", "Accept-Encoding: identity"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode())
        self.beginning = self._socket.recv(4_096)

    def rest(self) -> int:
        """Return how many more bytes arrive until the server closes the connection."""
        count = 0
        with self._socket:
            while piece := self._socket.recv(1 << 20):
                count += len(piece)
        return count


def large_file(guarded: LabServer, member: ApiUser) -> str:
    run_id = member.create_run()
    with (guarded.folder / run_id / "metrics.jsonl").open("wb") as file:
        file.truncate(_MANY_BYTES)
    return f"/runs/{run_id}/artifacts/metrics.jsonl"


def sign_out(admin: ApiUser, member: ApiUser) -> None:
    member.api.post("/auth/logout")


def block(admin: ApiUser, member: ApiUser) -> None:
    admin.api.patch(f"/admin/people/{member.me['id']}", json={"blocked": True})


@pytest.mark.parametrize("end_access", [sign_out, block])
def test_an_unfinished_download_ends_when_its_user_signs_out_or_is_blocked(
    guarded: LabServer,
    admin: ApiUser,
    member: ApiUser,
    end_access: Callable[[ApiUser, ApiUser], None],
) -> None:
    path = large_file(guarded, member)
    cookie = {"Cookie": f"lab_session={member.api.cookies['lab_session']}"}
    download = Download(guarded, path, cookie)
    assert download.beginning.startswith(b"HTTP/1.1 200")

    end_access(admin, member)

    assert download.rest() < _MANY_BYTES / 2


def test_an_unfinished_download_of_a_revoked_token_ends(
    guarded: LabServer, member: ApiUser
) -> None:
    path = large_file(guarded, member)
    program = member.token("read")
    header = {"Authorization": program.headers["Authorization"]}
    download = Download(guarded, path, header)
    assert download.beginning.startswith(b"HTTP/1.1 200")

    (token,) = member.api.get("/me/tokens").json()["items"]
    member.api.delete(f"/me/tokens/{token['id']}")

    assert download.rest() < _MANY_BYTES / 2
    wait_until(lambda: program.get("/me").status_code == 401)


def test_a_finished_download_is_complete(guarded: LabServer, member: ApiUser) -> None:
    path = large_file(guarded, member)
    download = Download(
        guarded,
        path,
        {"Cookie": f"lab_session={member.api.cookies['lab_session']}", "Connection": "close"},
    )

    assert download.rest() > _MANY_BYTES - 8_192


def test_anonymous_clients_get_only_the_files_of_the_login_page(
    guarded: LabServer, member: ApiUser
) -> None:
    anonymous = client(guarded.url)

    assert anonymous.get("/theme.css").status_code == 200
    assert anonymous.get("/assets/inter.woff2").status_code == 200
    assert anonymous.get("/assets/swagger-ui-bundle.js").status_code == 303
    assert member.api.get(f"{guarded.url}/assets/swagger-ui-bundle.js").status_code == 200


def test_answers_are_not_cached_by_proxies(guarded: LabServer, member: ApiUser) -> None:
    run_id = member.create_run()

    for path in ("/me", f"/runs/{run_id}", f"/runs/{run_id}/artifacts/config.json"):
        policy = member.api.get(path).headers["cache-control"]
        assert policy.startswith("private"), path
