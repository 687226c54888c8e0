"""The actions of an environment, and checks of actions that users send."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.catalog.environments import Action, ActionKind, EnvSpec
from app.core import InputError, shorten

_DEFAULT_BOUND = 1.0
"""The range of a slider where the action space has no bound."""


@dataclass(frozen=True, slots=True)
class ActionSpace:
    """The action space of an environment."""

    kind: ActionKind
    lows: tuple[float | None, ...]
    """The minimum of each component; None: there is none."""
    highs: tuple[float | None, ...]

    @property
    def is_choice(self) -> bool:
        """Whether it is discrete."""
        return self.kind is ActionKind.DISCRETE

    @property
    def reach(self) -> tuple[tuple[float, float], ...]:
        """The range of each component's slider."""
        return tuple(
            (-_DEFAULT_BOUND if low is None else low, _DEFAULT_BOUND if high is None else high)
            for low, high in zip(self.lows, self.highs, strict=True)
        )

    def axes(self, spec: EnvSpec) -> list[tuple[str, float, float]]:
        """Return the name, minimum and maximum of each component; none if it is discrete."""
        if self.is_choice:
            return []
        names = spec.action_labels
        return [
            (names[i] if i < len(names) else f"number {i + 1}", low, high)
            for i, (low, high) in enumerate(self.reach)
        ]

    def check(self, action: object, spec: EnvSpec) -> Action:
        """Return an action in the format of the environment.

        Raises:
            InputError: if it is not in the action space.
        """
        if self.is_choice:
            return self._choice(action, spec)
        if not isinstance(action, list | tuple) or len(action) != len(self.lows):
            raise _refused(f"a list of {len(self.lows)} numbers", action)
        return self._numbers(action)

    def _choice(self, action: object, spec: EnvSpec) -> int:
        low, high = int(self.lows[0] or 0), int(self.highs[0] or 0)
        is_whole = isinstance(action, int) and not isinstance(action, bool)
        if not is_whole or not low <= action <= high:  # type: ignore[operator]  # it is a number
            names = ", ".join(f"{i} ({label})" for i, label in enumerate(spec.action_labels[:20]))
            meaning = f": {names}" if names else ""
            raise _refused(f"a whole number from {low} to {high}{meaning}", action)
        assert isinstance(action, int)
        return action

    def _numbers(self, action: Sequence[object]) -> tuple[float, ...]:
        is_whole = self.kind is not ActionKind.CONTINUOUS
        for i, (value, low, high) in enumerate(zip(action, self.lows, self.highs, strict=True)):
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            lower, upper = (-math.inf if low is None else low), (math.inf if high is None else high)
            fits = is_number and math.isfinite(value) and lower <= value <= upper  # type: ignore[arg-type,operator]
            if not fits or (is_whole and value != int(value)):  # type: ignore[call-overload]
                kind = "a whole number" if is_whole else "a number"
                raise _refused(f"{kind} from {lower:g} to {upper:g} at place {i + 1}", value)
        return tuple(float(value) for value in action)  # type: ignore[arg-type]  # checked above


def _refused(expected: str, action: object) -> InputError:
    return InputError(f"action must be {expected}, got {shorten(action)}.", field="action")
