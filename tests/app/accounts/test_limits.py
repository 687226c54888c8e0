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
from app.accounts.limits.rates import OpenStreams, Rate
from app.accounts.limits.turns import Turns
from app.accounts.requests import (
    Credentials,
    LabChanges,
    NewAccount,
    NewInvitation,
    ProfileChanges,
)
from app.accounts.users.accounts import Accounts
from app.accounts.visitors import Visitor
from app.core.settings import Settings
from app.core.storage_thread import StorageThread
from app.runs.state.capacity import Capacity
from app.web.authentication import Authentication
from app.web.session_cookie import read_cookie
from app.web.slow_clients import ImpatientProtocol
from storage.database.accounts import sessions, tokens
from storage.database.database import open_database
from storage.database.runs import create_run
from storage.errors import DiskFullError
from storage.records.accounts import PersonRecord, Registration, SessionRecord
from storage.records.runs import RunRecord
from tests.app.accounts.people import PASSWORD, setup_code
from tests.lab_server import LabServer


async def _hello(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_attempts_are_counted_per_key_and_forgotten_in_time() -> None:
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


def test_a_good_attempt_is_not_counted() -> None:
    attempts = Attempts(1, within_s=10)

    for _ in range(5):
        attempts.add("a")
        attempts.take_back("a")


def test_a_crowd_of_keys_does_not_fill_the_memory() -> None:
    attempts, rate = Attempts(1, within_s=10, most_keys=2), Rate(1, burst=1, most_keys=2)

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
def test_addresses_that_one_person_has_count_as_one(address: str, counted_as: str) -> None:
    assert network_of(address) == counted_as


async def test_turns_go_round_and_a_crowd_turns_itself_away() -> None:
    turns, worked = Turns(1, most_waiting=4), list[str]()

    async def work(name: str) -> None:
        async with turns.one(name[0]):
            worked.append(name)
            await asyncio.sleep(0)

    names = ["a1", "a2", "a3", "a4", "a5", "a6", "b1", "c1"]
    ends = await asyncio.gather(*map(work, names), return_exceptions=True)

    turned_away = [name for name, end in zip(names, ends, strict=True) if end is not None]
    assert turned_away == ["a4", "a5", "a6"]
    assert all(isinstance(end, BusyError) for end in ends if end is not None)
    assert worked == ["a1", "a2", "b1", "c1", "a3"]
    await work("d1")


async def test_a_turn_is_passed_on_by_who_gives_up() -> None:
    turns, began = Turns(1, most_waiting=4), asyncio.Event()

    async def hold() -> None:
        async with turns.one("a"):
            began.set()
            await asyncio.sleep(3_600)

    async def wait() -> None:
        async with turns.one("b"):
            pass

    holding = asyncio.ensure_future(hold())
    await began.wait()
    given_up, waiting = (asyncio.ensure_future(wait()) for _ in range(2))
    await asyncio.sleep(0)
    holding.cancel()
    given_up.cancel()

    await asyncio.wait_for(waiting, 10)
    await asyncio.wait_for(wait(), 10)


def test_a_burst_is_fine_and_a_flood_is_not() -> None:
    clock = Clock()
    rate = Rate(2, burst=3, clock=clock)
    for _ in range(3):
        rate.take("a")

    with pytest.raises(TooManyError):
        rate.take("a")
    clock.now += 0.5
    rate.take("a")


def test_streams_are_counted_while_they_are_open() -> None:
    streams = OpenStreams(1)

    with streams.one_more("a"), pytest.raises(TooManyError), streams.one_more("a"):
        pass
    with streams.one_more("a"), streams.one_more("b"):
        pass


async def test_hashes_take_no_shortcuts_and_leave_the_loop_alone() -> None:
    passwords = Passwords(cost=4)
    here = "10.0.0.1"

    async def hash_of(password: str) -> str:
        return await passwords.hash(password, asked_from=here)

    async def matches(password: str, kept: str | None) -> bool:
        return await passwords.matches(password, kept, asked_from=here)

    kept, other = await asyncio.gather(hash_of(PASSWORD), hash_of(PASSWORD))

    assert kept != other
    assert kept.startswith("$2b$04$")
    assert await matches(PASSWORD, kept)
    assert not await matches(PASSWORD + "x", kept)
    assert not await matches("nobody's password", None)
    assert await matches("zero\0inside", await hash_of("zero\0inside"))
    assert not await matches("zero\0other", await hash_of("zero\0inside"))
    passwords.close()


def test_what_is_locked_opens_with_the_same_secret_only() -> None:
    locked = Vault(b"one").lock("hf_token")

    assert "hf_token" not in locked
    assert Vault(b"one").unlock(locked) == "hf_token"
    assert Vault(b"two").unlock(locked) is None


def test_codes_are_compared_as_people_write_them() -> None:
    code = new_code()

    assert same_code(f" {code.lower().replace('-', ' ')} ", code)
    assert not same_code(code[:-1], code)
    assert not same_code("", code)


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Callable[[str], RunRecord]]:
    database = open_database(tmp_path / "lab.db")
    yield lambda owner: create_run(
        name="r", env_id="CartPole-v1", algorithm="PPO", config={}, owner=owner
    )
    database.close()


def test_who_has_their_share_waits_without_blocking_others(
    waiting: Callable[[str], RunRecord],
) -> None:
    runs = [waiting(owner) for owner in ("ada", "ada", "bob", "bob")]

    chosen = Capacity(3, lambda _: 1).choose(runs, training=["ada"])

    assert [run.owner for run in chosen] == ["bob"]
    assert len(Capacity(3).choose(runs, training=["ada"])) == 2


@asynccontextmanager
async def served_by(protocol: type[ImpatientProtocol]) -> AsyncIterator[tuple[str, int]]:
    import uvicorn

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        server = uvicorn.Server(uvicorn.Config(_hello, http=protocol, lifespan="off"))
        serving = asyncio.ensure_future(server.serve(sockets=[listening]))
        yield listening.getsockname()
        server.should_exit = True
        await serving


async def test_a_connection_that_says_nothing_is_closed() -> None:
    class Hurried(ImpatientProtocol):
        headers_within_s = 0.05

    async with served_by(Hurried) as address:
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
async def test_a_request_whose_head_never_ends_is_not_kept(beginning: bytes, more: bytes) -> None:
    async def send(writer: asyncio.StreamWriter) -> None:
        writer.write(beginning)
        for _ in range(20_000):
            writer.write(more)
            await writer.drain()

    async with served_by(ImpatientProtocol) as address:
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
async def test_a_head_that_is_too_large_is_refused_in_one_piece_too(head: bytes) -> None:
    class AtOnce(ImpatientProtocol):
        """Hands a request on when all of it is there, as a faster network would."""

        kept = b""

        def data_received(self, data: bytes) -> None:
            self.kept += data
            if len(self.kept) == len(request):
                super().data_received(self.kept)

    request = head + b"\r\n\r\n" + (b"hello" if head.startswith(b"POST") else b"")
    async with served_by(AtOnce) as address:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(request)
        answer = await reader.read()
        writer.close()

    assert answer.startswith(b"HTTP/1.1 431 ")
    assert answer.count(b"HTTP/1.1") == 1


async def test_large_requests_that_end_are_answered() -> None:
    async with served_by(ImpatientProtocol) as address:
        for request in (
            b"GET / HTTP/1.1\r\nHost: x\r\nCookie: " + b"x" * 30_000 + b"\r\n\r\n",
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n" + b"x" * 900_000,
        ):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(request)
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
            writer.close()


async def ask_from(local: str, address: tuple[str, int]) -> bytes:
    reader, writer = await asyncio.open_connection(*address, local_addr=(local, 0))
    try:
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def test_a_crowd_of_connections_from_one_address_is_turned_away() -> None:
    class Crowded(ImpatientProtocol):
        most_from_one_address = 2

    async with served_by(Crowded) as address:
        held = [await asyncio.open_connection(*address) for _ in range(2)]

        assert await ask_from("127.0.0.1", address) == b""
        assert (await ask_from("127.0.0.2", address)).startswith(b"HTTP/1.1 200")

        for reader, writer in held:
            writer.write_eof()
            await reader.read()  # Until the server has closed it, too.
            writer.close()
        assert (await ask_from("127.0.0.1", address)).startswith(b"HTTP/1.1 200")


async def test_strangers_who_do_not_read_are_counted_while_they_wait(accounts: Accounts) -> None:
    begun, goes_on = asyncio.Semaphore(0), asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        begun.release()
        await goes_on.wait()
        await _hello(scope, receive, send)

    gate = Authentication(slow, accounts=accounts, strangers=Rate(1, burst=1_000))
    waiting = [asyncio.ensure_future(ask(gate)) for _ in range(200)]
    for _ in waiting:
        await begun.acquire()

    refused = await ask(gate)
    elsewhere = asyncio.ensure_future(ask(gate, address="10.0.0.2"))
    goes_on.set()

    assert (refused.status_code, refused.headers["retry-after"]) == (429, "10")
    assert (await elsewhere).status_code == 200
    assert {answer.status_code for answer in await asyncio.gather(*waiting)} == {200}


async def test_without_accounts_an_address_opens_only_so_many_streams(accounts: Accounts) -> None:
    begun, goes_on = asyncio.Semaphore(0), asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"].endswith("/stream"):
            begun.release()
            await goes_on.wait()
        await _hello(scope, receive, send)

    accounts.is_on = False
    gate, path = Authentication(slow, accounts=accounts), "/api/runs/1/stream"
    waiting = [asyncio.ensure_future(ask(gate, path)) for _ in range(300)]
    for _ in waiting:
        await begun.acquire()

    refused = asyncio.ensure_future(ask(gate, path))
    elsewhere = asyncio.ensure_future(ask(gate, path, address="10.0.0.2"))
    await begun.acquire()
    other = await ask(gate, "/api/runs")
    goes_on.set()

    assert other.status_code == 200
    assert ((await refused).status_code, refused.result().headers.get("retry-after")) == (429, "10")
    assert {answer.status_code for answer in await asyncio.gather(elsewhere, *waiting)} == {200}
    assert (await ask(gate, path)).status_code == 200


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
def test_behind_tls_the_cookie_is_secure_and_a_proxy_is_believed_alone(
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
def test_a_proxy_says_who_asks_and_how(start_server: Callable[..., LabServer]) -> None:
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


async def ask(
    gate: Authentication, path: str = "/login", *, address: str = "10.0.0.1", **headers: str
) -> httpx.Response:
    transport = httpx.ASGITransport(gate, client=(address, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.get(path, headers=headers)


async def test_a_flood_is_told_to_wait_each_address_for_itself(accounts: Accounts) -> None:
    gate = Authentication(_hello, accounts=accounts, strangers=Rate(1, burst=2, clock=Clock()))

    answers = [await ask(gate) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[-1].headers["retry-after"] == "1"
    assert (await ask(gate, address="10.0.0.2")).status_code == 200


async def test_pages_are_dearer_than_answers(accounts: Accounts) -> None:
    pages = Rate(1, burst=2, clock=Clock())
    gate = Authentication(_hello, accounts=accounts, pages=pages)
    wanted = NewAccount(email="a@example.org", password=PASSWORD)
    shown = await accounts.signing_in.register(wanted, Caller(address="10.0.0.1"))
    cookie = f"lab_session={shown}"

    answers = [await ask(gate, "/runs", Cookie=cookie) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert (await ask(gate, "/api/runs", Cookie=cookie)).status_code == 200


async def test_a_flood_of_made_up_tokens_does_not_reach_the_database(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(tokens, "find_token", asked.append)
    gate = Authentication(_hello, accounts=accounts, strangers=Rate(1, burst=2, clock=Clock()))

    answers = [await ask(gate, "/api/runs", Authorization=f"Bearer {n}") for n in range(4)]

    assert [answer.status_code for answer in answers] == [401, 401, 429, 429]
    assert len(asked) == 2


async def test_a_database_that_can_not_be_used_keeps_out_only_who_is_unknown(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise DiskFullError

    gate = Authentication(_hello, accounts=accounts)
    wanted = NewAccount(email="a@example.org", password=PASSWORD)
    shown = await accounts.signing_in.register(wanted, Caller(address="10.0.0.1"))
    monkeypatch.setattr(sessions, "touch_session", fail)

    known = await ask(gate, "/runs", Cookie=f"lab_session={shown}")
    monkeypatch.setattr(sessions, "find_session", fail)
    unknown = await ask(gate, "/api/runs", Cookie="lab_session=another")

    assert known.text == "hello"
    assert unknown.status_code == 503
    assert unknown.json()["error"]["code"] == "not_written"


async def test_an_address_makes_only_so_many_accounts(accounts: Accounts) -> None:
    async def register(number: int, address: str) -> None:
        wanted = NewAccount(email=f"p{number}@example.org", password=PASSWORD)
        await accounts.signing_in.register(wanted, Caller(address=address))

    for number in range(60):
        await register(number, "10.0.0.1")

    with pytest.raises(TooManyError, match="attempts to register"):
        await register(60, "10.0.0.1")
    await register(60, "10.0.0.2")


async def test_a_class_behind_one_router_registers_and_signs_in(accounts: Accounts) -> None:
    signing_in, router = accounts.signing_in, Caller(address="10.0.0.1")
    shown = await signing_in.register(
        NewAccount(email="teacher@example.org", password=PASSWORD), router
    )
    found = await accounts.passes.of_session(shown)
    assert found is not None
    teacher, administration = Visitor(found), accounts.administration
    await administration.change_lab(teacher, LabChanges(registration=Registration.INVITE))
    codes = [(await administration.invite(teacher, NewInvitation()))[1] for _ in range(90)]

    async def register(number: int, code: str) -> None:
        email = f"pupil{number}@example.org"
        wanted = NewAccount(email=email, password=PASSWORD, invitation=code)
        await signing_in.register(wanted, router)

    async def sign_in(number: int) -> None:
        email = f"pupil{number}@example.org"
        with pytest.raises(WrongCredentialsError):
            await signing_in.login(Credentials(email=email, password="mistyped"), router)
        await signing_in.login(Credentials(email=email, password=PASSWORD), router)

    for start in (0, 30, 60):  # Three classes in one hour.
        await asyncio.gather(*(register(n, codes[n]) for n in range(start, start + 30)))
    await asyncio.gather(*map(sign_in, range(30)))


async def test_the_right_password_again_and_again_has_to_wait(accounts: Accounts) -> None:
    signing_in, here = accounts.signing_in, Caller(address="10.0.0.1")
    for email in ("a@example.org", "b@example.org"):
        await signing_in.register(NewAccount(email=email, password=PASSWORD), here)
    credentials = Credentials(email="a@example.org", password=PASSWORD)
    for _ in range(60):
        await signing_in.login(credentials, here)

    with pytest.raises(TooManyError, match="attempts to sign in"):
        await signing_in.login(credentials, here)
    await signing_in.login(Credentials(email="b@example.org", password=PASSWORD), here)


async def test_a_password_that_is_replaced_while_it_is_checked_opens_nothing(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    signing_in, here = accounts.signing_in, Caller(address="10.0.0.1")
    shown = await signing_in.register(NewAccount(email="a@example.org", password=PASSWORD), here)
    found = await accounts.passes.of_session(shown)
    assert found is not None
    assert found.person is not None
    matches, person_id = Passwords.matches, found.person.id

    async def slowly(self: Passwords, *args: Any, **more: Any) -> bool:
        is_right = await matches(self, *args, **more)
        monkeypatch.undo()
        changes = ProfileChanges(password="another good one", current_password=PASSWORD)
        await accounts.profiles.change(Visitor(found), changes)
        return is_right

    monkeypatch.setattr(Passwords, "matches", slowly)
    with pytest.raises(WrongCredentialsError):
        await signing_in.login(Credentials(email="a@example.org", password=PASSWORD), here)

    assert len(sessions_of(accounts, person_id)) == 1


async def test_a_password_that_is_replaced_while_a_session_begins_opens_nothing(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    signing_in, here = accounts.signing_in, Caller(address="10.0.0.1")
    shown = await signing_in.register(NewAccount(email="a@example.org", password=PASSWORD), here)
    found = await accounts.passes.of_session(shown)
    assert found is not None
    assert found.person is not None
    make_room = signing_in._make_room

    async def meanwhile(person: PersonRecord) -> None:
        await make_room(person)
        monkeypatch.undo()
        changes = ProfileChanges(password="another good one", current_password=PASSWORD)
        await accounts.profiles.change(Visitor(found), changes)

    monkeypatch.setattr(signing_in, "_make_room", meanwhile)
    with pytest.raises(WrongCredentialsError):
        await signing_in.login(Credentials(email="a@example.org", password=PASSWORD), here)

    assert len(sessions_of(accounts, found.person.id)) == 1


def sessions_of(accounts: Accounts, person_id: str) -> tuple[SessionRecord, ...]:
    return accounts._storage.call(sessions.list_sessions, person_id)


@pytest.mark.parametrize("name", ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
async def test_a_proxy_in_front_of_a_server_without_accounts_is_refused(
    accounts: Accounts, name: str
) -> None:
    accounts.is_on = False
    gate = Authentication(_hello, accounts=accounts)

    answer = await ask(gate, "/api/runs", **{name: "10.9.8.7"})

    assert answer.status_code == 403
    assert "--proxy ADDRESS" in answer.json()["error"]["message"]
    assert (await ask(gate, "/api/runs")).text == "hello"


def test_cookies_of_others_do_not_hide_ours() -> None:
    assert read_cookie('x={"a":1}; lab_session=ours; y=[1]', scheme="http") == "ours"
    assert read_cookie("x=1", scheme="http") is None


def test_over_https_only_a_cookie_that_others_can_not_plant_counts() -> None:
    planted = "lab_session=planted"

    assert read_cookie(planted, scheme="https") is None
    assert read_cookie(f"{planted}; __Host-lab_session=ours", scheme="wss") == "ours"
