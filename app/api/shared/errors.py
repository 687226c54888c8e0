"""Error answers of the API, all in one format."""

import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, WebSocket
from fastapi.exceptions import RequestValidationError, WebSocketRequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from app.accounts import HiddenError
from app.core import InputError, input_error
from app.web.early_responses import close_reason
from storage import LabError, RunNotFoundError

_INVALID = 4422
"""Close code of a WebSocket that was requested with an invalid value."""

_log = logging.getLogger(__name__)


class ErrorBody(BaseModel):
    """The error, for programs (code, field) and for users (message)."""

    code: str
    message: str
    field: str | None = None


class ErrorAnswer(BaseModel):
    """The body of every error answer."""

    error: ErrorBody


COMMON_RESPONSES: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorAnswer, "description": "The request can't be read"},
    401: {"model": ErrorAnswer, "description": "Not signed in"},
    403: {"model": ErrorAnswer, "description": "Not allowed, or sent by another site or host"},
    413: {"model": ErrorAnswer, "description": "The body is too large"},
    415: {"model": ErrorAnswer, "description": "The body is not sent as JSON"},
    422: {"model": ErrorAnswer, "description": "A value is invalid; `field` names it"},
    429: {"model": ErrorAnswer, "description": "Too many requests; retry after `Retry-After`"},
    503: {"model": ErrorAnswer, "description": "No worker is available, or the database is locked"},
}
"""Errors that any route may answer with."""


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Document the statuses with which a route may refuse a request."""
    return {status: {"model": ErrorAnswer} for status in statuses}


class PathNotFoundError(LabError):
    """A path names something that doesn't exist: an `InputError` answered with 404."""

    status = HTTPStatus.NOT_FOUND

    def __init__(self, problem: InputError) -> None:
        super().__init__(str(problem), field=problem.field)
        self.code = problem.code


def error_answer(status: int, code: str, message: str, field: str | None = None) -> JSONResponse:
    """Return an answer with an error."""
    field = None if field is None else _printable(field)
    body = ErrorAnswer(error=ErrorBody(code=code, message=_printable(message), field=field))
    return JSONResponse(body.model_dump(), status_code=status)


def _printable(text: str) -> str:
    """Replace unpaired surrogates, which JSON may contain but UTF-8 can't encode."""
    return text.encode("utf-8", "replace").decode()


async def refuse_socket(socket: WebSocket, code: int, reason: str) -> None:
    """Accept and close a WebSocket: a browser only sees code and reason of an open one."""
    await socket.accept()
    await socket.close(code, close_reason(reason))


def add_error_handlers(api: FastAPI) -> None:
    """Register the handlers that convert exceptions to answers."""
    api.add_exception_handler(RequestValidationError, _malformed_or_invalid)
    api.add_exception_handler(WebSocketRequestValidationError, _invalid_socket)
    api.add_exception_handler(LabError, _refused)
    api.add_exception_handler(HTTPException, _http)
    api.add_exception_handler(Exception, _unexpected)


async def _malformed_or_invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    if (hidden := await _hidden_run(request)) is not None:
        return await _refused(request, hidden)
    problem = dict(error.errors()[0])
    if problem["loc"] == ("body",) and problem["type"] != "missing" and not _is_json(request):
        message = "The body must be JSON, sent with Content-Type: application/json."
        return error_answer(415, "unsupported_media_type", message)
    if problem["type"] == "json_invalid":
        reason = problem.get("ctx", {}).get("error", "it can't be read")
        return error_answer(400, "malformed", f"The body is not JSON: {reason}.")
    return await _refused(request, _explained(problem))


async def _hidden_run(request: Request) -> LabError | None:
    """Return the error if the run of the path can't be seen: it precedes errors of the body."""
    run_id, principal = request.path_params.get("run_id"), request.scope["state"].get("principal")
    if run_id is None or principal is None:
        return None
    try:
        await request.app.state.lab.access_for(principal).visible(run_id)
    except (RunNotFoundError, HiddenError) as error:
        return error
    return None


async def _invalid_socket(socket: WebSocket, error: Exception) -> None:
    assert isinstance(error, WebSocketRequestValidationError)
    await refuse_socket(socket, _INVALID, str(_explained(dict(error.errors()[0]))))


def _explained(problem: dict[str, Any]) -> InputError:
    """Convert a pydantic error of a request to an `InputError`."""
    where, *path = problem["loc"]
    problem["loc"] = path or [where]
    return input_error([problem])


def _is_json(request: Request) -> bool:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/json" or kind.endswith("+json")


async def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, LabError)
    answer = error_answer(error.status, error.code, str(error), error.field)
    if error.retry_after_s is not None:
        answer.headers["Retry-After"] = str(error.retry_after_s)
    return answer


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if error.status_code == 413:
        return error_answer(413, "too_large", error.detail)
    if error.status_code == 408:
        return error_answer(408, "too_slow", error.detail)
    phrase = HTTPStatus(error.status_code).phrase
    message = {
        404: f"There is nothing at {request.url.path[:200]}.",
        405: f"{request.method} is not possible here.",
    }.get(error.status_code, f"{error.detail or phrase}.")
    answer = error_answer(error.status_code, phrase.lower().replace(" ", "_"), message)
    # Keeps, for example, the Allow header of 405.
    answer.headers.update(error.headers or {})
    return answer


async def _unexpected(request: Request, error: Exception) -> JSONResponse:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return error_answer(500, "internal", "Internal server error; see the server's log.")
