"""Proofs that a principal may see or change a run are created in one package and never stored."""

import ast
from collections.abc import Iterator

import pytest

from tests.lab_server import ROOT

PROOFS = {"VisibleRun", "ChangeableRun", "SeenFilter", "Allowance"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def files(*folders: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield the files that mention proofs or access."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text()
            if any(word in text for word in (*PROOFS, "access", "unchecked")):
                yield str(path.relative_to(ROOT)), ast.parse(text)


def mentions(node: ast.AST | None) -> bool:
    """Whether an annotation or an expression names a type of proof, also in quotes."""
    return node is not None and any(proof in ast.unparse(node) for proof in PROOFS)


def makers() -> set[str]:
    """Return the methods of `Access` that return proofs."""
    tree = ast.parse((ROOT / "app/access/access.py").read_text())
    functions = (node for node in ast.walk(tree) if isinstance(node, Function))
    return {one.name for one in functions if mentions(one.returns)}


def created_proofs(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(name)) if name in PROOFS:
                yield ast.unparse(node)
            case ast.Call(func=ast.Name("cast"), args=[kind, *_]) if mentions(kind):
                yield ast.unparse(node)


def stored_proofs(tree: ast.Module) -> Iterator[str]:
    """Yield the code that stores a proof beyond the call that it was created for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef | ast.Module):
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and mentions(field.annotation):
                    yield ast.unparse(field)
        if isinstance(node, Function):
            yield from _stored_in(node)


def _stored_in(function: Function) -> Iterator[str]:
    proofs = {*_proof_arguments(function), *_proof_variables(function)}
    for node in ast.walk(function):
        match node:
            case ast.AnnAssign(target=ast.Attribute(), annotation=kind) if mentions(kind):
                yield ast.unparse(node)
            case ast.Assign(targets=targets, value=value) if _is_proof(value, proofs):
                for target in targets:
                    if isinstance(target, ast.Attribute | ast.Subscript):
                        yield ast.unparse(node)
            case ast.Lambda() if _uses(node, proofs):
                yield ast.unparse(node)


def _proof_arguments(function: Function) -> Iterator[str]:
    arguments = function.args
    for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        # A callable that takes or returns a proof is not one itself.
        if mentions(one.annotation) and "Callable[" not in ast.unparse(one.annotation):
            yield one.arg


def _proof_variables(function: Function) -> Iterator[str]:
    """Yield the names of variables that are bound to proofs."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(name)], value=value) if _is_proof(value, set()):
                yield name
            case ast.AsyncWith(items=items):
                for item in items:
                    bound = item.optional_vars
                    if isinstance(bound, ast.Name) and _is_proof(item.context_expr, set()):
                        yield bound.id


def _is_proof(value: ast.expr, known: set[str]) -> bool:
    match value:
        case ast.Await(value=inner):
            return _is_proof(inner, known)
        case ast.Name(name):
            return name in known
        case ast.Call(func=ast.Attribute(value=receiver, attr=method)):
            return method in MAKERS and "access" in ast.unparse(receiver).rpartition(".")[2]
    return False


def _uses(function: ast.Lambda, proofs: set[str]) -> bool:
    own = {one.arg for one in function.args.args}
    names = {node.id for node in ast.walk(function.body) if isinstance(node, ast.Name)}
    return bool(names & proofs - own)


MAKERS = makers()


def test_only_the_access_package_creates_proofs() -> None:
    violations = {
        path: created
        for path, tree in files("app", "components", "pages", "storage")
        if not path.startswith("app/access/") and (created := [*created_proofs(tree)])
    }

    assert violations == {}


def test_no_proof_outlives_its_call() -> None:
    violations = {
        path: stored
        for path, tree in files("app", "components", "pages", "storage")
        if (stored := [*stored_proofs(tree)])
    }

    assert violations == {}


@pytest.mark.parametrize(
    "code",
    [
        "class Row:\n    run: VisibleRun",
        "RUNS: dict[str, VisibleRun] = {}",
        "def f(self, run: ChangeableRun) -> None:\n    self._run = run",
        "def f(self) -> None:\n    self._run: VisibleRun | None = None",
        "async def f(self) -> None:\n    self._run = await self._access.visible(self._id)",
        "async def f(self) -> None:\n"
        "    run = await access.visible('x')\n"
        "    self._runs['x'] = run",
        "async def f(self) -> None:\n"
        "    async with self._access.changing('x', 'y') as run:\n"
        "        button('Stop', lambda: self._stop(run))",
    ],
)
def test_storing_a_proof_is_detected(code: str) -> None:
    assert [*stored_proofs(ast.parse(code))]


@pytest.mark.parametrize(
    "code", ["VisibleRun(run)", "cast(ChangeableRun, run)", "cast('SeenFilter', x)"]
)
def test_creating_a_proof_is_detected(code: str) -> None:
    assert [*created_proofs(ast.parse(code))]


def _bypasses_proofs(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr="unchecked") | ast.alias(name="UncheckedRuns"):
            return True
        case ast.Attribute(value=service, attr="store"):
            return ast.unparse(service).endswith("evaluations")
    return False


def test_users_access_runs_only_through_proofs() -> None:
    violations = [
        f"{path}: {ast.unparse(node)}"
        for path, tree in files("app/api", "app/cli", "components", "pages")
        for node in ast.walk(tree)
        if _bypasses_proofs(node)
    ]

    assert violations == []
