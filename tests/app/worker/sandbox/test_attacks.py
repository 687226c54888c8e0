"""The attack table: as whoever runs the tests, and where that is root as `nobody`, too."""

import os
import sys
from pathlib import Path

import pytest

from app.worker.sandbox import kernel
from app.workers.sandbox_check import check_sandbox
from tests.app.worker.sandbox import arena, ordinary
from tests.app.worker.sandbox.attacks import ALONE, REMAINING, TOGETHER, Attack
from tests.app.worker.sandbox.table import DOCUMENT, rendered

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        sys.platform != "linux", reason="NOTHING IS ATTACKED: only Linux can lock workers down"
    ),
]

HERE = [row for row in ALONE if row.architecture in (None, kernel.ARCHITECTURE)]

BLUNDERS = ("NameError", "TypeError", "SyntaxError", "ImportError", "AttributeError")
"""How an attack ends that is wrong itself, which would prove nothing."""


@pytest.fixture(autouse=True)
async def lock() -> None:
    found = await check_sandbox()
    if not any(layer.startswith("landlock") for layer in found.layers):
        pytest.skip(f"NOTHING IS ATTACKED: this kernel has no Landlock, only {found.layers}")


def names(rows: list[Attack] | tuple[Attack, ...]) -> set[str]:
    return {row.name for row in rows}


def test_there_are_enough_attacks_and_none_twice() -> None:
    rows = (*TOGETHER, *ALONE)

    assert len(rows) == len(names(rows)) >= 60


def test_without_a_lock_the_attacks_are_attacks(tmp_path: Path) -> None:
    rows = [row for row in TOGETHER if row.not_run is None]
    with arena.aims(tmp_path) as at:
        found = arena.without_a_lock(rows, at)

    failed = {name: found.get(name) for name in names(rows) if found.get(name, "-")[0] != "works"}
    assert not failed


@pytest.mark.parametrize("row", [row for row in HERE if row.not_run is None], ids=lambda r: r.name)
def test_without_a_lock_what_ends_a_worker_is_an_attack(row: Attack, tmp_path: Path) -> None:
    with arena.aims(tmp_path) as at:
        found = arena.without_a_lock([row], at)

    assert found[row.name][0] == "works", found


async def test_inside_a_worker_all_attacks_are_stopped(tmp_path: Path) -> None:
    with arena.aims(tmp_path) as at:
        before = arena.content(at)
        found: arena.Outcomes = {}
        for attacks in arena.portions(TOGETHER):
            outcomes, ended = await arena.in_a_worker(attacks, at)
            found |= outcomes
            assert ended == "Failed"
        after = arena.content(at)

    assert set(found) == names(TOGETHER)
    assert {name: said for name, said in found.items() if said[0] != "stopped"} == {}
    assert [said for _, said in found.values() if said.startswith(BLUNDERS)] == []
    assert after == before


@pytest.mark.parametrize("row", HERE, ids=lambda row: row.name)
async def test_inside_a_worker_what_nothing_honest_does_ends_it(
    row: Attack, tmp_path: Path
) -> None:
    with arena.aims(tmp_path) as at:
        found, ended = await arena.in_a_worker([row], at)

    assert found[row.name][0] == "begins"
    assert "the sandbox ended it" in ended


@pytest.mark.skipif(os.getuid() != 0, reason="the other tests already run as an ordinary user")
def test_an_ordinary_user_s_worker_stops_all_attacks_as_well(tmp_path: Path) -> None:
    python = ordinary.python_of_the_system(tmp_path / "python")
    if isinstance(python, str):
        pytest.skip(f"NOT TRIED AS AN ORDINARY USER: {python}")
    with ordinary.bystander() as lab, arena.aims(tmp_path / "lab", lab=lab) as at:
        ordinary.open_to_everybody(tmp_path)
        found: arena.Outcomes = {}
        for attacks in arena.portions(TOGETHER):
            found |= ordinary.attack(python, arena.source(attacks, at))

    assert set(found) == names(TOGETHER)
    assert {name: said for name, said in found.items() if said[0] != "stopped"} == {}
    assert [said for _, said in found.values() if said.startswith(BLUNDERS)] == []


async def test_what_remains_open_is_what_the_documentation_says(tmp_path: Path) -> None:
    with arena.aims(tmp_path) as at:
        found, _ = await arena.in_a_worker(REMAINING, at)

    assert {said for said, _ in found.values()} == {"works"}


def test_the_documentation_has_the_table() -> None:
    assert DOCUMENT.read_text() == rendered(), (
        "write it with: python -m tests.app.worker.sandbox.table"
    )
