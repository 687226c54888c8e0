"""Users of a lab with accounts: API clients, each with its own cookie jar."""

from itertools import count
from typing import Any, Self

import httpx

from tests.lab_server import CERTIFICATES, LabServer, wait_until

PASSWORD = "correct horse battery"

_NUMBERS = count(1)
_ADDRESSES = count(1)


_NO_KEEP_ALIVE = httpx.Limits(max_keepalive_connections=0)


def client(url: str, **more: Any) -> httpx.Client:
    """Return a client without keep-alive connections, so that it need not be closed."""
    more = {"verify": CERTIFICATES, "limits": _NO_KEEP_ALIVE, "timeout": 30, **more}
    return httpx.Client(base_url=url, **more)


def client_at(url: str, address: str, **more: Any) -> httpx.Client:
    """Return a client with its own local address, which has its own rate limits."""
    transport = httpx.HTTPTransport(
        local_address=address, limits=_NO_KEEP_ALIVE, verify=CERTIFICATES
    )
    return client(url, transport=transport, **more)


def setup_code(lab: LabServer) -> str:
    """Return the set-up code that a lab on the network prints for its first account."""
    wait_until(lambda: "Set-up code: " in lab.printed)
    return lab.printed.partition("Set-up code: ")[2].split()[0]


class ApiUser:
    def __init__(self, server: LabServer, email: str) -> None:
        self.server = server
        self.email = email
        self.api = client(f"{server.url}/api")

    def register(self, **more: Any) -> Self:
        body = {"email": self.email, "password": PASSWORD, **more}
        number = next(_ADDRESSES)
        # Registrations are limited per address.
        address = f"127.0.{1 + number // 250}.{1 + number % 250}"
        transport = httpx.HTTPTransport(local_address=address, verify=CERTIFICATES)
        with client(str(self.api.base_url), transport=transport) as browser:
            answer = browser.post("/auth/register", json=body)
        assert answer.status_code == 201, answer.text
        self.api.cookies.update(answer.cookies)
        return self

    def login(self, password: str = PASSWORD) -> httpx.Response:
        return self.api.post("/auth/login", json={"email": self.email, "password": password})

    @property
    def me(self) -> dict[str, Any]:
        answer: dict[str, Any] = self.api.get("/me").json()
        return answer

    def new_session(self) -> "ApiUser":
        """Sign in once more, with another cookie jar."""
        other = ApiUser(self.server, self.email)
        assert other.login().status_code == 200
        return other

    def token(self, scope: str) -> httpx.Client:
        answer = self.api.post("/me/tokens", json={"name": f"for {scope}", "scope": scope})
        assert answer.status_code == 201, answer.text
        headers = {"Authorization": f"Bearer {answer.json()['token']}"}
        return client(str(self.api.base_url), headers=headers)

    def create_run(self, **values: Any) -> str:
        body = {"env_id": "CartPole-v1", "algorithm": "PPO", "total_timesteps": 500, **values}
        answer = self.api.post("/runs", json=body)
        assert answer.status_code == 201, answer.text
        run_id: str = answer.json()["id"]
        return run_id


def new_user(server: LabServer) -> ApiUser:
    return ApiUser(server, f"person{next(_NUMBERS)}@example.org").register()


def code_of(answer: httpx.Response) -> str:
    code: str = answer.json()["error"]["code"]
    return code
