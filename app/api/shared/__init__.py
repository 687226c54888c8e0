"""Code that the routes share: dependencies, errors, paging, files, schemas."""

from app.api.shared.dependencies import (
    MAX_COUNTER,
    Describe,
    TheAccess,
    TheAccounts,
    TheLab,
    ThePrincipal,
    TheRun,
    ToDescribe,
    changing,
    evaluable,
)
from app.api.shared.docs import add_docs
from app.api.shared.errors import (
    COMMON_RESPONSES,
    ErrorAnswer,
    PathNotFoundError,
    add_error_handlers,
    error_answer,
    refusals,
    refuse_socket,
)
from app.api.shared.files import RANGE_ANSWERS, VIDEO_ANSWERS, RangedFile
from app.api.shared.paging import TheShortPage, part_of
from app.api.shared.schemas import (
    Artifact,
    Environment,
    Listing,
    LogEvent,
    NewGroup,
    Run,
    artifacts_of,
)
from app.api.shared.shapes import RequestShape, Shape

__all__ = [
    "COMMON_RESPONSES",
    "MAX_COUNTER",
    "RANGE_ANSWERS",
    "VIDEO_ANSWERS",
    "Artifact",
    "Describe",
    "Environment",
    "ErrorAnswer",
    "Listing",
    "LogEvent",
    "NewGroup",
    "PathNotFoundError",
    "RangedFile",
    "RequestShape",
    "Run",
    "Shape",
    "TheAccess",
    "TheAccounts",
    "TheLab",
    "ThePrincipal",
    "TheRun",
    "TheShortPage",
    "ToDescribe",
    "add_docs",
    "add_error_handlers",
    "artifacts_of",
    "changing",
    "error_answer",
    "evaluable",
    "part_of",
    "refusals",
    "refuse_socket",
]
