import importlib
import inspect
from typing import get_args

import pytest

from app.protocol import commands
from app.worker.jobs import _JOBS


@pytest.mark.slow
@pytest.mark.parametrize("command", get_args(commands.Job), ids=lambda one: one.__name__)
def test_every_job_command_has_a_function_with_matching_parameters(
    command: type[commands.Command],
) -> None:
    job = _JOBS[command]
    function = getattr(importlib.import_module(f"app.worker.{job.module}"), job.function)

    given, *rest = inspect.signature(function).parameters.values()

    assert given.annotation is command
    assert len(rest) == len(job.arguments)
    assert all(one.name in {*job.arguments, "content", "weights"} for one in rest)
