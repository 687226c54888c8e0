"""The structure of the source tree: no import cycles between folders, no overfull folders."""

import ast
import subprocess
import tomllib
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import PurePath

from tests.lab_server import ROOT

_CODE = ("app", "components", "pages", "storage")
_MAX_FILES = 21


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


def exported_names() -> dict[str, set[str]]:
    """Return the names that each package re-exports from its files."""
    found = {}
    for path in tracked(".py"):
        if path.name == "__init__.py":
            tree = ast.parse((ROOT / path).read_text())
            names = [
                ast.literal_eval(node.value)
                for node in tree.body
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
            ]
            if names:
                found[module_of(path)] = set(names[0])
    return found


def test_exported_names_are_imported_from_their_package() -> None:
    exported, bypassing, used = exported_names(), set[str](), set[str]()

    for path in [*tracked(".py"), PurePath("main.py")]:
        for node in ast.walk(ast.parse((ROOT / path).read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = {alias.name for alias in node.names}
                if node.module in exported:
                    used |= {f"{node.module}.{name}" for name in names}
                package = node.module.rpartition(".")[0]
                if package != ".".join(path.parts[:-1]):
                    bypassing |= {
                        f"{path}: {name}" for name in names & exported.get(package, set())
                    }

    assert bypassing == set()
    assert {f"{package}.{name}" for package in exported for name in exported[package]} <= used


def test_no_folder_has_too_many_files() -> None:
    sizes = Counter(path.parent for path in tracked(".py", ".js", ".css"))

    assert {str(path): size for path, size in sizes.items() if size > _MAX_FILES} == {}


def test_only_one_package_depends_on_workers_being_local_processes() -> None:
    own = {"app.workers.local_worker", "app.workers.worker_process"}
    parsers = {
        f"app.protocol{module}.{name}"
        for module in ("", ".user_code")
        for name in ("crashed_place", "hanging_place")
    }
    allowed = {PurePath("app/workers"), PurePath("app/worker"), PurePath("app/protocol")}
    found = set[str]()

    for path in tracked(".py"):
        if allowed.isdisjoint(path.parents):
            imported = imported_by(path)
            modules = {name.rpartition(".")[0] for name in imported}
            found |= {f"{path}: {name}" for name in (imported | modules) & (own | parsers)}
            tree = ast.walk(ast.parse((ROOT / path).read_text()))
            names = (node.attr for node in tree if isinstance(node, ast.Attribute))
            found |= {f"{path}: .{name}" for name in names if name in {"pid", "lower_priority"}}

    assert found == set()


def test_the_import_contracts_contain_every_package() -> None:
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
