"""Static checks of users' code."""

from app.code_check.kinds import CodeKind
from app.code_check.modules import OFFERED_MODULES
from app.code_check.problems import Problem, Severity
from app.code_check.static_check import MAX_CODE_BYTES, check, first_error

__all__ = [
    "MAX_CODE_BYTES",
    "OFFERED_MODULES",
    "CodeKind",
    "Problem",
    "Severity",
    "check",
    "first_error",
]
