"""torch without its compiler, which takes longer to import than all the rest, and 70 MB of memory.

No worker compiles. But torch gets ready for it at its import, and every optimiser imports
`torch._dynamo` to say that it needn't be compiled.
"""

import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar

_COMPILER = "torch._dynamo"
_SHAPES = "torch._meta_registrations"
"""How operations work on tensors without content, which only compilers have."""

F = TypeVar("F", bound=Callable[..., Any])


class _Unneeded(ModuleType):
    """Stands where the compiler would; whoever asks it for more gets the real one."""

    @staticmethod
    def graph_break(*_: object) -> None:
        """Nothing is recorded that could be broken."""

    @staticmethod
    def disable(function: F, *_: object, **__: object) -> F:
        """Nothing is compiled that could be left out."""
        return function

    def __getattr__(self, name: str) -> object:
        # `inspect` asks every module for its file; that needs no compiler.
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(_COMPILER) is self:
            del sys.modules[_COMPILER], sys.modules[_SHAPES], sys.modules["torch"]._dynamo
            importlib.import_module(_SHAPES)
        return getattr(importlib.import_module(_COMPILER), name)


def import_torch() -> None:
    """Import torch so that it does without the compiler until somebody needs it, on one thread."""
    if "torch" not in sys.modules:
        sys.modules[_SHAPES] = ModuleType(_SHAPES)
        torch: Any = importlib.import_module("torch")
        sys.modules[_COMPILER] = torch._dynamo = _Unneeded(_COMPILER)
        torch.set_num_threads(1)
