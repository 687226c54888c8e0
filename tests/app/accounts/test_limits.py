import asyncio
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from app.accounts.addresses import network_of
from app.accounts.auth.passwords import Passwords
from app.accounts.auth.secrets import Vault, new_code, same_code
from app.accounts.auth.sign_in import Caller
from app.accounts.errors import BusyError, TooManyError, WrongCredentialsError
from app.accounts.limits.attempts import Attempts
from app.accounts.limits.rates import OpenConnections, Rate
from app.accounts.limits.turns import Turns
from app.accounts.principals import Principal
from app.accounts.requests import (
    Credentials,
    LabChanges,
    NewAccount,
    NewInvitation,
    ProfileChanges,
)
from app.accounts.users.accounts import Accounts
from app.core.settings import Settings
from app.core.storage_thread import StorageThread
from app.runs.state.capacity import Capacity
from app.web.authentication import Authentication
from app.web.session_cookie import read_session_cookie
from app.web.slow_clients import LimitedProtocol
from storage.database.accounts import sessions, tokens
from storage.database.database import open_database
from storage.database.runs import create_run
from storage.errors import DiskFullError
from storage.records.accounts import Registration, SessionRecord, UserRecord
from storage.records.runs import RunRecord
from tests.app.accounts.users import PASSWORD, setup_code
from tests.lab_server import LabServer


async def _hello(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_attempts_are_counted_per_key_and_expire() -> None:
    clock = Clock()
    attempts = Attempts(2, within_s=10, clock=clock)
    attempts.add("a")
    attempts.add("a")

    with pytest.raises(TooManyError) as refused:
        attempts.add("a")
    attempts.add("b")
    clock.now += 10

    assert refused.value.retry_after_s == 10
    attempts.add("a")


def test_a_successful_attempt_is_not_counted() -> None:
    attempts = Attempts(1, within_s=10)

    for _ in range(5):
        attempts.add("a")
        attempts.take_back("a")


def test_many_keys_do_not_fill_the_memory() -> None:
    attempts, rate = Attempts(1, within_s=10, max_keys=2), Rate(1, burst=1, max_keys=2)

    for key in "abc":
        attempts.add(key)
        rate.take(key)

    for counting in (attempts.add, rate.take):
        counting("a")  # The oldest was forgotten, the newest were not.
        with pytest.raises(TooManyError):
            counting("c")


@pytest.mark.parametrize(
    ("address", "counted_as"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:aaaa::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:bbbb::2", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("", ""),
    ],
)
def test_addresses_of_one_network_count_as_one(address: str, counted_as: str) -> None:
    assert network_of(address) == counted_as


async def test_turns_alternate_between_networks_and_only_the_busiest_network_is_refused() -> None:
    turns, worked = Turns(1, max_waiting=4), list[str]()

    async def work(name: str) -> None:
        async with turns.turn(name[0]):
            worked.append(name)
            await asyncio.sleep(0)

    names = ["a1", "a2", "a3", "a4", "a5", "a6", "b1", "c1"]
    ends = await asyncio.gather(*map(work, names), return_exceptions=True)

    refused = [name for name, end in zip(names, ends, strict=True) if end is not None]
    assert refused == ["a4", "a5", "a6"]
    assert all(isinstance(end, BusyError) for end in ends if end is not None)
    assert worked == ["a1", "a2", "b1", "c1", "a3"]
    await work("d1")


async def test_a_cancelled_turn_is_passed_on() -> None:
    turns, began = Turns(1, max_waiting=4), asyncio.Event()

    async def hold() -> None:
        async with turns.turn("a"):
            began.set()
            await asyncio.sleep(3_600)

    async def wait() -> None:
        async with turns.turn("b"):
            pass

    holding = asyncio.ensure_future(hold())
    await began.wait()
    cancelled, waiting = (asyncio.ensure_future(wait()) for _ in range(2))
    await asyncio.sleep(0)
    holding.cancel()
    cancelled.cancel()

    await asyncio.wait_for(waiting, 10)
    await asyncio.wait_for(wait(), 10)


def test_a_burst_is_allowed_and_a_flood_is_refused() -> None:
    clock = Clock()
    rate = Rate(2, burst=3, clock=clock)
    for _ in range(3):
        rate.take("a")

    with pytest.raises(TooManyError):
        rate.take("a")
    clock.now += 0.5
    rate.take("a")


def test_streams_are_counted_while_they_are_open() -> None:
    streams = OpenConnections(1)

    with streams.counting("a"), pytest.raises(TooManyError), streams.counting("a"):
        pass
    with streams.counting("a"), streams.counting("b"):
        pass


async def test_hashes_are_salted_and_compare_every_character() -> None:
    passwords = Passwords(cost=4)
    here = "10.0.0.1"

    async def hash_of(password: str) -> str:
        return await passwords.hash(password, network=here)

    async def matches(password: str, hashed: str | None) -> bool:
        return await passwords.matches(password, hashed, network=here)

    first, second = await asyncio.gather(hash_of(PASSWORD), hash_of(PASSWORD))

    assert first != second
    assert first.startswith("$2b$04$")
    assert await matches(PASSWORD, first)
    assert not await matches(PASSWORD + "x", first)
    assert not await matches("nobody's password", None)
    assert await matches("zero\0inside", await hash_of("zero\0inside"))
    assert not await matches("zero\0other", await hash_of("zero\0inside"))
    passwords.close()


def test_encrypted_text_is_decrypted_only_with_the_same_secret() -> None:
    encrypted = Vault(b"one").lock("hf_token")

    assert "hf_token" not in encrypted
    assert Vault(b"one").unlock(encrypted) == "hf_token"
    assert Vault(b"two").unlock(encrypted) is None


def test_codes_are_compared_without_case_and_separators() -> None:
    code = new_code()

    assert same_code(f" {code.lower().replace('-', ' ')} ", code)
    assert not same_code(code[:-1], code)
    assert not same_code("", code)


@pytest.fixture
def create_waiting_run(tmp_path: Path) -> Iterator[Callable[[str], RunRecord]]:
    database = open_database(tmp_path / "lab.db")
    yield lambda owner: create_run(
        name="r", env_id="CartPole-v1", algorithm="PPO", config={}, owner=owner
    )
    database.close()


def test_an_owner_at_their_limit_does_not_block_runs_of_others(
    create_waiting_run: Callable[[str], RunRecord],
) -> None:
    runs = [create_waiting_run(owner) for owner in ("ada", "ada", "bob", "bob")]

    chosen = Capacity(3, lambda _: 1).choose(runs, training=["ada"])

    assert [run.owner for run in chosen] == ["bob"]
    assert len(Capacity(3).choose(runs, training=["ada"])) == 2


@asynccontextmanager
async def served_by(protocol: type[LimitedProtocol]) -> AsyncIterator[tuple[str, int]]:
    import uvicorn

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        server = uvicorn.Server(uvicorn.Config(_hello, http=protocol, lifespan="off"))
        serving = asyncio.ensure_future(server.serve(sockets=[listening]))
        yield listening.getsockname()
        server.should_exit = True
        await serving


async def test_a_connection_without_a_complete_head_is_closed() -> None:
    class ShortTimeout(LimitedProtocol):
        headers_within_s = 0.05

    async with served_by(ShortTimeout) as address:
        for beginning in (b"", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(beginning)
            assert await reader.read() == b""
            writer.close()
            await writer.wait_closed()


_BODY_BEGINS = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("beginning", "more"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: ", b"x" * 1_000),
        (b"GET / HTTP/1.1\r\nHost: x\r\n", b"X-Many: x\r\n" * 100),
        (b"GET /", b"x" * 1_000),
        (_BODY_BEGINS + b"1\r\nx\r\n0\r\n", b"X-Trailer: x\r\n" * 100),
        (_BODY_BEGINS + b"1;", b"x" * 1_000),
    ],
    ids=["one long header", "many headers", "a long address", "after the body", "beside a chunk"],
)
async def test_a_request_with_an_endless_head_is_disconnected(
    beginning: bytes, more: bytes
) -> None:
    async def send(writer: asyncio.StreamWriter) -> None:
        writer.write(beginning)
        for _ in range(20_000):
            writer.write(more)
            await writer.drain()

    async with served_by(LimitedProtocol) as address:
        _, writer = await asyncio.open_connection(*address)
        with pytest.raises(ConnectionError):
            await send(writer)
        writer.close()


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 100_000,
        b"GET / HTTP/1.1\r\nHost: x" + b"\r\nX-Many: x" * 9_000,
        b"GET /?" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: x",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nX-Long: " + b"x" * 100_000,
    ],
    ids=["one long header", "many headers", "a long address", "before a body"],
)
async def test_a_head_that_is_too_large_is_refused_even_if_it_arrives_at_once(head: bytes) -> None:
    class Complete(LimitedProtocol):
        """Passes a request on once it is complete, as on a faster network."""

        received = b""

        def data_received(self, data: bytes) -> None:
            self.received += data
            if len(self.received) == len(request):
                super().data_received(self.received)

    request = head + b"\r\n\r\n" + (b"hello" if head.startswith(b"POST") else b"")
    async with served_by(Complete) as address:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(request)
        answer = await reader.read()
        writer.close()

    assert answer.startswith(b"HTTP/1.1 431 ")
    assert answer.count(b"HTTP/1.1") == 1


async def test_large_but_finite_requests_are_answered() -> None:
    async with served_by(LimitedProtocol) as address:
        for request in (
            b"GET / HTTP/1.1\r\nHost: x\r\nCookie: " + b"x" * 30_000 + b"\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n" + b"x" * 900_000,
        ):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(request)
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
            writer.close()


async def request_from(local: str, address: tuple[str, int]) -> bytes:
    reader, writer = await asyncio.open_connection(*address, local_addr=(local, 0))
    try:
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def test_too_many_connections_from_one_address_are_refused() -> None:
    class TwoConnections(LimitedProtocol):
        max_per_network = 2

    async with served_by(TwoConnections) as address:
        held = [await asyncio.open_connection(*address) for _ in range(2)]

        assert await request_from("127.0.0.1", address) == b""
        assert (await request_from("127.0.0.2", address)).startswith(b"HTTP/1.1 200")

        for reader, writer in held:
            writer.write_eof()
            await reader.read()  # Until the server has closed it, too.
            writer.close()
        assert (await request_from("127.0.0.1", address)).startswith(b"HTTP/1.1 200")


async def test_anonymous_requests_are_counted_while_they_are_open(accounts: Accounts) -> None:
    started, released = asyncio.Semaphore(0), asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        started.release()
        await released.wait()
        await _hello(scope, receive, send)

    authentication = Authentication(slow, accounts=accounts, anonymous=Rate(1, burst=1_000))
    waiting = [asyncio.ensure_future(request(authentication)) for _ in range(200)]
    for _ in waiting:
        await started.acquire()

    refused = await request(authentication)
    other_address = asyncio.ensure_future(request(authentication, address="10.0.0.2"))
    released.set()

    assert (refused.status_code, refused.headers["retry-after"]) == (429, "10")
    assert (await other_address).status_code == 200
    assert {answer.status_code for answer in await asyncio.gather(*waiting)} == {200}


async def test_without_accounts_the_streams_of_one_address_are_limited(accounts: Accounts) -> None:
    started, released = asyncio.Semaphore(0), asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].endswith("/stream"):
            started.release()
            await released.wait()
        await _hello(scope, receive, send)

    accounts.is_on = False
    authentication, path = Authentication(slow, accounts=accounts), "/api/runs/1/stream"
    waiting = [asyncio.ensure_future(request(authentication, path)) for _ in range(300)]
    for _ in waiting:
        await started.acquire()

    refused = asyncio.ensure_future(request(authentication, path))
    other_address = asyncio.ensure_future(request(authentication, path, address="10.0.0.2"))
    await started.acquire()
    other = await request(authentication, "/api/runs")
    released.set()

    assert other.status_code == 200
    assert ((await refused).status_code, refused.result().headers.get("retry-after")) == (429, "10")
    assert {answer.status_code for answer in await asyncio.gather(other_address, *waiting)} == {200}
    assert (await request(authentication, path)).status_code == 200


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
            "-keyout", str(key), "-out", str(cert),
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key


@pytest.mark.slow
def test_with_tls_the_cookie_is_secure_and_only_a_configured_proxy_is_trusted(
    start_server: Callable[..., LabServer], certificate: tuple[Path, Path]
) -> None:
    cert, key = certificate
    trusted = ssl.create_default_context(cafile=str(cert))
    lab = start_server(
        verify=trusted,
        RL_LAB_AUTH="on",
        RL_LAB_CERT=str(cert),
        RL_LAB_KEY=str(key),
        RL_LAB_BCRYPT_COST="4",
    )
    body = {"email": "a@example.org", "password": PASSWORD}

    forged = {"X-Forwarded-For": "10.9.8.7", "X-Forwarded-Proto": "http"}
    answer = lab.api.post("/auth/register", json=body, headers=forged)

    assert answer.status_code == 201, answer.text
    assert "secure" in answer.headers["set-cookie"].lower()
    assert "max-age" in answer.headers["strict-transport-security"]
    (session,) = lab.api.get("/me/sessions").json()["items"]
    assert session["address"] == "127.0.0.1"


@pytest.mark.slow
def test_a_configured_proxy_forwards_the_client_address_and_the_scheme(
    start_server: Callable[..., LabServer],
) -> None:
    lab = start_server(RL_LAB_PROXY="127.0.0.1", RL_LAB_BCRYPT_COST="4")
    code = setup_code(lab)
    forwarded = {"X-Forwarded-For": "10.9.8.7", "X-Forwarded-Proto": "https"}
    body = {"email": "a@example.org", "password": PASSWORD, "setup_code": code}

    answer = lab.api.post("/auth/register", json=body, headers=forwarded)

    assert answer.status_code == 201, answer.text
    assert "secure" in answer.headers["set-cookie"].lower()
    cookie = {"Cookie": answer.headers["set-cookie"].split(";")[0]}
    (session,) = lab.api.get("/me/sessions", headers={**cookie, **forwarded}).json()["items"]
    assert session["address"] == "10.9.8.7"


@pytest.fixture
async def accounts(tmp_path: Path) -> AsyncIterator[Accounts]:
    storage = StorageThread()
    database = storage.call(open_database, tmp_path / "lab.db")
    accounts = Accounts(Settings(auth="on", bcrypt_cost=4), storage, secret=b"secret")
    yield accounts
    await accounts.close()
    storage.call(database.close)
    storage.close()


async def request(
    authentication: Authentication,
    path: str = "/login",
    *,
    address: str = "10.0.0.1",
    **headers: str,
) -> httpx.Response:
    transport = httpx.ASGITransport(authentication, client=(address, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.get(path, headers=headers)


async def test_anonymous_requests_are_rate_limited_per_address(accounts: Accounts) -> None:
    authentication = Authentication(
        _hello, accounts=accounts, anonymous=Rate(1, burst=2, clock=Clock())
    )

    answers = [await request(authentication) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[-1].headers["retry-after"] == "1"
    assert (await request(authentication, address="10.0.0.2")).status_code == 200


async def test_pages_have_a_stricter_rate_limit_than_the_api(accounts: Accounts) -> None:
    pages = Rate(1, burst=2, clock=Clock())
    authentication = Authentication(_hello, accounts=accounts, pages=pages)
    new_account = NewAccount(email="a@example.org", password=PASSWORD)
    token = await accounts.signing_in.register(new_account, Caller(address="10.0.0.1"))
    cookie = f"lab_session={token}"

    answers = [await request(authentication, "/runs", Cookie=cookie) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert (await request(authentication, "/api/runs", Cookie=cookie)).status_code == 200


async def test_a_flood_of_forged_tokens_does_not_reach_the_database(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    lookups = []
    monkeypatch.setattr(tokens, "find_token", lookups.append)
    authentication = Authentication(
        _hello, accounts=accounts, anonymous=Rate(1, burst=2, clock=Clock())
    )

    answers = [
        await request(authentication, "/api/runs", Authorization=f"Bearer {n}") for n in range(4)
    ]

    assert [answer.status_code for answer in answers] == [401, 401, 429, 429]
    assert len(lookups) == 2


async def test_an_unusable_database_refuses_only_unknown_sessions(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise DiskFullError

    authentication = Authentication(_hello, accounts=accounts)
    new_account = NewAccount(email="a@example.org", password=PASSWORD)
    token = await accounts.signing_in.register(new_account, Caller(address="10.0.0.1"))
    monkeypatch.setattr(sessions, "touch_session", fail)

    known = await request(authentication, "/runs", Cookie=f"lab_session={token}")
    monkeypatch.setattr(sessions, "find_session", fail)
    unknown = await request(authentication, "/api/runs", Cookie="lab_session=another")

    assert known.text == "hello"
    assert unknown.status_code == 503
    assert unknown.json()["error"]["code"] == "not_written"


async def test_registrations_are_limited_per_address(accounts: Accounts) -> None:
    async def register(number: int, address: str) -> None:
        new_account = NewAccount(email=f"p{number}@example.org", password=PASSWORD)
        await accounts.signing_in.register(new_account, Caller(address=address))

    for number in range(60):
        await register(number, "10.0.0.1")

    with pytest.raises(TooManyError, match="attempts to register"):
        await register(60, "10.0.0.1")
    await register(60, "10.0.0.2")


async def test_a_school_class_behind_one_router_can_register_and_sign_in(
    accounts: Accounts,
) -> None:
    signing_in, router = accounts.signing_in, Caller(address="10.0.0.1")
    token = await signing_in.register(
        NewAccount(email="teacher@example.org", password=PASSWORD), router
    )
    session = await accounts.passes.of_session(token)
    assert session is not None
    teacher, administration = Principal(session), accounts.administration
    await administration.change_lab(teacher, LabChanges(registration=Registration.INVITE))
    codes = [(await administration.invite(teacher, NewInvitation()))[1] for _ in range(90)]

    async def register(number: int, code: str) -> None:
        email = f"pupil{number}@example.org"
        new_account = NewAccount(email=email, password=PASSWORD, invitation=code)
        await signing_in.register(new_account, router)

    async def sign_in(number: int) -> None:
        email = f"pupil{number}@example.org"
        with pytest.raises(WrongCredentialsError):
            await signing_in.login(Credentials(email=email, password="mistyped"), router)
        await signing_in.login(Credentials(email=email, password=PASSWORD), router)

    for start in (0, 30, 60):  # Three classes in one hour.
        await asyncio.gather(*(register(n, codes[n]) for n in range(start, start + 30)))
    await asyncio.gather(*map(sign_in, range(30)))


async def test_repeated_sign_ins_with_the_right_password_are_rate_limited(
    accounts: Accounts,
) -> None:
    signing_in, here = accounts.signing_in, Caller(address="10.0.0.1")
    for email in ("a@example.org", "b@example.org"):
        await signing_in.register(NewAccount(email=email, password=PASSWORD), here)
    credentials = Credentials(email="a@example.org", password=PASSWORD)
    for _ in range(60):
        await signing_in.login(credentials, here)

    with pytest.raises(TooManyError, match="attempts to sign in"):
        await signing_in.login(credentials, here)
    await signing_in.login(Credentials(email="b@example.org", password=PASSWORD), here)


async def test_a_password_that_is_replaced_while_it_is_checked_starts_no_session(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    signing_in, here = accounts.signing_in, Caller(address="10.0.0.1")
    token = await signing_in.register(NewAccount(email="a@example.org", password=PASSWORD), here)
    session = await accounts.passes.of_session(token)
    assert session is not None
    assert session.user is not None
    matches, user_id = Passwords.matches, session.user.id

    async def change_meanwhile(self: Passwords, *args: Any, **more: Any) -> bool:
        is_right = await matches(self, *args, **more)
        monkeypatch.undo()
        changes = ProfileChanges(password="another good one", current_password=PASSWORD)
        await accounts.profiles.change(Principal(session), changes)
        return is_right

    monkeypatch.setattr(Passwords, "matches", change_meanwhile)
    with pytest.raises(WrongCredentialsError):
        await signing_in.login(Credentials(email="a@example.org", password=PASSWORD), here)

    assert len(sessions_of(accounts, user_id)) == 1


async def test_a_password_that_is_replaced_during_sign_in_starts_no_session(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    signing_in, here = accounts.signing_in, Caller(address="10.0.0.1")
    token = await signing_in.register(NewAccount(email="a@example.org", password=PASSWORD), here)
    session = await accounts.passes.of_session(token)
    assert session is not None
    assert session.user is not None
    end_oldest_sessions = signing_in._end_oldest_sessions

    async def change_meanwhile(user: UserRecord) -> None:
        await end_oldest_sessions(user)
        monkeypatch.undo()
        changes = ProfileChanges(password="another good one", current_password=PASSWORD)
        await accounts.profiles.change(Principal(session), changes)

    monkeypatch.setattr(signing_in, "_end_oldest_sessions", change_meanwhile)
    with pytest.raises(WrongCredentialsError):
        await signing_in.login(Credentials(email="a@example.org", password=PASSWORD), here)

    assert len(sessions_of(accounts, session.user.id)) == 1


def sessions_of(accounts: Accounts, user_id: str) -> tuple[SessionRecord, ...]:
    return accounts._storage.call(sessions.list_sessions, user_id)


@pytest.mark.parametrize("name", ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
async def test_a_proxy_in_front_of_a_server_without_accounts_is_refused(
    accounts: Accounts, name: str
) -> None:
    accounts.is_on = False
    authentication = Authentication(_hello, accounts=accounts)

    answer = await request(authentication, "/api/runs", **{name: "10.9.8.7"})

    assert answer.status_code == 403
    assert "--proxy ADDRESS" in answer.json()["error"]["message"]
    assert (await request(authentication, "/api/runs")).text == "hello"


def test_foreign_cookies_do_not_hide_the_session_cookie() -> None:
    assert read_session_cookie('x={"a":1}; lab_session=ours; y=[1]', scheme="http") == "ours"
    assert read_session_cookie("x=1", scheme="http") is None


def test_over_https_only_the_cookie_with_the_host_prefix_counts() -> None:
    planted = "lab_session=planted"

    assert read_session_cookie(planted, scheme="https") is None
    assert read_session_cookie(f"{planted}; __Host-lab_session=ours", scheme="wss") == "ours"
