"""How the API answers the errors of the lab."""

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from app.accounts.errors import AccessError, HiddenError, TooManyError
from app.api.shared.errors import PathNotFoundError, add_error_handlers
from app.core.errors import InputError, UnknownAlgorithmError
from app.discovery.previews import PreviewError
from app.evaluation.service import TooManyEvaluationsError
from storage.errors import (
    BadCursorError,
    DatabaseLockedError,
    EvaluationNotFoundError,
    GroupNotFoundError,
    LabError,
    LastAdminError,
    RunNotFoundError,
    UserNotFoundError,
    VersionNotFoundError,
    WrongStateError,
)
from storage.records.runs import RunStatus

REFUSALS = [
    (InputError("No.", field="seed"), 422, "invalid_value", "seed"),
    (UnknownAlgorithmError("PPP", ["PPO"]), 422, "unknown_algorithm", "algorithm"),
    (BadCursorError(), 422, "invalid_value", "cursor"),
    (
        PathNotFoundError(UnknownAlgorithmError("PPP", ["PPO"])),
        404,
        "unknown_algorithm",
        "algorithm",
    ),
    (RunNotFoundError("r"), 404, "not_found", None),
    (GroupNotFoundError("g"), 404, "not_found", None),
    (EvaluationNotFoundError("e"), 404, "not_found", None),
    (UserNotFoundError("p"), 404, "not_found", None),
    (VersionNotFoundError("v"), 404, "not_found", None),
    (HiddenError("There is no run 'r'."), 404, "not_found", None),
    (AccessError("No."), 403, "forbidden", None),
    (WrongStateError("r", RunStatus.CREATED, "stop"), 409, "wrong_state", None),
    (LastAdminError(), 409, "last_admin", None),
    (DatabaseLockedError(), 503, "not_written", None),
    (PreviewError("the worker was lost"), 503, "no_worker", None),
]
RETRY_LATER = [(TooManyError(2.5), "3"), (TooManyEvaluationsError("of this run", 5), "10")]


def answer_to(error: LabError) -> httpx.Response:
    api = FastAPI()
    add_error_handlers(api)

    @api.get("/")
    async def refuse() -> None:
        raise error

    return TestClient(api).get("/")


@pytest.mark.parametrize(("error", "status", "code", "field"), REFUSALS)
def test_a_refusal_is_answered_with_its_status_code_and_field(
    error: LabError, status: int, code: str, field: str | None
) -> None:
    answer = answer_to(error)

    assert answer.status_code == status
    assert answer.json() == {"error": {"code": code, "message": str(error), "field": field}}


@pytest.mark.parametrize(("error", "seconds"), RETRY_LATER)
def test_too_many_requests_are_answered_with_a_retry_time(error: LabError, seconds: str) -> None:
    answer = answer_to(error)

    assert (answer.status_code, answer.headers["Retry-After"]) == (429, seconds)
    assert answer.json()["error"]["code"] == "too_many"


def test_an_unexpected_error_reveals_nothing_about_the_server(
    caplog: pytest.LogCaptureFixture,
) -> None:
    api = FastAPI()
    add_error_handlers(api)

    @api.get("/")
    async def fail() -> None:
        raise RuntimeError("a secret of the server")

    answer = TestClient(api, raise_server_exceptions=False).get("/")

    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "secret" in caplog.text
