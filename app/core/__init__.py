"""Basics that every other package may use: errors, events, tasks, storage thread, settings."""

from app.core.errors import (
    AlgorithmDoesNotFitError,
    CannotBeTrainedError,
    CodeError,
    InputError,
    NotInstalledError,
    SettingsError,
    UnknownAlgorithmError,
    UnknownEnvironmentError,
    UnknownFieldError,
    UnknownHyperparameterError,
    UnknownOptionError,
    UnreadableConfigError,
    input_error,
    shorten,
)
from app.core.formatting import format_python
from app.core.html_templates import templates
from app.core.notation import NO_LAYERS, NO_VALUE, read_layers, read_number, read_whole, write_value
from app.core.parameters import Layers, Parameter
from app.core.ruff import run_ruff
from app.core.settings import SentenceParser, Settings, read_settings
from app.core.storage_thread import StorageThread, until_written
from app.core.tasks import Tasks

__all__ = [
    "NO_LAYERS",
    "NO_VALUE",
    "AlgorithmDoesNotFitError",
    "CannotBeTrainedError",
    "CodeError",
    "InputError",
    "Layers",
    "NotInstalledError",
    "Parameter",
    "SentenceParser",
    "Settings",
    "SettingsError",
    "StorageThread",
    "Tasks",
    "UnknownAlgorithmError",
    "UnknownEnvironmentError",
    "UnknownFieldError",
    "UnknownHyperparameterError",
    "UnknownOptionError",
    "UnreadableConfigError",
    "format_python",
    "input_error",
    "read_layers",
    "read_number",
    "read_settings",
    "read_whole",
    "run_ruff",
    "shorten",
    "templates",
    "until_written",
    "write_value",
]
