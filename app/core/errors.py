"""Input errors, each with a code for programs and a sentence for users."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from reprlib import Repr
from typing import Any

from storage import LabError


class SettingsError(Exception):
    """A setting is invalid; the message names it and how to fix it."""


class InputError(LabError, ValueError):
    """A value from a user or a program is invalid."""


class CodeError(InputError):
    """User code is invalid, as a static check shows."""

    code = "invalid_code"

    def __init__(self, message: str, *, line: int, field: str) -> None:
        super().__init__(f"{field}, line {line}: {message}", field=field)
        self.line = line


class UnknownEnvironmentError(InputError):
    """An environment id is not in the catalogue."""

    code = "unknown_environment"

    def __init__(self, env_id: str, known: Iterable[str]) -> None:
        hint = _suggestion(env_id, known)
        super().__init__(f"Unknown environment {env_id[:80]!r}. {hint}", field="env_id")


class NotInstalledError(InputError):
    """An environment's package is missing."""

    code = "not_installed"

    def __init__(self, env_id: str, command: str) -> None:
        super().__init__(f"{env_id} isn't installed. Install it with: {command}", field="env_id")


class CannotBeTrainedError(InputError):
    """An environment exists, but no algorithm of the lab supports it."""

    code = "cannot_be_trained"

    def __init__(self, env_id: str, reason: str) -> None:
        super().__init__(f"{env_id[:80]} can't be trained on: {reason}", field="env_id")


class UnknownOptionError(InputError):
    """An environment has no option of this name."""

    code = "unknown_option"

    def __init__(self, env_id: str, name: str, known: Collection[str]) -> None:
        hint = _suggestion(name, known) if known else "It has none."
        super().__init__(
            f"{env_id} has no option {name[:80]!r} here. {hint}", field=f"env_kwargs.{name[:80]}"
        )


class UnknownAlgorithmError(InputError):
    """An algorithm id is not in the catalogue."""

    code = "unknown_algorithm"

    def __init__(self, algorithm: str, known: Iterable[str]) -> None:
        hint = _suggestion(algorithm, known)
        super().__init__(f"Unknown algorithm {algorithm[:80]!r}. {hint}", field="algorithm")


class AlgorithmDoesNotFitError(InputError):
    """An algorithm does not support the environment's action space."""

    code = "algorithm_does_not_fit"

    def __init__(self, algorithm: str, needs: str, env_id: str, has: str) -> None:
        super().__init__(
            f"{algorithm} needs {needs} actions, {env_id} has {has} ones.", field="algorithm"
        )


class UnknownHyperparameterError(InputError):
    """An algorithm has no hyperparameter of this name."""

    code = "unknown_hyperparameter"

    def __init__(self, algorithm: str, name: str, known: Iterable[str]) -> None:
        super().__init__(
            f"{algorithm} has no hyperparameter {name[:80]!r}. {_suggestion(name, known)}",
            field=f"hyperparameters.{name[:80]}",
        )


class UnknownFieldError(InputError):
    """A request has an unknown field."""

    code = "unknown_field"

    def __init__(self, field: str) -> None:
        super().__init__(f"Unknown field {field[:80]!r}. Remove it.", field=field[:80])


class MissingFieldError(InputError):
    """A request lacks a required field."""

    code = "missing_field"

    def __init__(self, field: str) -> None:
        super().__init__(f"{field} is required.", field=field)


class UnreadableConfigError(LabError, ValueError):
    """A run's configuration was written by another version and can't be read by this one."""

    code = "unreadable_config"

    def __init__(self, run_id: str, reason: str) -> None:
        super().__init__(
            f"The configuration of run {run_id} can't be read ({reason.rstrip('.')}). Another "
            "version of the program wrote it: use that one, or train a new run."
        )


def input_error(problems: Sequence[Mapping[str, Any]]) -> InputError:
    """Convert the first of pydantic's errors to an `InputError`."""
    problem = problems[0]
    field = ".".join(str(part) for part in problem["loc"])
    match problem["type"]:
        case "extra_forbidden":
            return UnknownFieldError(field)
        case "missing":
            return MissingFieldError(field)
    words = _EXPECTATIONS.get(problem["type"], "")
    if not words:
        return InputError(f"{field}: {problem['msg']}.", field=field)
    expectation = words.format(**problem.get("ctx", {}))
    got = "" if field in _NEVER_REPEATED else f", got {shorten(problem['input'])}"
    return InputError(f"{field} must be {expectation}{got}.", field=field)


_NEVER_REPEATED = {"password", "current_password", "hf_token", "token", "setup_code", "invitation"}

_EXPECTATIONS = {
    "email": "an e-mail address such as ada@example.org",
    "name": "1 to 100 printable characters",
    "greater_than_equal": "at least {ge:,}",
    "less_than_equal": "at most {le:,}",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "an object",
    "list_type": "a list",
    "string_too_long": "at most {max_length} characters long",
    "string_too_short": "at least {min_length} characters long",
    "too_long": "at most {max_length} long",
    "one_line": "text without line breaks and other control characters",
    "string_pattern_mismatch": "text without control characters",
    "enum": "{expected}",
    "literal_error": "{expected}",
}


def shorten(value: object) -> str:
    """Format a value briefly enough for a sentence, however large or deeply nested it is."""
    return _REPR.repr(value)


_REPR = Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 60


def _suggestion(given: str, known: Iterable[str]) -> str:
    """Suggest the closest known name, or list all of them."""
    names = {name.lower(): name for name in known}
    close = get_close_matches(given[:80].lower(), names, n=1, cutoff=0.5)
    return f"Did you mean {names[close[0]]}?" if close else f"Choose one of: {_list(names)}."


def _list(names: dict[str, str]) -> str:
    return ", ".join(names.values())
