"""Why a command did nothing, in one sentence that names the flag."""

from app.core.errors import SettingsError
from storage.errors import LabError, StorageError

REFUSALS = (LabError, SettingsError, StorageError)
"""What is said in one sentence and ends with exit code 2."""

_FLAGS = {
    "env_id": "ENVIRONMENT",
    "total_timesteps": "--timesteps",
    "hyperparameters": "--set",
    "wrappers": "--wrapper",
    "env_kwargs": "--env-arg",
    "run": "RUN",
}


def sentence(error: Exception) -> str:
    """Say what was refused in terms of the flags that were typed."""
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
