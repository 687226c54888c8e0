"""Error messages of commands: one sentence that names the flag."""

from app.core import SettingsError
from storage import LabError, StorageError

REFUSALS = (LabError, SettingsError, StorageError)
"""Errors that are shown as one sentence, with exit code 2."""

_FLAGS = {
    "env_id": "ENVIRONMENT",
    "total_timesteps": "--timesteps",
    "hyperparameters": "--set",
    "wrappers": "--wrapper",
    "env_kwargs": "--env-arg",
    "run": "RUN",
}


def sentence(error: Exception) -> str:
    """Return the error message, with the name of the flag instead of the field."""
    field = error.field if isinstance(error, LabError) else None
    if field is None:
        return str(error)
    group, _, name = field.partition(".")
    flag = _FLAGS.get(group) or f"--{group.replace('_', '-')}"
    typed = f"{flag} {name}" if name else flag
    message = str(error)
    for written in (field, name):
        if written and message.startswith(f"{written} "):
            return typed + message.removeprefix(written)
    return f"{typed}: {message}"
