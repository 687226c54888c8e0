"""Modules that users' code can use: hints for users; the sandbox enforces the limits."""

import ast
import sys
from collections.abc import Iterator
from importlib.util import find_spec

from app.code_check.problems import Problem, Source

OFFERED_MODULES = {
    "numpy": "Arrays and the usual functions on them.",
    "math": "sqrt, exp, sin, pi ...",
    "random": "Random numbers; the lab doesn't seed them.",
    "statistics": "Mean, median, spread.",
    "collections": "deque, Counter, defaultdict ...",
    "dataclasses": "Classes that only hold values.",
    "typing": "Types for annotations.",
    "itertools": "Iterators: product, combinations, pairwise ...",
    "functools": "Caches, partial functions.",
    "operator": "Operators as functions.",
    "enum": "Enumerations: names for a fixed set of values.",
    "copy": "Copies of objects.",
}
"""The modules that editors complete; other installed ones can be imported, too."""

_NO_FILES = "code in a worker has no access to files"
_NO_NETWORK = "code in a worker has no network access"
_NO_PROGRAMS = "code in a worker can't start other programs"
_USELESS = {
    **dict.fromkeys(("os", "pathlib", "shutil", "glob", "tempfile", "sqlite3"), _NO_FILES),
    **dict.fromkeys(
        ("socket", "ssl", "http", "urllib", "ftplib", "smtplib", "requests", "httpx", "aiohttp"),
        _NO_NETWORK,
    ),
    **dict.fromkeys(("urllib3", "websockets", "websocket", "xmlrpc", "telnetlib"), _NO_NETWORK),
    **dict.fromkeys(("subprocess", "multiprocessing", "pty", "pexpect"), _NO_PROGRAMS),
}
_OF_THE_LAB = frozenset({"app", "components", "pages", "storage", "main", "tests"})


def import_problems(source: Source) -> list[Problem]:
    """Return imports that are useless in the sandbox, and imports that fail."""
    problems = []
    for node, module in _imported(source.tree):
        top = module.partition(".")[0]
        if top in _USELESS:
            text = f"Importing {top} does not work here: {_USELESS[top]}."
            problems.append(source.warning(node, text))
        elif not _exists(top):
            available = ", ".join(list(OFFERED_MODULES)[:7])
            text = f"There is no module {top} here. Available are {available} ..."
            problems.append(source.error(node, text))
    return problems


def _imported(tree: ast.Module) -> Iterator[tuple[ast.stmt, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            # `from . import x`: the code is not in a package.
            yield node, node.module if node.module and not node.level else "."


def _exists(name: str) -> bool:
    if name in OFFERED_MODULES or name in sys.stdlib_module_names:
        return True
    if name in _OF_THE_LAB or not name.isidentifier():
        return False
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False
