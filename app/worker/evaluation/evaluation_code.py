"""Run users' evaluation code, which receives each whole episode and returns named numbers."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from app.protocol import EVALUATION_FILE, UserCodeError
from app.worker.evaluation.episode_recorder import PlayedEpisode
from app.worker.user_code.loader import explain, line_of_return, load

MAX_NUMBERS = 16
_MAX_VALUE = 1e15

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,39}", re.ASCII)
_UNNAMED = "value"
"""The name of the number if the code returns a single one."""


class _InvalidResultError(Exception):
    """`evaluate` returned something other than one number or a dict of named numbers."""


class EvaluationFunction:
    """Calls a user's `evaluate` with one episode after another."""

    def __init__(self, code: str) -> None:
        """Load the file that defines `evaluate`.

        Raises:
            UserCodeError: if the file can't be loaded, or doesn't define the function.
        """
        function = load(code, filename=EVALUATION_FILE).get("evaluate")
        if not callable(function):
            raise UserCodeError(f"{EVALUATION_FILE} defines no function evaluate(episode).")
        self._function: Callable[[PlayedEpisode], Any] = function
        self._names: frozenset[str] | None = None

    def evaluate(self, episode: PlayedEpisode) -> dict[str, float]:
        """Return the code's numbers for an episode.

        Raises:
            UserCodeError: if the code raises an error or returns something invalid.
        """
        try:
            numbers = _numbers(self._function(episode))
            self._check_names(frozenset(numbers))
        except _InvalidResultError as error:
            line = line_of_return(self._function, (episode,), EVALUATION_FILE)
            where = EVALUATION_FILE if line is None else f"{EVALUATION_FILE}, line {line}"
            raise UserCodeError(f"{where}: evaluate() returned {error}.", line) from None
        except BaseException as error:
            raise explain(error, EVALUATION_FILE) from error
        return numbers

    def _check_names(self, names: frozenset[str]) -> None:
        self._names = self._names or names
        if names != self._names:
            others = ", ".join(sorted(names ^ self._names))
            raise _InvalidResultError(f"other names than for the first episode ({others})")


def _numbers(returned: Any) -> dict[str, float]:  # noqa: ANN401 - whatever was returned
    if not isinstance(returned, dict):
        return {_UNNAMED: _number(returned, "")}
    if not 1 <= len(returned) <= MAX_NUMBERS:
        raise _InvalidResultError(f"{len(returned)} numbers; from 1 to {MAX_NUMBERS} are allowed")
    for name in returned:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise _InvalidResultError(
                f"the name {str(name)[:40]!r}; one has at most 40 letters, digits, spaces and . _ -"
            )
    return {name: _number(value, f" as {name!r}") for name, value in returned.items()}


def _number(value: Any, where: str) -> float:  # noqa: ANN401 - whatever was returned
    try:
        if not isinstance(value, bool | int | float | np.number | np.bool_):
            value = value.item()  # An array or a tensor with a single number.
        number = float(value)
    except (AttributeError, OverflowError, RuntimeError, TypeError, ValueError):
        kind = "None" if value is None else f"a value of type {type(value).__name__}"
        raise _InvalidResultError(f"{kind}{where}; it must be a number") from None
    if not abs(number) <= _MAX_VALUE:
        text = "NaN" if math.isnan(number) else f"{number:g}".replace("inf", "infinity")
        raise _InvalidResultError(f"{text}{where}; it must be within ±1e15")
    return number
