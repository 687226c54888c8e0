"""Whether code defines what its kind needs, with the right arguments."""

import ast
from collections.abc import Iterator

from app.code_check.kinds import WANTED, ClassWanted, CodeKind, Signature, Wanted
from app.code_check.problems import Problem, Source

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def definition_problems(source: Source, kind: CodeKind) -> list[Problem]:
    """Return what is missing or wrong; nothing, if the code defines what it should."""
    wanted = WANTED[kind]
    defined = dict(top_level(source.tree))
    for function in wanted.functions:
        if (found := defined.get(function.name)) is not None:
            return _look_at_function(source, found, function, wanted)
    classes = [node for node in defined.values() if isinstance(node, ast.ClassDef)]
    if wanted.of_class is not None:
        for found in classes:
            if _is_wanted(found, wanted.of_class):
                return _look_at_class(source, found, wanted.of_class, wanted)
    return [source.error(None, wanted.advice)]


def top_level(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Yield what a module defines by `def`, `class` or `=`, also below its `if` and `try`."""
    for node in _statements(tree):
        if isinstance(node, _Function | ast.ClassDef):
            yield node.name, node
        elif isinstance(node, ast.Assign):
            yield from ((t.id, node) for t in node.targets if isinstance(t, ast.Name))


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what belongs to a function itself, not to functions and classes within it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, _SCOPES):
            yield from inside(child)


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        if not isinstance(child, _SCOPES):
            yield from _statements(child)


def _is_wanted(found: ast.ClassDef, wanted: ClassWanted) -> bool:
    if wanted.name is not None:
        return found.name == wanted.name
    return any(ast.unparse(base).rpartition(".")[2] == wanted.base for base in found.bases)


def _look_at_class(
    source: Source, found: ast.ClassDef, wanted: ClassWanted, all_of_it: Wanted
) -> list[Problem]:
    methods = {node.name: node for node in found.body if isinstance(node, _Function)}
    may_inherit = wanted.name is not None and bool(found.bases)
    problems: list[Problem] = []
    for method in wanted.methods:
        head = Signature(method.name, ("self", *method.arguments))
        if (node := methods.get(method.name)) is not None:
            must_return = all_of_it if method.arguments else None
            problems += _look_at_function(source, node, head, must_return)
        elif not may_inherit:
            problems.append(source.error(found, f"{found.name} needs a method {head.head}."))
    return problems


def _look_at_function(
    source: Source, node: ast.AST, wanted: Signature, returning: Wanted | None
) -> list[Problem]:
    if isinstance(node, ast.ClassDef):
        return [source.error(node, f"{wanted.name} must be a function: {wanted.head}.")]
    if isinstance(node, ast.AsyncFunctionDef):
        return [source.error(node, f"{wanted.name} can't be async: write {wanted.head}.")]
    if not isinstance(node, ast.FunctionDef):
        # An assignment: what it is will be seen when it is called.
        return []
    problems = []
    if not _takes(node.args, len(wanted.arguments)):
        problems.append(source.error(node, _wrong_arguments(node, wanted)))
    if returning is not None and (complaint := _about_returning(node, returning)):
        problems.append(source.error(node, f"{wanted.name} {complaint}"))
    return problems


def _takes(arguments: ast.arguments, count: int) -> bool:
    positional = len(arguments.posonlyargs) + len(arguments.args)
    least = positional - len(arguments.defaults)
    most = count if arguments.vararg is not None else positional
    needs_more = any(default is None for default in arguments.kw_defaults)
    return least <= count <= most and not needs_more


def _wrong_arguments(node: ast.FunctionDef, wanted: Signature) -> str:
    has = ast.unparse(node.args) or "nothing"
    return (
        f"{wanted.name} is called with {len(wanted.arguments)} arguments, this one takes {has}. "
        f"Write {wanted.head}."
    )


def _about_returning(node: ast.FunctionDef, wanted: Wanted) -> str | None:
    body = list(inside(node))
    if any(isinstance(part, ast.Yield | ast.YieldFrom) for part in body):
        return f"yields; it has to return {wanted.returns}."
    if not any(isinstance(part, ast.Return) and part.value is not None for part in body):
        return f"returns nothing; it has to return {wanted.returns}."
    return None
