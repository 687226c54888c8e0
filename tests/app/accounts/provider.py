"""A small OpenID Connect provider (and GitHub) on loopback that can also return wrong claims."""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT_ID, CLIENT_SECRET = "the-lab", "the-secret"


class Provider:
    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self.user: dict[str, Any] = {}
        self.wrong_claims: dict[str, Any] = {}
        """Claims that replace the right ones."""
        self.key = RSAKey.generate_key(2048, {"kid": "one"})
        self.signs_with = self.key
        self.requests: dict[str, dict[str, str]] = {}
        """The authorization request of each code."""

    def authorize(self, query: dict[str, str]) -> str:
        """Sign in without questions and return the redirect to the client."""
        assert query["client_id"] == CLIENT_ID
        assert query["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        self.requests[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, form: dict[str, str], authorization: str) -> tuple[int, dict[str, Any]]:
        basic = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        request = self.requests.pop(form.get("code", ""), None)
        verifier = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        is_valid = (
            request is not None
            and authorization == f"Basic {basic}"
            and base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
            == request["code_challenge"]
            and form["redirect_uri"] == request["redirect_uri"]
        )
        if request is None or not is_valid:
            return 400, {"error": "invalid_grant"}
        answer = {"access_token": "access", "token_type": "Bearer"}
        if "openid" in request["scope"]:
            answer["id_token"] = self.id_token(request)
        return 200, answer

    def id_token(self, request: dict[str, str]) -> str:
        now = int(time.time())
        claims = {
            "iss": self.address,
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 60,
            "nonce": request["nonce"],
            **self.user,
            **self.wrong_claims,
        }
        return jwt.encode({"alg": "RS256", "kid": "one"}, claims, self.signs_with)

    def get(self, path: str) -> Any:
        match path:
            case "/.well-known/openid-configuration":
                return {
                    "issuer": self.address,
                    "authorization_endpoint": f"{self.address}/authorize",
                    "token_endpoint": f"{self.address}/token",
                    "jwks_uri": f"{self.address}/jwks",
                }
            case "/jwks":
                return {"keys": [self.key.as_dict(private=False)]}
            case "/api/v3/user":
                return {"id": 4711, "login": "octo", "name": self.user.get("name")}
            case "/api/v3/user/emails":
                return [{"email": self.user["email"], "primary": True, "verified": True}]


@contextmanager
def provider_running() -> Iterator[Provider]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            if parts.path in {"/authorize", "/login/oauth/authorize"}:
                query = {key: values[0] for key, values in parse_qs(parts.query).items()}
                self.send_response(302)
                self.send_header("Location", provider.authorize(query))
                self.end_headers()
            else:
                self._answer(200, provider.get(parts.path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            form = {key: values[0] for key, values in parse_qs(body).items()}
            self._answer(*provider.token(form, self.headers.get("Authorization", "")))

        def _answer(self, status: int, content: Any) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(content).encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider = Provider(server.server_port)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield provider
    server.shutdown()
    server.server_close()
    thread.join()
