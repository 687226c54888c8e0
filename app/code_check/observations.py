"""Whether code asks an observation for something that the environment doesn't observe."""

import ast
from collections.abc import Collection, Iterator

import numpy as np

from app.catalog.environments.spec import EnvSpec, ObservationKind
from app.code_check.kinds import ARGUMENTS
from app.code_check.problems import Problem, Source
from app.code_check.undefined import suggestion

_SEEN = ("obs", "next_obs")
_OF_ARRAYS = frozenset(name for name in dir(np.ndarray) if not name.startswith("_"))
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def observation_problems(source: Source, spec: EnvSpec) -> list[Problem]:
    """Return wrong names and places of `obs` and `next_obs`, where all of them are known."""
    if not spec.observed or spec.observation_kind is not ObservationKind.BOX:
        return []
    names = {component.attribute for component in spec.observed}
    problems: list[Problem] = []
    for function, seen in _functions(source.tree):
        for node in ast.walk(function):
            if _reads(node, seen):
                problems += _look_at(source, node, names, spec)
    return problems


def _functions(tree: ast.Module) -> Iterator[tuple[_Function, Collection[str]]]:
    """Yield functions that get observations, with the names under which they never change."""
    for node in ast.walk(tree):
        if isinstance(node, _Function):
            given = [argument.arg for argument in node.args.args]
            if "obs" not in given or not set(given) <= {*ARGUMENTS, "self"}:
                continue
            stored = {name for part in ast.walk(node) for name in _stored(part)}
            yield node, [name for name in _SEEN if name in given and name not in stored]


def _stored(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id


def _reads(node: ast.AST, seen: Collection[str]) -> bool:
    if not isinstance(node, ast.Attribute | ast.Subscript):
        return False
    return isinstance(node.value, ast.Name) and node.value.id in seen


def _look_at(
    source: Source, node: ast.AST, names: Collection[str], spec: EnvSpec
) -> Iterator[Problem]:
    count = len(spec.observed)
    if isinstance(node, ast.Attribute) and node.attr not in {*names, *_OF_ARRAYS}:
        hint = suggestion(node.attr, names) or f" It has {_some(names)}."
        text = f"{spec.name} doesn't observe {node.attr}.{hint}"
        yield source.error(node, text)
    place = _constant(node.slice) if isinstance(node, ast.Subscript) else None
    if place is not None and not -count <= place < count:
        text = f"There is no [{place}]: {spec.name} observes {count}, [0] to [{count - 1}]."
        yield source.error(node, text)


def _constant(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _some(names: Collection[str]) -> str:
    shown = sorted(names)[:4]
    return ", ".join(shown) + (" ..." if len(names) > len(shown) else "")
