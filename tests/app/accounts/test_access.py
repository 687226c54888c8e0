"""Access control: every route of the server with every kind of principal."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

import httpx
import pytest
from fastapi.routing import APIRoute
from nicegui import core
from nicegui.testing import User
from starlette.routing import BaseRoute, Route, WebSocketRoute
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from app.api import create_api
from app.lab import Lab
from tests.app.accounts.users import ApiUser, client, new_user
from tests.lab_server import LabServer

pytestmark = pytest.mark.slow

PRINCIPALS = ("anonymous", "viewer", "other", "owner", "admin", "reader", "writer")
"""`reader` and `writer` are the owner's tokens; the run is private to its owner."""

PUBLIC = (200, 200, 200, 200, 200, 200, 200)
SIGNED_IN = (401, 200, 200, 200, 200, 200, 200)
MAY_READ = (401, 404, 404, 200, 200, 200, 200)
# 404 also for those who may read the run: it has no such thing.
MAY_READ_BUT_MISSING = (401, 404, 404, 404, 404, 404, 404)
ADMINS = (401, 403, 403, 403, 200, 403, 403)


def may_change(status: int) -> tuple[int, ...]:
    return (401, 404, 404, status, status, 403, status)


API: dict[str, tuple[int, ...]] = {
    "GET /health": PUBLIC,
    "GET /docs": SIGNED_IN,
    "GET /openapi.json": SIGNED_IN,
    "GET /environments": SIGNED_IN,
    "GET /environments/custom": SIGNED_IN,
    # Unknown names and unusable code; access to existing environments is tested in
    # tests/app/authoring/test_custom_environments.py.
    "POST /environments/custom": (401, 422, 422, 422, 422, 403, 422),
    "POST /environments/custom/check": (401, 422, 422, 422, 422, 403, 422),
    "GET /environments/custom/{name}": (401, 404, 404, 404, 404, 404, 404),
    "POST /environments/custom/{name}/versions": (401, 422, 422, 422, 422, 403, 422),
    "PATCH /environments/custom/{name}": (401, 422, 422, 422, 422, 403, 422),
    "DELETE /environments/custom/{name}": (401, 404, 404, 404, 404, 403, 404),
    "GET /environments/{env_id:path}": SIGNED_IN,
    "GET /environments/{env_id:path}/preview.png": SIGNED_IN,
    "GET /algorithms": SIGNED_IN,
    "GET /presets": SIGNED_IN,
    # An invalid body, so that nothing is created: 422 means that access was granted.
    "POST /runs": (401, 422, 422, 422, 422, 403, 422),
    "POST /runs/import": (401, 403, 422, 422, 422, 403, 422),
    "GET /runs": SIGNED_IN,
    "GET /runs/{run_id}": MAY_READ,
    "PATCH /runs/{run_id}": may_change(200),
    "DELETE /runs/{run_id}": may_change(204),
    "POST /runs/{run_id}/start": may_change(202),
    "POST /runs/{run_id}/pause": may_change(409),
    "POST /runs/{run_id}/resume": may_change(409),
    "POST /runs/{run_id}/stop": may_change(202),
    "POST /runs/{run_id}/branch": may_change(409),
    "GET /groups/{group_id}": (401, 404, 404, 404, 404, 404, 404),
    "GET /compare": MAY_READ,
    "GET /compare/export": MAY_READ,
    "GET /runs/{run_id}/lineage": MAY_READ,
    "GET /runs/{run_id}/config": MAY_READ,
    "GET /runs/{run_id}/metrics": MAY_READ,
    "GET /runs/{run_id}/export": MAY_READ,
    "GET /runs/{run_id}/events": MAY_READ,
    "GET /runs/{run_id}/stream": MAY_READ,
    "GET /runs/{run_id}/events/stream": MAY_READ,
    "GET /runs/{run_id}/frame.jpg": MAY_READ_BUT_MISSING,
    "GET /runs/{run_id}/insights": MAY_READ,
    "GET /runs/{run_id}/report": MAY_READ,
    "GET /runs/{run_id}/artifacts": MAY_READ,
    "GET /runs/{run_id}/artifacts/{name}": MAY_READ,
    "PATCH /runs/{run_id}/artifacts/{name}": may_change(404),
    "POST /runs/{run_id}/publish": may_change(409),
    # An invalid repository name: the Hub is not queried.
    "POST /hub/pull": (401, 422, 422, 422, 422, 403, 422),
    "GET /runs/{run_id}/publish": MAY_READ_BUT_MISSING,
    "GET /runs/{run_id}/publish/preview": (401, 404, 404, 409, 409, 409, 409),
    # Unknown previews; access to existing ones is tested in tests/app/api/test_previews_api.py.
    "POST /previews": (401, 422, 422, 422, 422, 403, 422),
    "GET /previews/{preview_id}": (401, 404, 404, 404, 404, 404, 404),
    "PATCH /previews/{preview_id}": (401, 403, 404, 404, 404, 403, 404),
    "DELETE /previews/{preview_id}": (401, 403, 404, 404, 404, 403, 404),
    "POST /previews/{preview_id}/step": (401, 403, 404, 404, 404, 403, 404),
    "POST /previews/{preview_id}/back": (401, 403, 404, 404, 404, 403, 404),
    "POST /previews/{preview_id}/reset": (401, 403, 404, 404, 404, 403, 404),
    "POST /previews/{preview_id}/hold": (401, 403, 404, 404, 404, 403, 404),
    "POST /previews/{preview_id}/demonstration": (401, 403, 404, 404, 404, 403, 404),
    "WS /previews/{preview_id}/frames": (401, 404, 404, 404, 404, 404, 404),
    "GET /reward/templates": SIGNED_IN,
    "POST /reward/check": (401, 422, 422, 422, 422, 403, 422),
    # 422: the query names no environment.
    "GET /reward/versions": (401, 422, 422, 422, 422, 422, 422),
    "POST /reward/versions": (401, 422, 422, 422, 422, 403, 422),
    "POST /reward/format": (401, 403, 200, 200, 200, 403, 200),
    "GET /demonstrations": SIGNED_IN,
    "GET /demonstrations/{demonstration_id}": (401, 404, 404, 404, 404, 404, 404),
    "DELETE /demonstrations/{demonstration_id}": (401, 403, 404, 404, 404, 403, 404),
    "GET /runs/{run_id}/clips": MAY_READ,
    "GET /runs/{run_id}/clips/{timesteps}": MAY_READ_BUT_MISSING,
    "POST /runs/{run_id}/evolutions": may_change(409),
    "GET /runs/{run_id}/evolutions": MAY_READ,
    "POST /runs/{run_id}/evaluations": may_change(409),
    "GET /runs/{run_id}/evaluations": MAY_READ,
    "GET /runs/{run_id}/evaluations/latest": MAY_READ_BUT_MISSING,
    "GET /runs/{run_id}/evaluations/{evaluation_id}": MAY_READ_BUT_MISSING,
    "PATCH /runs/{run_id}/evaluations/{evaluation_id}": may_change(404),
    "POST /runs/{run_id}/evaluations/{evaluation_id}/cancel": may_change(404),
    "GET /runs/{run_id}/evaluations/{evaluation_id}/video": MAY_READ_BUT_MISSING,
    "GET /runs/{run_id}/evaluations/{evaluation_id}/replay": MAY_READ_BUT_MISSING,
    "POST /runs/{run_id}/recordings": may_change(409),
    "GET /runs/{run_id}/recordings": MAY_READ,
    # Invalid bodies again: what matters is that these routes are open to all.
    "POST /auth/register": (422, 422, 422, 422, 422, 403, 422),
    "POST /auth/login": (422, 422, 422, 422, 422, 403, 422),
    "POST /auth/reset": (422, 422, 422, 422, 422, 403, 422),
    "POST /auth/logout": (204, 204, 204, 204, 204, 403, 204),
    "GET /me": SIGNED_IN,
    "PATCH /me": (401, 200, 200, 200, 200, 403, 200),
    "GET /me/tokens": SIGNED_IN,
    # 403 for the writer, too: no token creates or ends tokens and sessions.
    "POST /me/tokens": (401, 201, 201, 201, 201, 403, 403),
    "DELETE /me/tokens/{token_id}": (401, 404, 404, 404, 404, 403, 403),
    "GET /me/sessions": SIGNED_IN,
    "DELETE /me/sessions/{session_id}": (401, 404, 404, 404, 404, 403, 403),
    "PUT /me/avatar": (401, 422, 422, 422, 422, 403, 422),
    "DELETE /me/avatar": (401, 200, 200, 200, 200, 403, 200),
    "GET /people/{user_id}/avatar.png": (401, 404, 404, 404, 404, 404, 404),
    "GET /admin/lab": ADMINS,
    "PATCH /admin/lab": ADMINS,
    "GET /admin/people": ADMINS,
    "PATCH /admin/people/{user_id}": (401, 403, 403, 403, 404, 403, 403),
    "POST /admin/people/{user_id}/reset": (401, 403, 403, 403, 404, 403, 403),
    "GET /admin/invitations": ADMINS,
    "POST /admin/invitations": (401, 403, 403, 403, 201, 403, 403),
    "DELETE /admin/invitations/{invitation_id}": (401, 403, 403, 403, 404, 403, 403),
    "GET /admin/audit": ADMINS,
    "WS /runs/{run_id}/frames": MAY_READ,
}

BODIES: dict[str, Any] = {
    "POST /runs": {},
    "PATCH /runs/{run_id}": {"notes": "seen"},
    "PATCH /runs/{run_id}/artifacts/{name}": {"pinned": True},
    "POST /runs/{run_id}/publish": {"repo_id": "x", "token": "t"},
    "POST /hub/pull": {"repo_id": "x"},
    "POST /runs/{run_id}/branch": {"reward_code": None},
    "POST /previews": {},
    "POST /reward/check": {},
    "POST /reward/versions": {},
    "POST /reward/format": {"code": "x=1"},
    "PATCH /previews/{preview_id}": {},
    "POST /previews/{preview_id}/step": {},
    "POST /previews/{preview_id}/hold": {"actions": [0]},
    "POST /runs/{run_id}/evaluations": {},
    "PATCH /runs/{run_id}/evaluations/{evaluation_id}": {"pinned": True},
    "POST /auth/register": {},
    "POST /auth/login": {},
    "POST /auth/reset": {},
    "PATCH /me": {},
    "POST /me/tokens": {"name": "t"},
    "PATCH /admin/lab": {},
    "PATCH /admin/people/{user_id}": {},
    "POST /admin/invitations": {},
}


class Principals:
    """One client of each kind, and runs of the owner that they request."""

    def __init__(self, server: LabServer, admin: ApiUser) -> None:
        self.server = server
        self.owner, other, viewer = (new_user(server) for _ in range(3))
        change = admin.api.patch(f"/admin/people/{viewer.me['id']}", json={"role": "viewer"})
        assert change.status_code == 200
        self.run_id = self.owner.create_run()
        self.clients: dict[str, httpx.Client] = {
            "anonymous": client(f"{server.url}/api"),
            "viewer": viewer.api,
            "other": other.api,
            "owner": self.owner.api,
            "admin": admin.api,
            "reader": self.owner.token("read"),
            "writer": self.owner.token("write"),
        }

    def status_of(self, route: str, principal: str) -> int:
        method, path = route.split(" ")
        has_effect = method != "GET" and "{run_id}" in path
        values = {"env_id": "CartPole-v1", "name": "config.json", "timesteps": "0"}
        if "{run_id}" in path:
            values["run_id"] = self.owner.create_run() if has_effect else self.run_id
        path = re.sub(r"{(\w+)[^}]*}", lambda match: values.get(match[1], "nothing"), path)
        if route == "GET /presets":
            path += "?env_id=CartPole-v1&algorithm=PPO"
        if route == "GET /reward/templates":
            path += "?env_id=CartPole-v1"
        if path.startswith("/compare"):
            path += f"?runs={self.run_id}"
        if method == "WS":
            return self.open_frames(path, principal)
        if route == "POST /auth/logout" and principal not in {"anonymous", "reader", "writer"}:
            return self.sign_out_elsewhere(principal)
        return self.request(method, path, route, principal)

    def request(self, method: str, path: str, route: str, principal: str) -> int:
        body = BODIES.get(route)
        with self.clients[principal].stream(method, path, json=body) as answer:
            return answer.status_code

    def sign_out_elsewhere(self, principal: str) -> int:
        email = self.clients[principal].get("/me").json()["email"]
        return ApiUser(self.server, email).new_session().api.post("/auth/logout").status_code

    def open_frames(self, path: str, principal: str) -> int:
        """Open the live view; return the WebSocket's close code as an HTTP status."""
        client = self.clients[principal]
        headers = {"Authorization": client.headers.get("Authorization", "")}
        if token := client.cookies.get("lab_session"):
            headers = {"Cookie": f"lab_session={token}", "Origin": self.server.url}
        try:
            with connect(
                f"{self.server.url.replace('http', 'ws')}/api{path}", additional_headers=headers
            ) as socket:
                try:
                    socket.recv(timeout=0.3)
                except TimeoutError:
                    return 200
                except Exception:  # noqa: BLE001 - closed: its code is mapped
                    return {4404: 404}[cast(int, socket.close_code)]
                return 200
        except InvalidStatus:
            return 401


@pytest.fixture(scope="session")
def principals(guarded: LabServer, admin: ApiUser) -> Principals:
    return Principals(guarded, admin)


@pytest.mark.parametrize("route", API)
def test_each_route_answers_each_principal_as_listed(principals: Principals, route: str) -> None:
    answers = {principal: principals.status_of(route, principal) for principal in PRINCIPALS}

    assert answers == dict(zip(PRINCIPALS, API[route], strict=True))


def test_every_route_of_the_api_is_in_the_table() -> None:
    api = create_api(cast(Lab, None))

    assert set(_routes(api.routes)) == set(API)


def _routes(routes: Sequence[BaseRoute]) -> Iterator[str]:
    for route in routes:
        match route:
            case APIRoute() | Route():
                for method in (route.methods or set()) - {"HEAD"}:
                    yield f"{method} {route.path}"
            case WebSocketRoute():
                yield f"WS {route.path}"
            case _:
                # FastAPI keeps an included router as it is.
                yield from _routes(cast(Any, route).original_router.routes)


PAGES: dict[str, tuple[int, ...]] = {
    # Anonymous, member, administrator.
    "GET /": (303, 200, 200),
    "GET /frame.js": (303, 200, 200),
    "GET /signs.js": (303, 200, 200),
    "GET /train": (303, 200, 200),
    "GET /runs": (303, 200, 200),
    "GET /runs/{run_id}": (303, 200, 200),
    "GET /compare": (303, 200, 200),
    "GET /environments/{env_id:path}": (303, 200, 200),
    "GET /write": (303, 200, 200),
    "GET /write/{name}": (303, 200, 200),
    "GET /login": (200, 303, 303),
    "POST /login": (401, 401, 401),
    "POST /logout": (303, 303, 303),
    "GET /register": (200, 200, 200),
    "POST /register": (422, 422, 422),
    "GET /reset": (200, 200, 200),
    "POST /reset": (422, 422, 422),
    "GET /auth/{provider}": (404, 404, 404),
    "GET /auth/{provider}/callback": (400, 400, 400),
    "POST /auth/finish": (400, 400, 400),
    "GET /profile": (303, 200, 200),
    "GET /admin": (303, 403, 200),
}


@pytest.mark.parametrize("route", PAGES)
def test_each_page_answers_anonymous_clients_members_and_administrators_as_listed(
    guarded: LabServer, admin: ApiUser, member: ApiUser, route: str
) -> None:
    method, path = route.split(" ")
    path = path.replace("{run_id}", "nothing").replace("{provider}", "nothing")
    users = (ApiUser(guarded, "nobody"), member, admin.new_session())

    answers = [user.api.request(method, f"{guarded.url}{path}") for user in users]

    assert tuple(answer.status_code for answer in answers) == PAGES[route]


async def test_every_page_is_in_the_table(user: User) -> None:
    await user.open("/runs")

    registered = {
        f"{method} {route.path}"
        for route in core.app.routes
        if isinstance(route, Route) and not route.path.startswith("/_nicegui")
        for method in (route.methods or set()) - {"HEAD"}
    }

    public_files = {"GET /theme.css", "GET /favicon.ico", "GET /assets/{path:path}"}
    assert registered - public_files == set(PAGES)


def test_a_shared_run_is_read_only_and_a_private_one_is_not_listed(
    principals: Principals, other: ApiUser, member: ApiUser
) -> None:
    run_id = member.create_run(name="mine")
    assert run_id not in {run["id"] for run in other.api.get("/runs").json()["items"]}

    shared = member.api.patch(f"/runs/{run_id}", json={"shared_with": [other.email.upper()]})

    assert shared.json()["shared_with"] == [other.email]
    read = other.api.get(f"/runs/{run_id}").json()
    assert (read["owner"], read["shared_with"]) == (member.email, None)
    assert run_id in {run["id"] for run in other.api.get("/runs").json()["items"]}
    assert other.api.patch(f"/runs/{run_id}", json={"name": "x"}).status_code == 403
    assert other.api.delete(f"/runs/{run_id}").status_code == 403
    assert other.api.post(f"/runs/{run_id}/start").status_code == 403
    third = principals.clients["other"]
    assert third.get(f"/runs/{run_id}").status_code == 404
    member.api.patch(f"/runs/{run_id}", json={"visibility": "everyone"})
    assert third.get(f"/runs/{run_id}").status_code == 200
    assert principals.clients["viewer"].get(f"/runs/{run_id}/metrics").status_code == 200


def test_a_stream_ends_when_its_run_is_no_longer_shared(member: ApiUser, other: ApiUser) -> None:
    run_id = member.create_run()
    member.api.patch(f"/runs/{run_id}", json={"shared_with": [other.email]})

    with other.api.stream("GET", f"/runs/{run_id}/stream") as stream:
        lines = stream.iter_lines()
        next(lines)
        member.api.patch(f"/runs/{run_id}", json={"shared_with": []})
        rest = list(lines)

    assert not any(line == "event: end" for line in rest)


def test_a_run_can_be_shared_only_with_existing_users(member: ApiUser) -> None:
    run_id = member.create_run()

    answer = member.api.patch(f"/runs/{run_id}", json={"shared_with": ["nobody@example.org"]})

    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "shared_with")


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"shared_with": ["nobody@example.org"]}, "shared_with"),
        ({"name": "  "}, "name"),
        ({"tags": ["x" * 300]}, "tags.0"),
        ({"total_timesteps": 0}, "total_timesteps"),
    ],
)
def test_a_partly_refused_change_changes_nothing(
    member: ApiUser, wrong: dict[str, Any], field: str
) -> None:
    run_id = member.create_run()
    before = member.api.get(f"/runs/{run_id}").json()
    good = {"total_timesteps": 200_000, "name": "X", "visibility": "everyone"}

    answer = member.api.patch(f"/runs/{run_id}", json={**good, **wrong})

    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)
    assert member.api.get(f"/runs/{run_id}").json() == before


def test_a_run_cannot_start_from_a_policy_of_another_user(member: ApiUser, other: ApiUser) -> None:
    run_id = member.create_run()

    body = {"env_id": "CartPole-v1", "algorithm": "PPO", "init_from": run_id}
    answer = other.api.post("/runs", json=body)

    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "init_from")
    assert "There is no run" in answer.json()["error"]["message"]


def test_a_viewer_who_becomes_a_member_may_create_runs(admin: ApiUser, member: ApiUser) -> None:
    user_id = member.me["id"]
    body = {"env_id": "CartPole-v1", "algorithm": "PPO"}
    admin.api.patch(f"/admin/people/{user_id}", json={"role": "viewer"})
    assert member.api.post("/runs", json=body).status_code == 403

    admin.api.patch(f"/admin/people/{user_id}", json={"role": "member"})

    assert member.api.post("/runs", json=body).status_code == 201


@pytest.mark.parametrize("nothing", [{}, {"role": None, "blocked": None}])
def test_an_empty_change_leaves_a_user_unchanged(
    admin: ApiUser, member: ApiUser, nothing: dict[str, None]
) -> None:
    user_id = member.me["id"]
    log_before = admin.api.get("/admin/audit").json()["items"]

    answer = admin.api.patch(f"/admin/people/{user_id}", json=nothing)
    own_answer = member.api.patch("/me", json={})

    assert (answer.status_code, answer.json()["role"]) == (200, "member")
    assert (own_answer.status_code, own_answer.json()["id"]) == (200, user_id)
    assert admin.api.get("/admin/audit").json()["items"] == log_before


def test_limits_of_a_user_keep_runs_queued_and_refuse_new_ones(
    admin: ApiUser, member: ApiUser
) -> None:
    run_id, user_id = member.create_run(), member.me["id"]
    assert member.api.post(f"/runs/{run_id}/start").json()["status"] == "queued"

    limited = admin.api.patch(f"/admin/people/{user_id}", json={"disk_mb": 0}).json()
    refused = member.api.post("/runs", json={"env_id": "CartPole-v1", "algorithm": "PPO"})

    assert limited["disk_mb"] == 0
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "over_limit")
    admin.api.patch(f"/admin/people/{user_id}", json={"disk_mb": None})
    assert member.create_run()
    assert member.me["limits"] == {"runs_at_once": 0, "disk_mb": None}


def test_runs_are_found_by_the_address_of_their_owner(admin: ApiUser, member: ApiUser) -> None:
    run_id = member.create_run()

    listed = admin.api.get("/runs", params={"owner": member.email}).json()["items"]

    assert [run["id"] for run in listed] == [run_id]


def test_a_socket_without_an_origin_needs_a_token(principals: Principals) -> None:
    cookie = principals.owner.api.cookies["lab_session"]
    url = f"{principals.server.url.replace('http', 'ws')}/api/runs/{principals.run_id}/frames"

    with (
        pytest.raises(InvalidStatus),
        connect(url, additional_headers={"Cookie": f"lab_session={cookie}"}),
    ):
        pass


def test_a_socket_ends_when_its_user_is_blocked(
    admin: ApiUser, member: ApiUser, guarded: LabServer
) -> None:
    run_id = member.create_run()
    headers = {"Cookie": f"lab_session={member.api.cookies['lab_session']}", "Origin": guarded.url}
    url = f"{guarded.url.replace('http', 'ws')}/api/runs/{run_id}/frames"

    with connect(url, additional_headers=headers) as socket:
        admin.api.patch(f"/admin/people/{member.me['id']}", json={"blocked": True})
        with pytest.raises(Exception, match="1008"):
            socket.recv(timeout=20)


def test_the_socket_of_a_page_accepts_only_the_session_that_opened_it(
    member: ApiUser, other: ApiUser, guarded: LabServer
) -> None:
    html = member.api.get(f"{guarded.url}/runs").text
    page_id = re.search(r"client_id\W+([0-9a-f-]{36})", html)
    assert page_id is not None
    url = f"{guarded.url.replace('http', 'ws')}/_nicegui_ws/socket.io/"
    address = f"{url}?EIO=4&transport=websocket&client_id={page_id[1]}"

    def connect_as(user: ApiUser, address: str = address) -> str:
        cookie = f"lab_session={user.api.cookies['lab_session']}"
        headers = {"Cookie": cookie, "Origin": guarded.url}
        with connect(address, additional_headers=headers) as socket:
            return str(socket.recv(timeout=20))

    assert connect_as(member).startswith("0{")
    for other_session in (other, member.new_session()):
        with pytest.raises(InvalidStatus):
            connect_as(other_session)
    with pytest.raises(InvalidStatus):
        connect_as(member, f"{url}?EIO=4&transport=websocket")
