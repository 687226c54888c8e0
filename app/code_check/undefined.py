"""Undefined names, found by ruff, with hints."""

import ast
import asyncio
import builtins
import re
import sys
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from itertools import islice

from app.code_check.problems import Problem, Severity, Source
from app.core import run_ruff

_VERSION = f"py{sys.version_info.major}{sys.version_info.minor}"
_COMMAND = ("check", "--select=F821", "--ignore-noqa", "--exit-zero", "--output-format=concise",
            f"--target-version={_VERSION}")  # fmt: skip
_FOUND = re.compile(r"^code\.py:(\d+):(\d+): F821 Undefined name `(\w+)`", re.MULTILINE)
_MAX_PROBLEMS = 50
_MAX_LENGTH = 60
"""Longer names get no suggestion, because comparing them would take long."""
_MAX_LENGTH_DIFFERENCE = 5
_MAX_CANDIDATES = 200


async def undefined_names(source: Source) -> list[Problem]:
    """Return every name that would raise a NameError, with a suggestion."""
    try:
        printed = await run_ruff(*_COMMAND, code=source.code)
    except TimeoutError:
        return []
    return await asyncio.to_thread(_problems, source, printed) if printed else []


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a question with the most similar name, or an empty text."""
    candidates = [
        other for other in known if abs(len(other) - len(name)) <= _MAX_LENGTH_DIFFERENCE
    ][:_MAX_CANDIDATES]
    close = get_close_matches(name, candidates, n=1, cutoff=0.6) if len(name) <= _MAX_LENGTH else []
    return f" Did you mean {close[0]}?" if close else ""


def _problems(source: Source, printed: str) -> list[Problem]:
    nodes = list(ast.walk(source.tree))
    if any(map(_defines_at_run_time, nodes)):
        return []
    # Ruff also reports names in quoted annotations, which are never evaluated.
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    known = {*dir(builtins), *(name for node in nodes for name in _defined_by(node))}
    found = (match for match in _FOUND.finditer(printed) if match[3] in names)
    return [_problem(match, known) for match in islice(found, _MAX_PROBLEMS)]


def _defines_at_run_time(node: ast.AST) -> bool:
    """Whether the node may define names at run time."""
    return isinstance(node, ast.Name) and node.id in ("globals", "exec")


def _defined_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.alias(name=name, asname=other):
            yield (other or name).partition(".")[0]


def _problem(found: re.Match[str], known: Iterable[str]) -> Problem:
    line, column, name = int(found[1]), int(found[2]), found[3]
    if name in _USUAL_IMPORTS:
        hint = f" Start with: {_USUAL_IMPORTS[name]}"
    else:
        hint = suggestion(name, (other for other in known if other != name))
    return Problem(
        line=line,
        column=column,
        severity=Severity.ERROR,
        message=f"{name} isn't defined.{hint}",
        end_line=line,
        end_column=column + len(name),
    )


_USUAL_IMPORTS = {
    "np": "import numpy as np",
    **{name: f"import {name}" for name in ("numpy", "math", "random", "statistics", "itertools")},
    "gym": "import gymnasium as gym",
    "gymnasium": "import gymnasium",
    "deque": "from collections import deque",
    "dataclass": "from dataclasses import dataclass",
}
