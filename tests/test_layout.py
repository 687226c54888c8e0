"""The shape of the tree: one direction between folders, folders that one can see at once."""

import ast
import subprocess
import tomllib
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import PurePath

from tests.lab_server import ROOT

_CODE = ("app", "components", "pages", "storage")
_MOST_FILES = 21


def tracked(*suffixes: str) -> list[PurePath]:
    done = subprocess.run(["git", "ls-files", *_CODE], cwd=ROOT, capture_output=True, text=True)
    paths = (PurePath(line) for line in done.stdout.splitlines())
    return [path for path in paths if path.suffix in suffixes and (ROOT / path).exists()]


def module_of(path: PurePath) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def imported_by(path: PurePath) -> set[str]:
    """Return the modules, or names in modules, that a file imports."""
    found = set[str]()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def test_no_two_folders_import_each_other() -> None:
    folders = {module_of(path): path.parent for path in tracked(".py")}
    graph: dict[PurePath, set[PurePath]] = {}

    for path in tracked(".py"):
        for name in imported_by(path):
            where = folders.get(name) or folders.get(name.rpartition(".")[0])
            if where is not None and where != path.parent:
                graph.setdefault(path.parent, set()).add(where)

    # A CycleError names the folders.
    assert list(TopologicalSorter(graph).static_order())


def test_no_folder_is_too_full() -> None:
    sizes = Counter(path.parent for path in tracked(".py", ".js", ".css"))

    assert {str(path): size for path, size in sizes.items() if size > _MOST_FILES} == {}


def test_the_import_contracts_know_every_package() -> None:
    packages = {
        path.parts[1].removesuffix(".py") for path in tracked(".py") if path.parts[0] == "app"
    }
    packages -= {"__init__", "protocol", "worker"}
    text = (ROOT / "pyproject.toml").read_text()
    contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]

    for contract in contracts:
        listed = contract.get("source_modules", []) + contract.get("forbidden_modules", [])
        if "app.core" in listed:
            assert {
                name.partition(".")[2] for name in listed if name.startswith("app.")
            } >= packages
    (layers,) = (contract["layers"] for contract in contracts if contract.get("containers"))
    parts = {part.partition(".")[0] for layer in layers for part in layer.split(" | ")}
    assert parts == packages | {"protocol"}
