"""Every answer of the API is one that its OpenAPI document announces, whatever is asked."""

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.conftest import free_port
from tests.lab_server import LabServer

pytestmark = pytest.mark.slow

_CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)


@pytest.fixture(scope="module")
def fuzzed_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    with LabServer(tmp_path_factory.mktemp("fuzzed"), free_port(), RL_LAB_WORKERS="1") as lab:
        yield lab


def test_no_answer_is_outside_the_schema(fuzzed_server: LabServer) -> None:
    schema = schemathesis.openapi.from_url(f"{fuzzed_server.url}/api/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations()]

    # Streams have no end, so they are left out.
    for operation in operations:
        if not operation.path.endswith("stream"):
            _ask_all_kinds_of_things(operation)

    assert len(operations) > 20


def _ask_all_kinds_of_things(operation: schemathesis.APIOperation) -> None:
    @given(case=operation.as_strategy())
    @settings(
        max_examples=12,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    def ask(case: schemathesis.Case) -> None:
        case.call_and_validate(checks=_CHECKS)

    ask()
