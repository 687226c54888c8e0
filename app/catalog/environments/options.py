"""Options of environments: arguments of their constructors."""

from collections.abc import Callable
from dataclasses import dataclass

from app.core import InputError, Parameter

OptionValue = float | int | bool | str | None
"""The value of an option."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvOption(Parameter):
    """One argument of an environment."""

    reader: Callable[[str], object] | None = None
    """Parses a text; the message of its ValueError says what is wrong."""

    def check(self, value: object, *, field: str) -> OptionValue:
        """Return `value` in this option's type.

        Raises:
            InputError: if it has the wrong type, is out of bounds or can't be parsed.
        """
        checked: OptionValue = Parameter.check(self, value, field=field)
        if self.reader is not None and isinstance(checked, str):
            try:
                self.reader(checked)
            except ValueError as error:
                raise InputError(f"{self.name}: {error}", field=field) from None
        return checked
