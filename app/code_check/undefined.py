"""Names that code uses and nobody defines."""

import ast
import builtins
import symtable
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from itertools import islice

from app.code_check.problems import Problem, Source

_ALWAYS_THERE = frozenset(dir(builtins)) | {"__name__", "__file__", "__doc__", "__builtins__"}
_SCOPE_NAMES: dict[type[ast.AST], str] = {
    ast.Lambda: "lambda",
    ast.ListComp: "listcomp",
    ast.SetComp: "setcomp",
    ast.DictComp: "dictcomp",
    ast.GeneratorExp: "genexpr",
}

_MOST = 50
_LONGEST = 60
"""Names beyond this are compared with no others, which would take long."""
_FARTHEST = 5
_MOST_LIKELY = 200

_Tables = dict[tuple[str, int], list[symtable.SymbolTable]]


def undefined_names(source: Source) -> list[Problem]:
    """Return every name that would end in a NameError, with the one that was probably meant."""
    if any(_hides_names(node) for node in ast.walk(source.tree)):
        return []
    top = symtable.symtable(source.code, "code", "exec")
    tables: _Tables = {}
    for table in _below(top):
        tables.setdefault((table.get_name(), table.get_lineno()), []).append(table)
    known = _ALWAYS_THERE | _defined_globally(top)
    found = (
        source.error(node, _message(node.id, known | _locals(scopes)))
        for node, scopes in _loads(source.tree, [[top]], tables)
        if not (node.id in known or _is_private(node.id) or _is_local(node.id, scopes))
    )
    return list(islice(found, _MOST))


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a question that names what was probably meant, or nothing."""
    likely = [other for other in known if abs(len(other) - len(name)) <= _FARTHEST][:_MOST_LIKELY]
    close = get_close_matches(name, likely, n=1, cutoff=0.6) if len(name) <= _LONGEST else []
    return f" Did you mean {close[0]}?" if close else ""


def _hides_names(node: ast.AST) -> bool:
    """Whether names may come into being that aren't written down."""
    if isinstance(node, ast.ImportFrom):
        return any(name.name == "*" for name in node.names)
    return isinstance(node, ast.Name) and node.id in ("globals", "exec")


def _is_private(name: str) -> bool:
    """Whether Python calls it something else within a class."""
    return name.startswith("__") and not name.endswith("__")


def _below(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _below(child)


def _defined_globally(top: symtable.SymbolTable) -> set[str]:
    names = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    names |= {s.get_name() for s in top.get_symbols() if s.is_namespace()}
    for table in _below(top):
        # A function may define a global one by saying so.
        declared = (s for s in table.get_symbols() if s.is_declared_global() and s.is_assigned())
        names |= {symbol.get_name() for symbol in declared}
    return names


def _loads(
    node: ast.AST, scopes: list[list[symtable.SymbolTable]], tables: _Tables
) -> Iterator[tuple[ast.Name, list[list[symtable.SymbolTable]]]]:
    """Yield every name that is read, with the scopes it may belong to, innermost last."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
            yield child, scopes
        own = _own_tables(child, tables)
        yield from _loads(child, [*scopes, own] if own else scopes, tables)


def _own_tables(node: ast.AST, tables: _Tables) -> list[symtable.SymbolTable]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return tables.get((node.name, node.lineno), [])
    name = _SCOPE_NAMES.get(type(node))
    return tables.get((name, getattr(node, "lineno", 0)), []) if name else []


def _is_local(name: str, scopes: list[list[symtable.SymbolTable]]) -> bool:
    """Whether a scope around it has the name; decorators and defaults are taken generously."""
    for table in (table for same in scopes[1:] for table in same):
        if name in table.get_identifiers():
            symbol = table.lookup(name)
            if symbol.is_local() or symbol.is_free() or symbol.is_parameter():
                return True
    return False


def _locals(scopes: list[list[symtable.SymbolTable]]) -> set[str]:
    tables = (table for same in scopes[1:] for table in same)
    return {s.get_name() for table in tables for s in table.get_symbols() if s.is_local()}


def _message(name: str, known: Iterable[str]) -> str:
    if name in _USUALLY_IMPORTED:
        return f"{name} isn't defined. Begin with: {_USUALLY_IMPORTED[name]}"
    return f"{name} isn't defined.{suggestion(name, known)}"


_USUALLY_IMPORTED = {
    "np": "import numpy as np",
    **{name: f"import {name}" for name in ("numpy", "math", "random", "statistics", "itertools")},
    "gym": "import gymnasium as gym",
    "gymnasium": "import gymnasium",
    "deque": "from collections import deque",
    "dataclass": "from dataclasses import dataclass",
}
