"""Talk to the Hugging Face Hub in a separate process: `python -m app.sharing.hub_process`.

The order is read from standard input, so that the token is in no argument or environment variable.
"""

import os
import re
import sys
import time
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import msgspec
from huggingface_hub import CommitOperationAdd, HfApi, hf_hub_url
from huggingface_hub.errors import HfHubHTTPError, HFValidationError

from app.sharing.curve_picture import draw_curve
from app.sharing.hub_messages import (
    Done,
    Failed,
    Failure,
    HubFile,
    HubMessage,
    Moved,
    Pull,
    Pulled,
    Push,
)

T = TypeVar("T")

_MAX_ATTEMPTS = 4
_OK = 200
_LARGEST_MODEL, _LARGEST_NORMALIZATION = 256 << 20, 16 << 20
_NORMALIZATION_FILES = ("vec_normalize.pkl", "vecnormalize.pkl")
_ENV_ID = re.compile(r"[\w./:-]{1,150}-v\d{1,3}", re.ASCII)
_LONGEST_WAIT_S = 60.0
_PREPARED, _UPLOADED = 0.1, 0.95
"""Progress before the first file and after the last one."""
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _CONFLICT = 401, 403, 404, 409
_RATE_LIMITED, _SERVER_ERROR = 429, 500


class _FailedError(Exception):
    """The order failed; the message is a complete sentence for users."""

    def __init__(self, code: Failure, message: str) -> None:
        super().__init__(message)
        self.code = code


class Pusher:
    """Uploads one model."""

    def __init__(self, order: Push, send: Callable[[HubMessage], None]) -> None:
        self._order = order
        self._send = send
        self._api = HfApi(endpoint=order.endpoint, token=order.token, library_name="rl-lab")

    def push(self) -> Done:
        """Check the token, create the repository, upload the files one by one, commit."""
        self._send(Moved(share=0.02, step="Checking the token"))
        me = self._call(self._api.whoami)
        repo_id = self._order.repo_id
        repo_id = repo_id if "/" in repo_id else f"{me['name']}/{repo_id}"
        self._send(Moved(share=0.05, step=f"Creating {repo_id}"))
        self._call(lambda: self._create(repo_id))
        additions = [_addition(file) for file in self._files(repo_id)]
        done, total = 0, sum(one.upload_info.size for one in additions) or 1
        for addition in additions:
            share = _PREPARED + (_UPLOADED - _PREPARED) * done / total
            self._send(Moved(share=share, step=f"Uploading {addition.path_in_repo}"))
            self._call(partial(self._api.preupload_lfs_files, repo_id, [addition]))
            done += addition.upload_info.size
        self._send(Moved(share=_UPLOADED, step="Publishing"))
        self._call(lambda: self._commit(repo_id, additions))
        return Done(url=f"{self._order.endpoint}/{repo_id}")

    def _files(self, repo_id: str) -> list[HubFile | tuple[str, bytes]]:
        curve, ordered = self._order.curve, self._order.repo_id
        drawn = [] if curve is None else [(curve.name, draw_curve(curve.points))]
        # The owner's name is known only now, so the texts get the full repo id here.
        named = [
            msgspec.structs.replace(file, text=file.text.replace(f'"{ordered}"', f'"{repo_id}"'))
            if file.text is not None
            else file
            for file in self._order.files
        ]
        return [*named, *drawn]

    def _create(self, repo_id: str) -> None:
        order = self._order
        try:
            self._api.create_repo(repo_id, private=order.private, exist_ok=False)
        except HfHubHTTPError as error:
            if error.response.status_code != _CONFLICT:
                raise
            if not order.update:
                raise _FailedError(
                    "exists",
                    f"{repo_id} exists already. Choose another name, or allow it to be updated.",
                ) from None

    def _commit(self, repo_id: str, additions: list[CommitOperationAdd]) -> None:
        self._api.create_commit(repo_id, additions, commit_message=self._order.message)

    def _call(self, call: Callable[[], T]) -> T:
        return _with_retries(call, self._order)


class Puller:
    """Downloads one model, within the size limits."""

    def __init__(self, order: Pull) -> None:
        self._order = order
        self._api = HfApi(endpoint=order.endpoint, token=False, library_name="rl-lab")

    def pull(self) -> Pulled:
        """List the repository, choose the model and download it."""
        order = self._order
        facts = _with_retries(lambda: self._api.model_info(order.repo_id), order)
        names = [one.rfilename for one in facts.siblings or ()]
        model = self._choose(names)
        self._fetch(model, Path(order.model_to), _LARGEST_MODEL)
        normalization = next((name for name in _NORMALIZATION_FILES if name in names), None)
        if normalization is not None:
            self._fetch(normalization, Path(order.normalization_to), _LARGEST_NORMALIZATION)
        played = [tag for tag in facts.tags or () if _ENV_ID.fullmatch(tag)]
        return Pulled(filename=model, env_id=played[0] if played else None)

    def _choose(self, names: list[str]) -> str:
        wanted = self._order.filename
        zips = [name for name in names if name.endswith(".zip") and "/" not in name]
        if wanted is not None and wanted in names:
            return wanted
        if wanted is None and len(zips) == 1:
            return zips[0]
        known = ", ".join(zips)[:500] or "none"
        raise _FailedError(
            "refused", f"{self._order.repo_id} has these zips: {known}. Name one with filename."
        )

    def _fetch(self, name: str, target: Path, largest: int) -> None:
        _with_retries(lambda: self._download(name, target, largest), self._order)

    def _download(self, name: str, target: Path, largest: int) -> None:
        address = hf_hub_url(self._order.repo_id, name, endpoint=self._order.endpoint)
        size = 0
        with (
            httpx2.stream("GET", address, follow_redirects=True, timeout=60) as answer,
            target.open("wb") as file,
        ):
            if answer.status_code != _OK:
                raise _FailedError("refused", f"{name} can't be downloaded ({answer.status_code}).")
            for piece in answer.iter_bytes():
                size += len(piece)
                if size > largest:
                    raise _FailedError("refused", f"{name} is larger than {largest >> 20} MiB.")
                file.write(piece)


def _with_retries(call: Callable[[], T], order: Push | Pull) -> T:
    """Call, and retry temporary errors a few times."""
    for attempt in range(1, _MAX_ATTEMPTS + 1):
        try:
            return call()
        except HfHubHTTPError as error:
            wait = _wait_after(error.response, attempt)
            if wait is None or attempt == _MAX_ATTEMPTS:
                raise _refusal(error.response, order) from None
        except httpx2.TransportError:
            wait = 2.0 ** (attempt - 1)
            if attempt == _MAX_ATTEMPTS:
                raise _FailedError(
                    "no_network",
                    f"{order.endpoint} can't be reached, or closed the connection. Check the "
                    "connection and try again.",
                ) from None
        time.sleep(wait)
    raise AssertionError("the last attempt returns or raises")


def _addition(file: HubFile | tuple[str, bytes]) -> CommitOperationAdd:
    if isinstance(file, tuple):
        return CommitOperationAdd(path_in_repo=file[0], path_or_fileobj=file[1])
    if file.text is not None:
        return CommitOperationAdd(path_in_repo=file.name, path_or_fileobj=file.text.encode())
    if file.content is not None:
        return CommitOperationAdd(path_in_repo=file.name, path_or_fileobj=file.content)
    assert file.path is not None
    if file.member is not None:
        with zipfile.ZipFile(file.path) as archive:
            content = archive.read(file.member)
        return CommitOperationAdd(path_in_repo=file.name, path_or_fileobj=content)
    return CommitOperationAdd(path_in_repo=file.name, path_or_fileobj=file.path)


def _wait_after(answer: Any, attempt: int) -> float | None:  # noqa: ANN401 - an answer of httpx2
    """Return the seconds to wait before a retry; None if a retry is pointless."""
    if answer.status_code == _RATE_LIMITED:
        retry_after = answer.headers.get("Retry-After", "")
        wait = float(retry_after) if retry_after.isdecimal() else 2.0**attempt
        return wait if wait <= _LONGEST_WAIT_S else None
    return 2.0 ** (attempt - 1) if answer.status_code >= _SERVER_ERROR else None


def _refusal(answer: Any, order: Push | Pull) -> _FailedError:  # noqa: ANN401 - an answer of httpx2
    status, tokens = answer.status_code, f"{order.endpoint}/settings/tokens"
    if isinstance(order, Pull) and status in (_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND):
        return _FailedError(
            "refused", f"There is no public model {order.repo_id} at {order.endpoint}."
        )
    if status == _UNAUTHORIZED:
        return _FailedError(
            "wrong_token",
            f"The Hub rejects this token. Create one with write access at {tokens}.",
        )
    if status in (_FORBIDDEN, _NOT_FOUND):
        return _FailedError(
            "no_rights",
            f"This token may not write to {order.repo_id}. Choose a name in your namespace, or "
            f"create a token with write access at {tokens}.",
        )
    if status == _RATE_LIMITED:
        retry_after = answer.headers.get("Retry-After", "")
        when = f"in {retry_after} s" if retry_after.isdecimal() else "later"
        return _FailedError("rate_limited", f"The Hub got too many requests. Try again {when}.")
    if status >= _SERVER_ERROR:
        return _FailedError(
            "no_network", f"The Hub has an internal error ({status}). Try again later."
        )
    return _FailedError("refused", f"The Hub refused the request ({status}).")


def main() -> None:
    """Carry out one order from standard input and report progress as lines of JSON."""
    # Redirect what libraries print to stderr, so that stdout carries only messages.
    lines = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def send(message: HubMessage) -> None:
        lines.write(msgspec.json.encode(message) + b"\n")
        lines.flush()

    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Push | Pull)
    try:
        send(Pusher(order, send).push() if isinstance(order, Push) else Puller(order).pull())
    except _FailedError as error:
        send(Failed(code=error.code, message=str(error)))
    except HFValidationError:
        send(Failed(code="refused", message=f"The Hub has no namespace {order.repo_id[:100]}."))


if __name__ == "__main__":
    main()
