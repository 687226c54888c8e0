"""Import torch without its compiler, which costs 70 MB and more import time than all the rest.

No worker compiles. But torch prepares for it at import, and every optimizer imports
`torch._dynamo` to exclude itself from compilation.
"""

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

_COMPILER = "torch._dynamo"
_META_OPERATIONS = "torch._meta_registrations"
"""Operations on meta tensors (shapes without data), which only the compiler needs."""

F = TypeVar("F", bound=Callable[..., Any])


class _CompilerStub(ModuleType):
    """Replaces the compiler's module, and imports the real one when other attributes are used."""

    @staticmethod
    def graph_break(*_: object) -> None:
        """Do nothing: no graph is recorded."""

    @staticmethod
    def disable(function: F, *_: object, **__: object) -> F:
        """Return the function as it is: nothing is compiled anyway."""
        return function

    def __getattr__(self, name: str) -> object:
        # `inspect` reads `__file__` of every module; that doesn't need the compiler.
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(_COMPILER) is self:
            del sys.modules[_COMPILER], sys.modules[_META_OPERATIONS], sys.modules["torch"]._dynamo
            importlib.import_module(_META_OPERATIONS)
        return getattr(importlib.import_module(_COMPILER), name)


def import_torch() -> None:
    """Import torch with one thread, and without its compiler until that is used."""
    if "torch" not in sys.modules:
        sys.modules[_META_OPERATIONS] = ModuleType(_META_OPERATIONS)
        torch: Any = importlib.import_module("torch")
        sys.modules[_COMPILER] = torch._dynamo = _CompilerStub(_COMPILER)
        torch.set_num_threads(1)
