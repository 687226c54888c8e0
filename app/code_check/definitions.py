"""Check that code defines the functions or the class of its kind, with the right arguments."""

import ast
from collections.abc import Iterator

from app.code_check.kinds import REQUIREMENTS, CodeKind, RequiredClass, Requirement, Signature
from app.code_check.problems import Problem, Source

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def definition_problems(source: Source, kind: CodeKind) -> list[Problem]:
    """Return the problems of the definition that the kind requires."""
    required = REQUIREMENTS[kind]
    defined = dict(top_level(source.tree))
    for function in required.functions:
        if (found := defined.get(function.name)) is not None:
            return _function_problems(source, found, function, required)
    classes = [node for node in defined.values() if isinstance(node, ast.ClassDef)]
    if required.of_class is not None:
        for found in classes:
            if _matches(found, required.of_class):
                return _class_problems(source, found, required.of_class, required)
    return [source.error(None, required.advice)]


def top_level(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Yield what a module defines by `def`, `class` or `=`, also inside `if` and `try`."""
    for node in _statements(tree):
        if isinstance(node, _Function | ast.ClassDef):
            yield node.name, node
        elif isinstance(node, ast.Assign):
            yield from ((t.id, node) for t in node.targets if isinstance(t, ast.Name))


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without those of nested functions and classes."""
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


def _matches(found: ast.ClassDef, required: RequiredClass) -> bool:
    if required.name is not None:
        return found.name == required.name
    return any(ast.unparse(base).rpartition(".")[2] == required.base for base in found.bases)


def _class_problems(
    source: Source, found: ast.ClassDef, required: RequiredClass, requirement: Requirement
) -> list[Problem]:
    methods = {node.name: node for node in found.body if isinstance(node, _Function)}
    may_inherit = required.name is not None and bool(found.bases)
    problems: list[Problem] = []
    for method in required.methods:
        head = Signature(method.name, ("self", *method.arguments))
        if (node := methods.get(method.name)) is not None:
            must_return = requirement if method.arguments else None
            problems += _function_problems(source, node, head, must_return)
        elif not may_inherit:
            problems.append(source.error(found, f"{found.name} needs a method {head.head}."))
    return problems


def _function_problems(
    source: Source, node: ast.AST, required: Signature, must_return: Requirement | None
) -> list[Problem]:
    if isinstance(node, ast.ClassDef):
        return [source.error(node, f"{required.name} must be a function: {required.head}.")]
    if isinstance(node, ast.AsyncFunctionDef):
        return [source.error(node, f"{required.name} can't be async: write {required.head}.")]
    if not isinstance(node, ast.FunctionDef):
        # An assignment: its value is only known at run time.
        return []
    problems = []
    if not _accepts(node.args, len(required.arguments)):
        problems.append(source.error(node, _wrong_arguments(node, required)))
    if must_return is not None and (message := _return_problem(node, must_return)):
        problems.append(source.error(node, f"{required.name} {message}"))
    return problems


def _accepts(arguments: ast.arguments, count: int) -> bool:
    positional = len(arguments.posonlyargs) + len(arguments.args)
    min_count = positional - len(arguments.defaults)
    max_count = count if arguments.vararg is not None else positional
    needs_more = any(default is None for default in arguments.kw_defaults)
    return min_count <= count <= max_count and not needs_more


def _wrong_arguments(node: ast.FunctionDef, required: Signature) -> str:
    has = ast.unparse(node.args) or "nothing"
    return (
        f"{required.name} is called with {len(required.arguments)} arguments, this one takes "
        f"{has}. Write {required.head}."
    )


def _return_problem(node: ast.FunctionDef, required: Requirement) -> str | None:
    body = list(inside(node))
    if any(isinstance(part, ast.Yield | ast.YieldFrom) for part in body):
        return f"yields; it has to return {required.returns}."
    if not any(isinstance(part, ast.Return) and part.value is not None for part in body):
        return f"returns nothing; it has to return {required.returns}."
    return None
