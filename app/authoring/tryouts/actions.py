"""Check what somebody wants to do in an environment."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.catalog.environments.key_maps import Action
from app.catalog.environments.spec import ActionKind, EnvSpec
from app.core.errors import InputError, short

_WIDEST = 1.0
"""How far a slider goes where there is no bound."""


@dataclass(frozen=True, slots=True)
class ActionSpace:
    """What can be done in an environment."""

    kind: ActionKind
    lows: tuple[float | None, ...]
    """The least that each number may be; None: there is no bound."""
    highs: tuple[float | None, ...]

    @property
    def is_choice(self) -> bool:
        """Whether an action is one of several."""
        return self.kind is ActionKind.DISCRETE

    @property
    def reach(self) -> tuple[tuple[float, float], ...]:
        """How far each number can be moved by hand."""
        return tuple(
            (-_WIDEST if low is None else low, _WIDEST if high is None else high)
            for low, high in zip(self.lows, self.highs, strict=True)
        )

    def axes(self, spec: EnvSpec) -> list[tuple[str, float, float]]:
        """Return the name of each number that can be moved, its least and its most."""
        if self.is_choice:
            return []
        names = spec.action_labels
        return [
            (names[i] if i < len(names) else f"number {i + 1}", low, high)
            for i, (low, high) in enumerate(self.reach)
        ]

    def check(self, wanted: object, spec: EnvSpec) -> Action:
        """Return an action as the environment takes it.

        Raises:
            InputError: if it can't be done.
        """
        if self.is_choice:
            return self._choice(wanted, spec)
        if not isinstance(wanted, list | tuple) or len(wanted) != len(self.lows):
            raise _refused(f"a list of {len(self.lows)} numbers", wanted)
        return self._numbers(wanted)

    def _choice(self, wanted: object, spec: EnvSpec) -> int:
        low, high = int(self.lows[0] or 0), int(self.highs[0] or 0)
        is_whole = isinstance(wanted, int) and not isinstance(wanted, bool)
        if not is_whole or not low <= wanted <= high:  # type: ignore[operator]  # it is a number
            names = ", ".join(f"{i} ({label})" for i, label in enumerate(spec.action_labels[:20]))
            meaning = f": {names}" if names else ""
            raise _refused(f"a whole number from {low} to {high}{meaning}", wanted)
        assert isinstance(wanted, int)
        return wanted

    def _numbers(self, wanted: Sequence[object]) -> tuple[float, ...]:
        is_whole = self.kind is not ActionKind.CONTINUOUS
        for i, (value, low, high) in enumerate(zip(wanted, self.lows, self.highs, strict=True)):
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            least, most = (-math.inf if low is None else low), (math.inf if high is None else high)
            fits = is_number and math.isfinite(value) and least <= value <= most  # type: ignore[arg-type,operator]
            if not fits or (is_whole and value != int(value)):  # type: ignore[call-overload]
                kind = "a whole number" if is_whole else "a number"
                raise _refused(f"{kind} from {least:g} to {most:g} at place {i + 1}", value)
        return tuple(float(value) for value in wanted)  # type: ignore[arg-type]  # checked above


def _refused(expected: str, wanted: object) -> InputError:
    return InputError(f"action must be {expected}, got {short(wanted)}.", field="action")
