"""The Hugging Face Hub on loopback: as much of its HTTP as moving a model takes."""

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
    """What happens to the next requests of a path instead of an answer."""

    path: str
    status: int
    """0: the connection is closed without a word."""
    times: int = 1
    headers: dict[str, str] = field(default_factory=dict)


class HubStandIn:
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

    def answer(self, asked: "_Handler", body: bytes) -> None:
        path = unquote(urlsplit(asked.path).path)
        self.calls.append((asked.command, path))
        if self._breaks(asked, path):
            return
        if found := re.fullmatch(r"/lfs/([0-9a-f]{64})", path):
            self._store(asked, found[1], body)
            return
        public = re.match(rf"/{_REPO}/resolve/|/api/models/", path) and asked.command != "POST"
        if not public and asked.headers.get("Authorization") != f"Bearer {self.token}":
            asked.refuse(401, "Invalid user token.")
            return
        for pattern, act in self._routes().items():
            if found := re.fullmatch(pattern, path):
                act(asked, body, **found.groupdict())
                return
        asked.refuse(404, f"Nothing at {path}")

    def _breaks(self, asked: "_Handler", path: str) -> bool:
        for i, fault in enumerate(self.faults):
            if re.search(fault.path, path):
                left = fault.times - 1
                self.faults[i : i + 1] = (
                    [Fault(fault.path, fault.status, left, fault.headers)] if left else []
                )
                if fault.status:
                    asked.refuse(fault.status, "injected", **fault.headers)
                else:
                    asked.close_connection = True
                    asked.connection.close()
                return True
        return False

    def _routes(self) -> dict[str, Callable[..., None]]:
        return {
            "/api/whoami-v2": self._whoami,
            "/api/validate-yaml": lambda asked, _: asked.say({"errors": [], "warnings": []}),
            "/api/repos/create": self._create,
            rf"/api/models/{_REPO}/preupload/main": self._preupload,
            rf"/{_REPO}\.git/info/lfs/objects/batch": self._batch,
            rf"/api/models/{_REPO}/commit/main": self._commit,
            rf"/api/models/{_REPO}(/revision/[^/]+)?": self._info,
            rf"/api/models/{_REPO}/tree/[^/]+": self._tree,
            rf"/{_REPO}/resolve/[^/]+/(?P<name>.+)": self._resolve,
        }

    def _whoami(self, asked: "_Handler", _: bytes) -> None:
        token = {"type": "access_token", "accessToken": {"displayName": "t", "role": "write"}}
        asked.say({"type": "user", "id": "1", "name": self.user, "orgs": [], "auth": token})

    def _create(self, asked: "_Handler", body: bytes) -> None:
        wish = json.loads(body)
        repo_id = f"{wish.get('organization') or self.user}/{wish['name']}"
        if repo_id.partition("/")[0] != self.user:
            asked.refuse(403, "You don't have the rights to create a model there")
        elif repo_id in self.repos:
            asked.refuse(409, "You already created this model repo")
        else:
            is_private = wish.get("visibility") == "private" or bool(wish.get("private"))
            self.repos[repo_id] = Repo(private=is_private)
            asked.say({"url": f"{self.url}/{repo_id}", "name": repo_id, "id": repo_id})

    def _preupload(self, asked: "_Handler", body: bytes, repo: str) -> None:
        files = [
            {
                "path": file["path"],
                "uploadMode": "lfs" if file["path"].endswith(_IN_LFS) else "regular",
                "shouldIgnore": False,
            }
            for file in json.loads(body)["files"]
        ]
        asked.say({"files": files})

    def _batch(self, asked: "_Handler", body: bytes, repo: str) -> None:
        objects = []
        for wanted in json.loads(body)["objects"]:
            upload = {"upload": {"href": f"{self.url}/lfs/{wanted['oid']}"}}
            actions = {} if wanted["oid"] in self.blobs else {"actions": upload}
            objects.append({**wanted, **actions})
        asked.say({"transfer": "basic", "objects": objects})

    def _store(self, asked: "_Handler", oid: str, body: bytes) -> None:
        if hashlib.sha256(body).hexdigest() != oid:
            asked.refuse(400, "another file than announced")
            return
        self.blobs[oid] = body
        asked.say({})

    def _commit(self, asked: "_Handler", body: bytes, repo: str) -> None:
        known = self.repos[repo]
        for line in filter(None, body.split(b"\n")):
            said = json.loads(line)
            value = said["value"]
            if said["key"] == "file":
                known.files[value["path"]] = base64.b64decode(value["content"])
            elif said["key"] == "lfsFile":
                known.files[value["path"]] = self.blobs[value["oid"]]
            elif said["key"] == "header":
                known.commits.append(value["summary"])
        oid = hashlib.sha1(body).hexdigest()
        url = f"{self.url}/{repo}/commit/{oid}"
        asked.say({"success": True, "commitOid": oid, "commitUrl": url, "hookOutput": ""})

    def _info(self, asked: "_Handler", _: bytes, repo: str) -> None:
        if (known := self.repos.get(repo)) is None:
            asked.refuse(404, "Repository not found", **{"X-Error-Code": "RepoNotFound"})
            return
        siblings = [{"rfilename": name, "size": len(data)} for name, data in known.files.items()]
        facts = {"id": repo, "private": known.private, "sha": "0" * 40, "siblings": siblings}
        asked.say(
            {**facts, "_id": "1", "modelId": repo, "tags": known.tags, "downloads": 0, "likes": 0}
        )

    def _tree(self, asked: "_Handler", _: bytes, repo: str) -> None:
        files = self.repos[repo].files.items()
        asked.say([{"type": "file", "path": n, "size": len(d), "oid": "0" * 40} for n, d in files])

    def _resolve(self, asked: "_Handler", _: bytes, repo: str, name: str) -> None:
        known = self.repos.get(repo)
        if known is None or name not in known.files:
            asked.refuse(404, "Entry not found", **{"X-Error-Code": "EntryNotFound"})
            return
        content = known.files[name]
        etag = hashlib.sha256(content).hexdigest()
        asked.send(200, content, ETag=f'"{etag}"', **{"X-Repo-Commit": "0" * 40})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body: bytes) -> None:
        raise NotImplementedError

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

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

    def say(self, content: object) -> None:
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
