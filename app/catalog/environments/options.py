"""What can be set about an environment before it is made."""

from collections.abc import Callable
from dataclasses import dataclass

from app.core.errors import InputError
from app.core.parameters import Parameter

OptionValue = float | int | bool | str | None
"""What an option can be set to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvOption(Parameter):
    """One argument of an environment."""

    reader: Callable[[str], object] | None = None
    """Reads a text; its ValueError says what is wrong with it."""

    def check(self, value: object, *, field: str) -> OptionValue:
        """Return `value` in this option's type.

        Raises:
            InputError: if it has another type, lies outside the bounds or can't be read.
        """
        checked: OptionValue = Parameter.check(self, value, field=field)
        if self.reader is not None and isinstance(checked, str):
            try:
                self.reader(checked)
            except ValueError as error:
                raise InputError(f"{self.name}: {error}", field=field) from None
        return checked
