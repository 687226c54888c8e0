"""People who use a lab with accounts, each over the API and with a cookie jar of their own."""

from itertools import count
from typing import Any, Self

import httpx

from tests.lab_server import CERTIFICATES, LabServer, wait_until

PASSWORD = "correct horse battery"

_NUMBERS = count(1)
_ADDRESSES = count(1)


_NOTHING_KEPT = httpx.Limits(max_keepalive_connections=0)


def client(url: str, **more: Any) -> httpx.Client:
    """A browser or a program that keeps no connection open, so that nobody has to close it."""
    more = {"verify": CERTIFICATES, "limits": _NOTHING_KEPT, "timeout": 30, **more}
    return httpx.Client(base_url=url, **more)


def stranger(url: str, address: str, **more: Any) -> httpx.Client:
    """Somebody who asks from an address of their own, and is counted by it."""
    home = httpx.HTTPTransport(local_address=address, limits=_NOTHING_KEPT, verify=CERTIFICATES)
    return client(url, transport=home, **more)


def setup_code(lab: LabServer) -> str:
    """Return the code with which a lab on the network greets its first person."""
    wait_until(lambda: "Set-up code: " in lab.printed)
    return lab.printed.partition("Set-up code: ")[2].split()[0]


class Someone:
    def __init__(self, server: LabServer, email: str) -> None:
        self.server = server
        self.email = email
        self.api = client(f"{server.url}/api")

    def register(self, **more: Any) -> Self:
        body = {"email": self.email, "password": PASSWORD, **more}
        number = next(_ADDRESSES)
        # One address may make only so many accounts.
        address = f"127.0.{1 + number // 250}.{1 + number % 250}"
        home = httpx.HTTPTransport(local_address=address, verify=CERTIFICATES)
        with client(str(self.api.base_url), transport=home) as browser:
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

    def elsewhere(self) -> "Someone":
        """Sign in once more, in another browser."""
        other = Someone(self.server, self.email)
        assert other.login().status_code == 200
        return other

    def token(self, scope: str) -> httpx.Client:
        answer = self.api.post("/me/tokens", json={"name": f"for {scope}", "scope": scope})
        assert answer.status_code == 201, answer.text
        headers = {"Authorization": f"Bearer {answer.json()['token']}"}
        return client(str(self.api.base_url), headers=headers)

    def create_run(self, **wishes: Any) -> str:
        body = {"env_id": "CartPole-v1", "algorithm": "PPO", "total_timesteps": 500, **wishes}
        answer = self.api.post("/runs", json=body)
        assert answer.status_code == 201, answer.text
        run_id: str = answer.json()["id"]
        return run_id


def newcomer(server: LabServer) -> Someone:
    return Someone(server, f"person{next(_NUMBERS)}@example.org").register()


def code_of(answer: httpx.Response) -> str:
    code: str = answer.json()["error"]["code"]
    return code
