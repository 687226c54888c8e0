"""Load custom reward functions, and check what they return."""

import inspect
import math
import re
from collections.abc import Callable, Sequence
from numbers import Real
from operator import itemgetter
from typing import Any, NoReturn, cast

import numpy as np
import numpy.typing as npt

from app.protocol import REWARD_FILE, UserCodeError
from app.worker.user_code.loader import explain, line_of_return, load

MAX_TERMS = 32
MAX_REWARD = 1_000_000.0
_TERM = re.compile(r"[\w .-]{1,40}")
_NUMBERS = (float, int, np.floating, np.integer, np.bool_)
_DIGITS_PER_BIT = 0.30103

Call = Callable[..., Any]
"""A function of obs, action, next_obs, reward, terminated, truncated and info."""


class UnusableError(Exception):
    """A reward function returned an unusable value."""


class RewardFunction:
    """A file that defines one of the following.

    - `def reward(obs, action, next_obs, reward, terminated, truncated, info)`
    - `def reward_function(obs, action)`
    - `class Reward` with `reset(self)` and `__call__` with the arguments of `reward`: each
      environment has its own instance, and `reset` is called before each episode. State of earlier
      episodes is lost when a run is resumed, because only the current episode is replayed.
    """

    def __init__(self, code: str, components: Sequence[str] = ()) -> None:
        """Load the code; `components` are the names of the observation's components.

        Raises:
            UserCodeError: if it can't be loaded, or defines no reward.
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
        """Return the function to call at each step, and the one to call before each episode.

        Raises:
            UserCodeError: if the code raises.
        """
        found = self._found
        if self._name == "reward_function":
            return (lambda obs, action, *_: found(obs, action)), _do_nothing
        if not inspect.isclass(found):
            return found, _do_nothing
        try:
            instance: Any = found()
            methods = instance.__call__, instance.reset
        except BaseException as error:
            raise explain(error, REWARD_FILE) from error
        return methods

    def add_term(self, term: object) -> None:
        """Check the name of a reward term and the number of terms.

        Raises:
            UnusableError: if the name is invalid, or there are too many terms.
        """
        if term in self._terms:
            return
        if not isinstance(term, str) or not _TERM.fullmatch(term):
            raise UnusableError(
                f"has a term {str(term)[:40]!r}; a name has at most 40 letters, digits, spaces "
                "and - . _"
            )
        self._terms.add(term)
        if len(self._terms) > MAX_TERMS:
            raise UnusableError(f"has more than {MAX_TERMS} terms; use the same few names")

    def explained(
        self, error: BaseException, call: Call, arguments: tuple[Any, ...]
    ) -> UserCodeError:
        """Return the error of a call for the user, with the line that caused it."""
        if not isinstance(error, UnusableError):
            return explain(error, REWARD_FILE)
        line = line_of_return(call, arguments, REWARD_FILE)
        where = REWARD_FILE if line is None else f"{REWARD_FILE}, line {line}"
        return UserCodeError(f"{where}: {self._name} {error}", line)


def number(value: Any, term: object = None) -> float:  # noqa: ANN401 - any value
    """Convert a number of Python, NumPy or torch to a float.

    Raises:
        UnusableError: if it is not a number.
    """
    try:
        if isinstance(value, _NUMBERS):
            return float(value)
        # A fraction, or a tensor or an array with a single number.
        item = value if isinstance(value, Real) else value.item()
        if isinstance(item, Real):
            return float(item)
    except (AttributeError, OverflowError, RuntimeError, TypeError, ValueError):
        pass
    raise UnusableError(
        f"{_subject(term)} {_type_of(value)}; it must be {_requirement(value, term)}"
    )


def reject_reward(value: float, returned: object) -> NoReturn:
    """Reject a reward that is not finite or too large; name the term that caused it, if any.

    Raises:
        UnusableError: always.
    """
    terms = returned if isinstance(returned, dict) else {}
    parts = {name: number(part) for name, part in terms.items()}
    invalid = next((n for n, part in parts.items() if not -MAX_REWARD <= part <= MAX_REWARD), None)
    value = value if invalid is None else parts[invalid]
    shown = "NaN" if math.isnan(value) else f"{value:g}".replace("inf", "infinity")
    raise UnusableError(f"{_subject(invalid)} {shown}; it must be within ±{MAX_REWARD:,.0f}")


def _subject(term: object) -> str:
    return "returned" if term is None else f"returned, as term {str(term)[:40]!r},"


def _type_of(value: object) -> str:
    if value is None:
        return "None"
    if isinstance(value, int):
        return f"an integer of {value.bit_length() * _DIGITS_PER_BIT:,.0f} digits"
    return f"a value of type {type(value).__name__}"


def _requirement(value: object, term: object) -> str:
    if isinstance(value, int):
        return f"within ±{MAX_REWARD:,.0f}"
    return "a number, or a dict of named numbers" if term is None else "a number"


def _do_nothing() -> None:
    """Do nothing: plain functions have no state to reset."""


def _named_array(components: Sequence[str]) -> type[npt.NDArray[Any]]:
    """Return an array class whose components are also attributes, such as `obs.angle`.

    Names of NumPy's own attributes are skipped.
    """
    names = {
        name: property(itemgetter(index))
        for index, name in enumerate(components)
        if not hasattr(np.ndarray, name)
    }
    if not names:
        return np.ndarray
    return cast("type[npt.NDArray[Any]]", type("Observation", (np.ndarray,), names))
