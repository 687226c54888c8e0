"""Endless loops and unreachable lines."""

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise

from app.code_check.definitions import inside
from app.code_check.problems import Problem, Source

_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_EXITS = (ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await)


def flow_problems(source: Source) -> list[Problem]:
    """Return each endless loop and the first line of each unreachable block."""
    guarded = _guarded_by_try(source.tree)
    problems = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.While) and _is_endless(node) and node not in guarded:
            text = "This loop never ends: it needs a break, a return or another condition."
            problems.append(source.warning(node, text))
        for block in _blocks(node):
            if (unreachable := _unreachable(block)) is not None:
                text = "This line is unreachable: the code before it always exits."
                problems.append(source.warning(unreachable, text))
    return problems


def _guarded_by_try(tree: ast.Module) -> set[ast.AST]:
    """Return the nodes inside a `try` with handlers, which an exception may end."""
    tries = (node for node in ast.walk(tree) if isinstance(node, ast.Try) and node.handlers)
    return {part for one in tries for line in one.body for part in ast.walk(line)}


def _is_endless(loop: ast.While) -> bool:
    if not (isinstance(loop.test, ast.Constant) and loop.test.value):
        return False
    return not any(isinstance(node, _EXITS) for node in inside(loop)) and not _breaks(loop.body)


def _breaks(body: Sequence[ast.AST]) -> bool:
    """Whether a `break` ends the loop itself, not a nested one."""
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
