"""Speak with the Hugging Face Hub, in a process of its own: `python -m app.sharing.hub_process`.

The order comes over standard input, so that a token is in no argument and no environment.
"""

import os
import re
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import msgspec
from huggingface_hub import CommitOperationAdd, HfApi, hf_hub_url
from huggingface_hub.errors import HfHubHTTPError, HFValidationError

from app.sharing.curve_picture import draw_curve
from app.sharing.hub_orders import Done, Failed, Failure, HubFile, Moved, Pull, Pulled, Push, Said

T = TypeVar("T")

_TRIES = 4
_FINE = 200
_LARGEST_MODEL, _LARGEST_SCALING = 256 << 20, 16 << 20
_SCALINGS = ("vec_normalize.pkl", "vecnormalize.pkl")
_ENV_ID = re.compile(r"[\w./:-]{1,150}-v\d{1,3}", re.ASCII)
_LONGEST_WAIT_S = 60.0
_PREPARED, _UPLOADED = 0.1, 0.95
"""How much is done before the first file and after the last one."""
_UNAUTHORISED, _FORBIDDEN, _MISSING, _CONFLICT, _TOO_MANY, _BROKEN = 401, 403, 404, 409, 429, 500


class _FailedError(Exception):
    """It can't be done; the text is the whole sentence."""

    def __init__(self, code: Failure, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class Pusher:
    """Uploads one model."""

    def __init__(self, order: Push, say: Callable[[Said], None]) -> None:
        self._order = order
        self._say = say
        self._api = HfApi(endpoint=order.endpoint, token=order.token, library_name="rl-lab")

    def push(self) -> Done:
        """Check the token, make the repository, upload file after file, commit."""
        self._say(Moved(share=0.02, what="Checking the token"))
        me = self._ask(self._api.whoami)
        repo_id = self._order.repo_id
        repo_id = repo_id if "/" in repo_id else f"{me['name']}/{repo_id}"
        self._say(Moved(share=0.05, what=f"Making {repo_id}"))
        self._ask(lambda: self._make(repo_id))
        additions = [_addition(file) for file in self._files(repo_id)]
        done, total = 0, sum(one.upload_info.size for one in additions) or 1
        for addition in additions:
            share = _PREPARED + (_UPLOADED - _PREPARED) * done / total
            self._say(Moved(share=share, what=f"Uploading {addition.path_in_repo}"))
            self._ask(partial(self._api.preupload_lfs_files, repo_id, [addition]))
            done += addition.upload_info.size
        self._say(Moved(share=_UPLOADED, what="Publishing"))
        self._ask(lambda: self._commit(repo_id, additions))
        return Done(url=f"{self._order.endpoint}/{repo_id}")

    def _files(self, repo_id: str) -> list[HubFile | tuple[str, bytes]]:
        curve, asked = self._order.curve, self._order.repo_id
        drawn = [] if curve is None else [(curve.name, draw_curve(curve.points))]
        # Only now it is known whose name belongs before that of the repository.
        named = [
            msgspec.structs.replace(file, text=file.text.replace(f'"{asked}"', f'"{repo_id}"'))
            if file.text is not None
            else file
            for file in self._order.files
        ]
        return [*named, *drawn]

    def _make(self, repo_id: str) -> None:
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

    def _ask(self, call: Callable[[], T]) -> T:
        return _patiently(call, self._order)


class Puller:
    """Downloads one model, no more of it than a model may have."""

    def __init__(self, order: Pull) -> None:
        self._order = order
        self._api = HfApi(endpoint=order.endpoint, token=False, library_name="rl-lab")

    def pull(self) -> Pulled:
        """Look at the repository, choose the model, download it."""
        order = self._order
        facts = _patiently(lambda: self._api.model_info(order.repo_id), order)
        names = [one.rfilename for one in facts.siblings or ()]
        model = self._choose(names)
        self._fetch(model, Path(order.model_to), _LARGEST_MODEL)
        scaling = next((name for name in _SCALINGS if name in names), None)
        if scaling is not None:
            self._fetch(scaling, Path(order.scaling_to), _LARGEST_SCALING)
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
        _patiently(lambda: self._download(name, target, largest), self._order)

    def _download(self, name: str, target: Path, largest: int) -> None:
        address = hf_hub_url(self._order.repo_id, name, endpoint=self._order.endpoint)
        size = 0
        with (
            httpx2.stream("GET", address, follow_redirects=True, timeout=60) as answer,
            target.open("wb") as file,
        ):
            if answer.status_code != _FINE:
                raise _FailedError("refused", f"{name} can't be downloaded ({answer.status_code}).")
            for piece in answer.iter_bytes():
                size += len(piece)
                if size > largest:
                    raise _FailedError("refused", f"{name} is larger than {largest >> 20} MiB.")
                file.write(piece)


def _patiently(call: Callable[[], T], order: Push | Pull) -> T:
    """Try a few times what may work a moment later."""
    for attempt in range(1, _TRIES + 1):
        try:
            return call()
        except HfHubHTTPError as error:
            wait = _wait_after(error.response, attempt)
            if wait is None or attempt == _TRIES:
                raise _refusal(error.response, order) from None
        except httpx2.TransportError:
            wait = 2.0 ** (attempt - 1)
            if attempt == _TRIES:
                raise _FailedError(
                    "no_network",
                    f"{order.endpoint} can't be reached, or hung up. Check the "
                    "connection and try again.",
                ) from None
        time.sleep(wait)
    raise AssertionError("the last try returns or raises")


def _addition(file: HubFile | tuple[str, bytes]) -> CommitOperationAdd:
    if isinstance(file, tuple):
        return CommitOperationAdd(path_in_repo=file[0], path_or_fileobj=file[1])
    if file.text is not None:
        return CommitOperationAdd(path_in_repo=file.name, path_or_fileobj=file.text.encode())
    assert file.path is not None
    return CommitOperationAdd(path_in_repo=file.name, path_or_fileobj=file.path)


def _wait_after(answer: Any, attempt: int) -> float | None:  # noqa: ANN401 - an answer of httpx2
    """Return how long to wait before it is tried again; None: that would be in vain."""
    if answer.status_code == _TOO_MANY:
        asked = answer.headers.get("Retry-After", "")
        wait = float(asked) if asked.isdecimal() else 2.0**attempt
        return wait if wait <= _LONGEST_WAIT_S else None
    return 2.0 ** (attempt - 1) if answer.status_code >= _BROKEN else None


def _refusal(answer: Any, order: Push | Pull) -> _FailedError:  # noqa: ANN401 - an answer of httpx2
    status, tokens = answer.status_code, f"{order.endpoint}/settings/tokens"
    if isinstance(order, Pull) and status in (_UNAUTHORISED, _FORBIDDEN, _MISSING):
        return _FailedError(
            "refused", f"There is no public model {order.repo_id} at {order.endpoint}."
        )
    if status == _UNAUTHORISED:
        return _FailedError(
            "wrong_token",
            f"The Hub doesn't know this token. Make one with write access at {tokens}.",
        )
    if status in (_FORBIDDEN, _MISSING):
        return _FailedError(
            "no_rights",
            f"This token may not write to {order.repo_id}. Choose a name of your own, or make a "
            f"token with write access at {tokens}.",
        )
    if status == _TOO_MANY:
        asked = answer.headers.get("Retry-After", "")
        when = f"in {asked} s" if asked.isdecimal() else "later"
        return _FailedError("rate_limited", f"The Hub got too many requests. Try again {when}.")
    if status >= _BROKEN:
        return _FailedError(
            "no_network", f"The Hub has a problem of its own ({status}). Try again later."
        )
    return _FailedError("refused", f"The Hub refused it ({status}).")


def main() -> None:
    """Carry out the one order that comes, and say how it goes, one line of JSON at a time."""
    # Whatever a library prints belongs into the log, not between the lines.
    lines = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def say(said: Said) -> None:
        lines.write(msgspec.json.encode(said) + b"\n")
        lines.flush()

    order = msgspec.json.decode(sys.stdin.buffer.read(), type=Push | Pull)
    try:
        say(Pusher(order, say).push() if isinstance(order, Push) else Puller(order).pull())
    except _FailedError as error:
        say(Failed(code=error.code, sentence=str(error)))
    except HFValidationError:
        say(Failed(code="refused", sentence=f"The Hub has no place called {order.repo_id[:100]}."))


if __name__ == "__main__":
    main()
