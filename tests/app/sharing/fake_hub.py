"""A fake Hugging Face Hub on loopback, with the part of its HTTP API that models need."""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import unquote, urlsplit

_IN_LFS = (".zip", ".mp4", ".pkl", ".png")
_REPO = r"(?P<repo>[^/]+/[^/]+)"


@dataclass
class Repo:
    private: bool
    files: dict[str, bytes] = field(default_factory=dict)
    commits: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Fault:
    """An error that the next requests of a path get instead of an answer."""

    path: str
    status: int
    """0: the connection is closed without an answer."""
    times: int = 1
    headers: dict[str, str] = field(default_factory=dict)


class FakeHub:
    def __init__(self, token: str, user: str = "ada") -> None:
        self.token = token
        self.user = user
        self.repos: dict[str, Repo] = {}
        self.blobs: dict[str, bytes] = {}
        self.calls: list[tuple[str, str]] = []
        self.faults: list[Fault] = []
        hub = self

        class Handler(_Handler):
            def answer(self, body: bytes) -> None:
                hub.answer(self, body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, handler: "_Handler", body: bytes) -> None:
        path = unquote(urlsplit(handler.path).path)
        self.calls.append((handler.command, path))
        if self._injects_fault(handler, path):
            return
        if found := re.fullmatch(r"/lfs/([0-9a-f]{64})", path):
            self._store(handler, found[1], body)
            return
        public = re.match(rf"/{_REPO}/resolve/|/api/models/", path) and handler.command != "POST"
        if not public and handler.headers.get("Authorization") != f"Bearer {self.token}":
            handler.refuse(401, "Invalid user token.")
            return
        for pattern, respond in self._routes().items():
            if found := re.fullmatch(pattern, path):
                respond(handler, body, **found.groupdict())
                return
        handler.refuse(404, f"Nothing at {path}")

    def _injects_fault(self, handler: "_Handler", path: str) -> bool:
        for i, fault in enumerate(self.faults):
            if re.search(fault.path, path):
                left = fault.times - 1
                self.faults[i : i + 1] = (
                    [Fault(fault.path, fault.status, left, fault.headers)] if left else []
                )
                if fault.status:
                    handler.refuse(fault.status, "injected", **fault.headers)
                else:
                    handler.close_connection = True
                    handler.connection.close()
                return True
        return False

    def _routes(self) -> dict[str, Callable[..., None]]:
        return {
            "/api/whoami-v2": self._whoami,
            "/api/validate-yaml": lambda handler, _: handler.send_json(
                {"errors": [], "warnings": []}
            ),
            "/api/repos/create": self._create,
            rf"/api/models/{_REPO}/preupload/main": self._preupload,
            rf"/{_REPO}\.git/info/lfs/objects/batch": self._batch,
            rf"/api/models/{_REPO}/commit/main": self._commit,
            rf"/api/models/{_REPO}(/revision/[^/]+)?": self._info,
            rf"/api/models/{_REPO}/tree/[^/]+": self._tree,
            rf"/{_REPO}/resolve/[^/]+/(?P<name>.+)": self._resolve,
        }

    def _whoami(self, handler: "_Handler", _: bytes) -> None:
        token = {"type": "access_token", "accessToken": {"displayName": "t", "role": "write"}}
        handler.send_json({"type": "user", "id": "1", "name": self.user, "orgs": [], "auth": token})

    def _create(self, handler: "_Handler", body: bytes) -> None:
        options = json.loads(body)
        repo_id = f"{options.get('organization') or self.user}/{options['name']}"
        if repo_id.partition("/")[0] != self.user:
            handler.refuse(403, "You don't have the rights to create a model there")
        elif repo_id in self.repos:
            handler.refuse(409, "You already created this model repo")
        else:
            is_private = options.get("visibility") == "private" or bool(options.get("private"))
            self.repos[repo_id] = Repo(private=is_private)
            handler.send_json({"url": f"{self.url}/{repo_id}", "name": repo_id, "id": repo_id})

    def _preupload(self, handler: "_Handler", body: bytes, repo: str) -> None:
        files = [
            {
                "path": file["path"],
                "uploadMode": "lfs" if file["path"].endswith(_IN_LFS) else "regular",
                "shouldIgnore": False,
            }
            for file in json.loads(body)["files"]
        ]
        handler.send_json({"files": files})

    def _batch(self, handler: "_Handler", body: bytes, repo: str) -> None:
        objects = []
        for wanted in json.loads(body)["objects"]:
            upload = {"upload": {"href": f"{self.url}/lfs/{wanted['oid']}"}}
            actions = {} if wanted["oid"] in self.blobs else {"actions": upload}
            objects.append({**wanted, **actions})
        handler.send_json({"transfer": "basic", "objects": objects})

    def _store(self, handler: "_Handler", oid: str, body: bytes) -> None:
        if hashlib.sha256(body).hexdigest() != oid:
            handler.refuse(400, "another file than announced")
            return
        self.blobs[oid] = body
        handler.send_json({})

    def _commit(self, handler: "_Handler", body: bytes, repo: str) -> None:
        repository = self.repos[repo]
        for line in filter(None, body.split(b"\n")):
            entry = json.loads(line)
            value = entry["value"]
            if entry["key"] == "file":
                repository.files[value["path"]] = base64.b64decode(value["content"])
            elif entry["key"] == "lfsFile":
                repository.files[value["path"]] = self.blobs[value["oid"]]
            elif entry["key"] == "header":
                repository.commits.append(value["summary"])
        oid = hashlib.sha1(body).hexdigest()
        url = f"{self.url}/{repo}/commit/{oid}"
        handler.send_json({"success": True, "commitOid": oid, "commitUrl": url, "hookOutput": ""})

    def _info(self, handler: "_Handler", _: bytes, repo: str) -> None:
        if (repository := self.repos.get(repo)) is None:
            handler.refuse(404, "Repository not found", **{"X-Error-Code": "RepoNotFound"})
            return
        siblings = [
            {"rfilename": name, "size": len(data)} for name, data in repository.files.items()
        ]
        facts = {"id": repo, "private": repository.private, "sha": "0" * 40, "siblings": siblings}
        handler.send_json(
            {
                **facts,
                "_id": "1",
                "modelId": repo,
                "tags": repository.tags,
                "downloads": 0,
                "likes": 0,
            }
        )

    def _tree(self, handler: "_Handler", _: bytes, repo: str) -> None:
        files = self.repos[repo].files.items()
        handler.send_json(
            [{"type": "file", "path": n, "size": len(d), "oid": "0" * 40} for n, d in files]
        )

    def _resolve(self, handler: "_Handler", _: bytes, repo: str, name: str) -> None:
        repository = self.repos.get(repo)
        if repository is None or name not in repository.files:
            handler.refuse(404, "Entry not found", **{"X-Error-Code": "EntryNotFound"})
            return
        content = repository.files[name]
        etag = hashlib.sha256(content).hexdigest()
        handler.send(200, content, ETag=f'"{etag}"', **{"X-Repo-Commit": "0" * 40})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body: bytes) -> None:
        raise NotImplementedError

    def log_message(self, *_: Any) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            self.answer(b"".join(iter(self._chunk, b"")))
        else:
            self.answer(self.rfile.read(length))

    do_POST = do_PUT = do_HEAD = do_GET  # noqa: N815 - as the library has them

    def _chunk(self) -> bytes:
        content = self.rfile.read(int(self.rfile.readline(), 16))
        self.rfile.readline()
        return content

    def send_json(self, content: object) -> None:
        self.send(200, json.dumps(content).encode())

    def refuse(self, status: int, message: str, **headers: str) -> None:
        content = json.dumps({"error": message}).encode()
        self.send(status, content, **{"X-Error-Message": message, **headers})

    def send(self, status: int, content: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
