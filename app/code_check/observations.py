"""Check that code only uses components that the observations of an environment have."""

import ast
from collections.abc import Collection, Iterator

import numpy as np

from app.catalog.environments import EnvSpec, ObservationKind
from app.code_check.kinds import ARGUMENTS
from app.code_check.problems import Problem, Source
from app.code_check.undefined import suggestion

_OBSERVATIONS = ("obs", "next_obs")
_ARRAY_ATTRIBUTES = frozenset(name for name in dir(np.ndarray) if not name.startswith("_"))
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def observation_problems(source: Source, spec: EnvSpec) -> list[Problem]:
    """Return wrong attributes and indices of `obs` and `next_obs`, if the components are known."""
    if not spec.observed or spec.observation_kind is not ObservationKind.BOX:
        return []
    names = {component.attribute for component in spec.observed}
    problems: list[Problem] = []
    for function, observations in _functions(source.tree):
        for node in ast.walk(function):
            if _reads(node, observations):
                problems += _access_problems(source, node, names, spec)
    return problems


def _functions(tree: ast.Module) -> Iterator[tuple[_Function, Collection[str]]]:
    """Yield functions with observations as arguments, and those names that are never reassigned."""
    for node in ast.walk(tree):
        if isinstance(node, _Function):
            arguments = [argument.arg for argument in node.args.args]
            if "obs" not in arguments or not set(arguments) <= {*ARGUMENTS, "self"}:
                continue
            assigned = {name for part in ast.walk(node) for name in _assigned(part)}
            yield (
                node,
                [name for name in _OBSERVATIONS if name in arguments and name not in assigned],
            )


def _assigned(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id


def _reads(node: ast.AST, observations: Collection[str]) -> bool:
    if not isinstance(node, ast.Attribute | ast.Subscript):
        return False
    return isinstance(node.value, ast.Name) and node.value.id in observations


def _access_problems(
    source: Source, node: ast.AST, names: Collection[str], spec: EnvSpec
) -> Iterator[Problem]:
    count = len(spec.observed)
    if isinstance(node, ast.Attribute) and node.attr not in {*names, *_ARRAY_ATTRIBUTES}:
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
