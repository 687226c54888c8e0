import asyncio
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from app.accounts.accounts import Accounts
from app.accounts.attempts import Attempts
from app.accounts.errors import TooManyError
from app.accounts.passwords import Passwords
from app.accounts.rates import OpenStreams, Rate
from app.accounts.requests import NewAccount
from app.accounts.secrets import Vault, new_code, same_code
from app.accounts.signing_in import Caller
from app.gate import Gate
from app.impatience import ImpatientProtocol
from app.session_cookie import read_cookie
from app.settings import Settings
from app.storage_thread import StorageThread
from app.training.capacity import Capacity
from storage import sessions, tokens
from storage.database import open_database
from storage.errors import DiskFullError
from storage.records import RunRecord
from storage.runs import create_run
from tests.accounts.people import PASSWORD
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
    kept, other = await asyncio.gather(passwords.hash(PASSWORD), passwords.hash(PASSWORD))

    assert kept != other
    assert kept.startswith("$2b$04$")
    assert await passwords.matches(PASSWORD, kept)
    assert not await passwords.matches(PASSWORD + "x", kept)
    assert not await passwords.matches("nobody's password", None)
    assert await passwords.matches("zero\0inside", await passwords.hash("zero\0inside"))
    assert not await passwords.matches("zero\0other", await passwords.hash("zero\0inside"))
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


async def test_a_connection_that_says_nothing_is_closed() -> None:
    import uvicorn

    class Hurried(ImpatientProtocol):
        headers_within_s = 0.05

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        config = uvicorn.Config(_hello, http=Hurried, lifespan="off")
        server = uvicorn.Server(config)
        serving = asyncio.ensure_future(server.serve(sockets=[listening]))
        for beginning in (b"", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "):
            reader, writer = await asyncio.open_connection(*listening.getsockname())
            writer.write(beginning)
            assert await reader.read() == b""
            writer.close()
            await writer.wait_closed()
        server.should_exit = True
        await serving


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
        RL_LAB_WARM_WORKERS="0",
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
    lab = start_server(
        RL_LAB_PROXY="127.0.0.1", RL_LAB_BCRYPT_COST="4", RL_LAB_WARM_WORKERS="0"
    )  # fmt: skip
    assert lab.process.stdout is not None
    code = next(line for line in lab.process.stdout if "Set-up code" in line).split()[-1]
    forwarded = {"X-Forwarded-For": "10.9.8.7", "X-Forwarded-Proto": "https"}
    body = {"email": "a@example.org", "password": PASSWORD, "setup_code": code}

    answer = lab.api.post("/auth/register", json=body, headers=forwarded)

    assert answer.status_code == 201, answer.text
    assert "secure" in answer.headers["set-cookie"].lower()
    cookie = {"Cookie": answer.headers["set-cookie"].split(";")[0]}
    (session,) = lab.api.get("/me/sessions", headers=cookie).json()["items"]
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
    gate: Gate, path: str = "/login", *, address: str = "10.0.0.1", **headers: str
) -> httpx.Response:
    transport = httpx.ASGITransport(gate, client=(address, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.get(path, headers=headers)


async def test_a_flood_is_told_to_wait_each_address_for_itself(accounts: Accounts) -> None:
    gate = Gate(_hello, accounts=accounts, strangers=Rate(1, burst=2, clock=Clock()))

    answers = [await ask(gate) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[-1].headers["retry-after"] == "1"
    assert (await ask(gate, address="10.0.0.2")).status_code == 200


async def test_a_flood_of_made_up_tokens_does_not_reach_the_database(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(tokens, "find_token", asked.append)
    gate = Gate(_hello, accounts=accounts, strangers=Rate(1, burst=2, clock=Clock()))

    answers = [await ask(gate, "/api/runs", Authorization=f"Bearer {n}") for n in range(4)]

    assert [answer.status_code for answer in answers] == [401, 401, 429, 429]
    assert len(asked) == 2


async def test_a_database_that_can_not_be_used_keeps_out_only_who_is_unknown(
    accounts: Accounts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise DiskFullError

    gate = Gate(_hello, accounts=accounts)
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

    for number in range(20):
        await register(number, "10.0.0.1")

    with pytest.raises(TooManyError, match="attempts to register"):
        await register(20, "10.0.0.1")
    await register(20, "10.0.0.2")


@pytest.mark.parametrize("name", ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
async def test_a_proxy_in_front_of_a_server_without_accounts_is_refused(
    accounts: Accounts, name: str
) -> None:
    accounts.is_on = False
    gate = Gate(_hello, accounts=accounts)

    answer = await ask(gate, "/api/runs", **{name: "10.9.8.7"})

    assert answer.status_code == 403
    assert "--proxy ADDRESS" in answer.json()["error"]["message"]
    assert (await ask(gate, "/api/runs")).text == "hello"


def test_cookies_of_others_do_not_hide_ours() -> None:
    assert read_cookie('x={"a":1}; lab_session=ours; y=[1]') == "ours"
    assert read_cookie("x=1") is None
