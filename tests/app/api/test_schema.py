"""Every answer of the API is one that its OpenAPI document announces, whatever is asked."""

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

from tests.app.accounts.people import Someone
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
    # Nothing listens there: no name that is made up reaches the real Hub.
    settings = {"RL_LAB_WORKERS": "1", "HF_ENDPOINT": "http://127.0.0.1:9"}
    with LabServer(tmp_path_factory.mktemp("fuzzed"), free_port(), **settings) as lab:
        yield lab


@pytest.mark.parametrize("examples", [2, pytest.param(60, marks=MANY)])
def test_no_answer_is_outside_the_schema(fuzzed_server: LabServer, examples: int) -> None:
    schema = schemathesis.openapi.from_url(f"{fuzzed_server.url}/api/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations()]

    # Streams have no end, so they are left out.
    for operation in operations:
        if not operation.path.endswith("stream"):
            _ask_all_kinds_of_things(operation, examples=examples)

    assert len(operations) > 20


@pytest.mark.parametrize("examples", [2, pytest.param(40, marks=MANY)])
def test_no_answer_to_an_administrator_is_outside_the_schema(tmp_path: Path, examples: int) -> None:
    settings = {"RL_LAB_AUTH": "on", "RL_LAB_BCRYPT_COST": "4"}
    with LabServer(tmp_path, free_port(), **settings) as lab:
        root = Someone(lab, "root@example.org").register()
        cookies = dict(root.api.cookies)
        document = root.api.get("/openapi.json").json()
        schema = schemathesis.openapi.from_dict(document)
        schema.config.update(base_url=f"{lab.url}/api")
        operations = [found.ok() for found in schema.get_all_operations()]
        answers = set[int]()
        # Each picture that is sent is opened in a worker of its own, which takes its time.
        personal = [
            one
            for one in operations
            if one.path.startswith(_PERSONAL) and not one.path.endswith("/avatar")
        ]

        for operation in personal:
            answers.update(
                _ask_all_kinds_of_things(
                    operation, examples=examples, cookies=cookies, person_id=root.me["id"]
                )
            )

        assert len(personal) > 10
        assert 200 in answers
        assert 401 not in answers
        assert root.me["role"] == "admin"


def _ask_all_kinds_of_things(
    operation: schemathesis.APIOperation,
    *,
    examples: int,
    cookies: Mapping[str, str] | None = None,
    person_id: str = "",
) -> set[int]:
    """Return with which statuses it was answered."""
    statuses = set[int]()

    @given(case=operation.as_strategy())
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    def ask(case: schemathesis.Case) -> None:
        # Somebody who exists: nobody guesses an id.
        if "person_id" in case.path_parameters:
            case.path_parameters["person_id"] = person_id or case.path_parameters["person_id"]
        statuses.add(case.call_and_validate(checks=_CHECKS, cookies=cookies).status_code)

    ask()
    return statuses
