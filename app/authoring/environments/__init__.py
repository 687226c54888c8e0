"""Custom environments: checks in a worker, versions, sharing."""

from app.authoring.environments.code_rights import CodeRights
from app.authoring.environments.custom_environments import (
    MAX_ENVIRONMENT_CODE,
    CustomEnvironment,
    CustomEnvironments,
    InvalidEnvironmentError,
)
from app.authoring.environments.template import TEMPLATE

__all__ = [
    "MAX_ENVIRONMENT_CODE",
    "TEMPLATE",
    "CodeRights",
    "CustomEnvironment",
    "CustomEnvironments",
    "InvalidEnvironmentError",
]
