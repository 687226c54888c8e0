"""Rewards that people write: what they are asked with, and what may come of them."""

import inspect
import math
import re
from collections.abc import Callable, Sequence
from numbers import Real
from operator import itemgetter
from typing import Any, NoReturn, cast

import numpy as np
import numpy.typing as npt

from app.protocol.user_code import REWARD_FILE, UserCodeError
from app.worker.user_code.loader import explain, line_of_return, load

MOST_TERMS = 32
LARGEST = 1_000_000.0
_TERM = re.compile(r"[\w .-]{1,40}")
_NUMBERS = (float, int, np.floating, np.integer, np.bool_)
_DIGITS_PER_BIT = 0.30103

Call = Callable[..., Any]
"""Takes obs, action, next_obs, reward, terminated, truncated and info."""


class UnusableError(Exception):
    """What a reward returned can't be learned from."""


class RewardFunction:
    """A file that defines one of three things.

    - `def reward(obs, action, next_obs, reward, terminated, truncated, info)`
    - `def reward_function(obs, action)`
    - `class Reward` with `reset(self)` and `__call__` with the arguments of `reward`: one is made
      for each environment, and `reset` comes before each episode. What it remembers beyond that is
      lost when a run is resumed, because only the episode under way is played again.
    """

    def __init__(self, code: str, components: Sequence[str] = ()) -> None:
        """Load the code; `components` are the names of an observation's numbers.

        Raises:
            UserCodeError: if it can't be loaded, or defines none of the three.
        """
        self.components = tuple(components)
        self.array_type = _named_array(self.components)
        self._terms: set[str] = set()
        names = load(code, filename=REWARD_FILE)
        found = next((n for n in ("reward", "reward_function", "Reward") if n in names), None)
        if found is None or not callable(names[found]):
            raise UserCodeError(f"{REWARD_FILE} defines no function reward.")
        self._found, self._name = names[found], found

    def for_one_environment(self) -> tuple[Call, Callable[[], None]]:
        """Return what to call at each step, and before each episode.

        Raises:
            UserCodeError: if there can't be one.
        """
        found = self._found
        if self._name == "reward_function":
            return (lambda obs, action, *_: found(obs, action)), _nothing
        if not inspect.isclass(found):
            return found, _nothing
        try:
            made: Any = found()
            asks = made.__call__, made.reset
        except BaseException as error:
            raise explain(error, REWARD_FILE) from error
        return asks

    def meet(self, term: object) -> None:
        """Make sure that a term that wasn't seen before has a name, and that there aren't too many.

        Raises:
            UnusableError: if not.
        """
        if term in self._terms:
            return
        if not isinstance(term, str) or not _TERM.fullmatch(term):
            raise UnusableError(
                f"has a term {str(term)[:40]!r}; a name has at most 40 letters, digits, spaces "
                "and - . _"
            )
        self._terms.add(term)
        if len(self._terms) > MOST_TERMS:
            raise UnusableError(f"has more than {MOST_TERMS} terms; use the same few names")

    def explained(self, error: BaseException, call: Call, asked: tuple[Any, ...]) -> UserCodeError:
        """Say what went wrong in a call, and in which line."""
        if not isinstance(error, UnusableError):
            return explain(error, REWARD_FILE)
        line = line_of_return(call, asked, REWARD_FILE)
        where = REWARD_FILE if line is None else f"{REWARD_FILE}, line {line}"
        return UserCodeError(f"{where}: {self._name} {error}", line)


def number(value: Any, term: object = None) -> float:  # noqa: ANN401 - whatever was returned
    """Return a number of Python's, NumPy's or torch's as a float.

    Raises:
        UnusableError: if it is something else.
    """
    try:
        if isinstance(value, _NUMBERS):
            return float(value)
        # A fraction, or a tensor or an array that holds one number.
        item = value if isinstance(value, Real) else value.item()
        if isinstance(item, Real):
            return float(item)
    except (AttributeError, OverflowError, RuntimeError, TypeError, ValueError):
        pass
    raise UnusableError(f"{_of(term)} {_kind(value)}; it must be {_wanted(value, term)}")


def refuse(value: float, returned: object) -> NoReturn:
    """Refuse what no training survives; of a sum, say from which term it comes.

    Raises:
        UnusableError: always.
    """
    terms = returned if isinstance(returned, dict) else {}
    parts = {name: number(part) for name, part in terms.items()}
    worst = next((n for n, part in parts.items() if not -LARGEST <= part <= LARGEST), None)
    value = value if worst is None else parts[worst]
    called = "NaN" if math.isnan(value) else f"{value:g}".replace("inf", "infinity")
    raise UnusableError(f"{_of(worst)} {called}; it must be within ±{LARGEST:,.0f}")


def _of(term: object) -> str:
    return "returned" if term is None else f"returned, as term {str(term)[:40]!r},"


def _kind(value: object) -> str:
    if value is None:
        return "None"
    if isinstance(value, int):
        return f"an integer of {value.bit_length() * _DIGITS_PER_BIT:,.0f} digits"
    return f"a value of type {type(value).__name__}"


def _wanted(value: object, term: object) -> str:
    if isinstance(value, int):
        return f"within ±{LARGEST:,.0f}"
    return "a number, or a dict of named numbers" if term is None else "a number"


def _nothing() -> None:
    """Have nothing to forget."""


def _named_array(components: Sequence[str]) -> type[npt.NDArray[Any]]:
    """Return a kind of array whose numbers have names, and that is an ordinary one otherwise.

    Names that arrays use themselves are left to them.
    """
    names = {
        name: property(itemgetter(place))
        for place, name in enumerate(components)
        if not hasattr(np.ndarray, name)
    }
    if not names:
        return np.ndarray
    return cast("type[npt.NDArray[Any]]", type("Observation", (np.ndarray,), names))
