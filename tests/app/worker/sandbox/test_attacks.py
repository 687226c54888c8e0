"""The attack table: as the current user, and if that is root, also as `nobody`."""

import os
import sys
from pathlib import Path

import pytest

from app.worker.sandbox import kernel
from app.workers.sandbox_check import check_sandbox
from tests.app.worker.sandbox import attack_runner, unprivileged
from tests.app.worker.sandbox.attacks import ALONE, REMAINING, TOGETHER, Attack
from tests.app.worker.sandbox.table import DOCUMENT, rendered

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != "linux", reason="NOTHING IS ATTACKED: only Linux can lock workers down"
    ),
]

FATAL_ON_THIS_ARCHITECTURE = [
    row for row in ALONE if row.architecture in (None, kernel.ARCHITECTURE)
]

CODING_ERRORS = ("NameError", "TypeError", "SyntaxError", "ImportError", "AttributeError")
"""Errors of attacks that are themselves broken, which would prove nothing."""


@pytest.fixture(autouse=True)
async def require_landlock() -> None:
    sandbox = await check_sandbox()
    if not any(layer.startswith("landlock") for layer in sandbox.layers):
        pytest.skip(f"NOTHING IS ATTACKED: this kernel has no Landlock, only {sandbox.layers}")


def names(rows: list[Attack] | tuple[Attack, ...]) -> set[str]:
    return {row.name for row in rows}


def test_there_are_enough_attacks_and_none_twice() -> None:
    rows = (*TOGETHER, *ALONE)

    assert len(rows) == len(names(rows)) >= 60


def test_without_the_sandbox_all_attacks_succeed(tmp_path: Path) -> None:
    rows = [row for row in TOGETHER if row.not_run is None]
    with attack_runner.aims(tmp_path) as at:
        outcomes = attack_runner.run_without_sandbox(rows, at)

    failed = {
        name: outcomes.get(name) for name in names(rows) if outcomes.get(name, "-")[0] != "works"
    }
    assert not failed


@pytest.mark.parametrize(
    "row", [row for row in FATAL_ON_THIS_ARCHITECTURE if row.not_run is None], ids=lambda r: r.name
)
def test_without_the_sandbox_attacks_that_end_a_worker_succeed(row: Attack, tmp_path: Path) -> None:
    with attack_runner.aims(tmp_path) as at:
        outcomes = attack_runner.run_without_sandbox([row], at)

    assert outcomes[row.name][0] == "works", outcomes


async def test_inside_a_worker_all_attacks_fail(tmp_path: Path) -> None:
    with attack_runner.aims(tmp_path) as at:
        before = attack_runner.content(at)
        outcomes: attack_runner.Outcomes = {}
        for attacks in attack_runner.batches(TOGETHER):
            new_outcomes, ended = await attack_runner.run_in_worker(attacks, at)
            outcomes |= new_outcomes
            assert ended == "Failed"
        after = attack_runner.content(at)

    assert set(outcomes) == names(TOGETHER)
    assert {name: output for name, output in outcomes.items() if output[0] != "stopped"} == {}
    assert [output for _, output in outcomes.values() if output.startswith(CODING_ERRORS)] == []
    assert after == before


@pytest.mark.parametrize("row", FATAL_ON_THIS_ARCHITECTURE, ids=lambda row: row.name)
async def test_hostile_system_calls_end_the_worker(row: Attack, tmp_path: Path) -> None:
    with attack_runner.aims(tmp_path) as at:
        outcomes, ended = await attack_runner.run_in_worker([row], at)

    assert outcomes[row.name][0] == "begins"
    assert "the sandbox ended it" in ended


@pytest.mark.skipif(os.getuid() != 0, reason="the other tests already run as an ordinary user")
def test_all_attacks_fail_in_a_worker_of_an_unprivileged_user_as_well(tmp_path: Path) -> None:
    python = unprivileged.copy_system_python(tmp_path / "python")
    if isinstance(python, str):
        pytest.skip(f"NOT TESTED AS AN ORDINARY USER: {python}")
    with (
        unprivileged.other_process() as lab,
        attack_runner.aims(tmp_path / "lab", lab=lab) as at,
    ):
        unprivileged.grant_all_permissions(tmp_path)
        outcomes: attack_runner.Outcomes = {}
        for attacks in attack_runner.batches(TOGETHER):
            outcomes |= unprivileged.attack(python, attack_runner.source(attacks, at))

    assert set(outcomes) == names(TOGETHER)
    assert {name: output for name, output in outcomes.items() if output[0] != "stopped"} == {}
    assert [output for _, output in outcomes.values() if output.startswith(CODING_ERRORS)] == []


async def test_the_documented_remaining_attacks_succeed(tmp_path: Path) -> None:
    with attack_runner.aims(tmp_path) as at:
        outcomes, _ = await attack_runner.run_in_worker(REMAINING, at)

    assert {output for output, _ in outcomes.values()} == {"works"}


def test_the_documentation_has_the_table() -> None:
    assert DOCUMENT.read_text() == rendered(), (
        "write it with: python -m tests.app.worker.sandbox.table"
    )
