"""Every answer of the API conforms to its OpenAPI document, whatever the request."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.app.accounts.users import ApiUser
from tests.conftest import free_port
from tests.lab_server import LabServer

pytestmark = pytest.mark.slow

_CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)
MANY = [pytest.mark.soak, pytest.mark.timeout(3_600)]
_PERSONAL = ("/me", "/people", "/admin")


@pytest.fixture(scope="module")
def fuzzed_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    # Nothing listens there: generated names don't reach the real Hub.
    settings = {"RL_LAB_WORKERS": "1", "HF_ENDPOINT": "http://127.0.0.1:9"}
    with LabServer(tmp_path_factory.mktemp("fuzzed"), free_port(), **settings) as lab:
        yield lab


@pytest.mark.parametrize("examples", [2, pytest.param(60, marks=MANY)])
def test_every_answer_conforms_to_the_schema(fuzzed_server: LabServer, examples: int) -> None:
    schema = schemathesis.openapi.from_url(f"{fuzzed_server.url}/api/openapi.json")
    operations = [operation.ok() for operation in schema.get_all_operations()]

    # Streams have no end, so they are left out.
    for operation in operations:
        if not operation.path.endswith("stream"):
            _send_generated_requests(operation, examples=examples)

    assert len(operations) > 20


@pytest.mark.parametrize("examples", [2, pytest.param(40, marks=MANY)])
def test_every_answer_to_an_administrator_conforms_to_the_schema(
    tmp_path: Path, examples: int
) -> None:
    settings = {"RL_LAB_AUTH": "on", "RL_LAB_BCRYPT_COST": "4"}
    with LabServer(tmp_path, free_port(), **settings) as lab:
        root = ApiUser(lab, "root@example.org").register()
        cookies = dict(root.api.cookies)
        document = root.api.get("/openapi.json").json()
        schema = schemathesis.openapi.from_dict(document)
        schema.config.update(base_url=f"{lab.url}/api")
        operations = [operation.ok() for operation in schema.get_all_operations()]
        answers = set[int]()
        # Avatars are left out: each upload is decoded in its own worker, which is slow.
        personal = [
            one
            for one in operations
            if one.path.startswith(_PERSONAL) and not one.path.endswith("/avatar")
        ]

        for operation in personal:
            answers.update(
                _send_generated_requests(
                    operation, examples=examples, cookies=cookies, user_id=root.me["id"]
                )
            )

        assert len(personal) > 10
        assert 200 in answers
        assert 401 not in answers
        assert root.me["role"] == "admin"


def _send_generated_requests(
    operation: schemathesis.APIOperation,
    *,
    examples: int,
    cookies: Mapping[str, str] | None = None,
    user_id: str = "",
) -> set[int]:
    """Return the status codes of the answers."""
    statuses = set[int]()

    @given(case=operation.as_strategy())
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    def send(case: schemathesis.Case) -> None:
        # An existing user: generated ids would never match one.
        if "user_id" in case.path_parameters:
            case.path_parameters["user_id"] = user_id or case.path_parameters["user_id"]
        statuses.add(case.call_and_validate(checks=_CHECKS, cookies=cookies).status_code)

    send()
    return statuses
