"""Loops without an end, and lines that are never reached."""

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise

from app.code_check.definitions import inside
from app.code_check.problems import Problem, Source

_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_WAYS_OUT = (ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await)


def flow_problems(source: Source) -> list[Problem]:
    """Return every loop that can't end, and the first line of each stretch nobody reaches."""
    caught = _may_end_by_an_error(source.tree)
    problems = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.While) and _is_endless(node) and node not in caught:
            text = "This loop has no way out: it needs a break, a return or another condition."
            problems.append(source.warning(node, text))
        for block in _blocks(node):
            if (lost := _unreachable(block)) is not None:
                why = "This line is never reached: what stands before it always leaves."
                problems.append(source.warning(lost, why))
    return problems


def _may_end_by_an_error(tree: ast.Module) -> set[ast.AST]:
    """Return what is inside of a `try` that expects errors."""
    tries = (node for node in ast.walk(tree) if isinstance(node, ast.Try) and node.handlers)
    return {part for attempt in tries for line in attempt.body for part in ast.walk(line)}


def _is_endless(loop: ast.While) -> bool:
    if not (isinstance(loop.test, ast.Constant) and loop.test.value):
        return False
    return not any(isinstance(node, _WAYS_OUT) for node in inside(loop)) and not _breaks(loop.body)


def _breaks(body: Sequence[ast.AST]) -> bool:
    """Whether a loop is left by `break`; one of a loop within it leaves only that."""
    for node in body:
        if isinstance(node, ast.Break):
            return True
        inner = node.orelse if isinstance(node, ast.While | ast.For | ast.AsyncFor) else None
        is_scope = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        children = inner if inner is not None else list(ast.iter_child_nodes(node))
        if not is_scope and _breaks(children):
            return True
    return False


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block


def _unreachable(block: Sequence[ast.stmt]) -> ast.stmt | None:
    for before, after in pairwise(block):
        if isinstance(before, _LEAVES):
            return after
    return None
