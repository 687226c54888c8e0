"""Evaluation code that people write: it gets every whole episode and returns named numbers."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from app.protocol.user_code import EVALUATION_FILE, UserCodeError
from app.worker.evaluation.episode_recorder import PlayedEpisode
from app.worker.user_code.loader import explain, line_of_return, load

MOST_NUMBERS = 16
_LARGEST = 1e15

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,39}", re.ASCII)
_ALONE = "value"
"""What the number of code is called that returns just one."""


class _UnusableError(Exception):
    """What `evaluate` returned is no set of named numbers."""


class EvaluationFunction:
    """Asks a person's `evaluate` about one episode after the other."""

    def __init__(self, code: str) -> None:
        """Run the file that defines it.

        Raises:
            UserCodeError: if it can't be loaded, or defines no such function.
        """
        function = load(code, filename=EVALUATION_FILE).get("evaluate")
        if not callable(function):
            raise UserCodeError(f"{EVALUATION_FILE} defines no function evaluate(episode).")
        self._evaluate: Callable[[PlayedEpisode], Any] = function
        self._names: frozenset[str] | None = None

    def of(self, episode: PlayedEpisode) -> dict[str, float]:
        """Return what it says of an episode.

        Raises:
            UserCodeError: if there is no useful answer.
        """
        try:
            numbers = _numbers(self._evaluate(episode))
            self._check_names(frozenset(numbers))
        except _UnusableError as error:
            line = line_of_return(self._evaluate, (episode,), EVALUATION_FILE)
            where = EVALUATION_FILE if line is None else f"{EVALUATION_FILE}, line {line}"
            raise UserCodeError(f"{where}: evaluate() returned {error}.", line) from None
        except BaseException as error:
            raise explain(error, EVALUATION_FILE) from error
        return numbers

    def _check_names(self, names: frozenset[str]) -> None:
        self._names = self._names or names
        if names != self._names:
            others = ", ".join(sorted(names ^ self._names))
            raise _UnusableError(f"other names than for the first episode ({others})")


def _numbers(returned: Any) -> dict[str, float]:  # noqa: ANN401 - whatever was returned
    if not isinstance(returned, dict):
        return {_ALONE: _number(returned, "")}
    if not 1 <= len(returned) <= MOST_NUMBERS:
        raise _UnusableError(f"{len(returned)} numbers; from 1 to {MOST_NUMBERS} are allowed")
    for name in returned:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise _UnusableError(
                f"the name {str(name)[:40]!r}; one has at most 40 letters, digits, spaces and . _ -"
            )
    return {name: _number(value, f" as {name!r}") for name, value in returned.items()}


def _number(value: Any, where: str) -> float:  # noqa: ANN401 - whatever was returned
    try:
        if not isinstance(value, bool | int | float | np.number | np.bool_):
            value = value.item()  # An array or a tensor of a single number.
        number = float(value)
    except (AttributeError, OverflowError, RuntimeError, TypeError, ValueError):
        kind = "None" if value is None else f"a value of type {type(value).__name__}"
        raise _UnusableError(f"{kind}{where}; it must be a number") from None
    if not abs(number) <= _LARGEST:
        called = "NaN" if math.isnan(number) else f"{number:g}".replace("inf", "infinity")
        raise _UnusableError(f"{called}{where}; it must be within ±1e15")
    return number
