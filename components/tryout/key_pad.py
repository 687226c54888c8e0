"""Controls to play with: keyboard keys, touch buttons and sliders."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nicegui import events, ui

from app.catalog.environments import Key, neutral_value


@dataclass(frozen=True, slots=True)
class Held:
    """The keys and sliders that are held."""

    pressed: tuple[str, ...]
    """Held keys, the newest last."""
    moved: dict[int, float]
    """Values of the sliders that aren't at rest, by index."""
    is_press: bool
    """Whether the change was a press rather than a release."""


class KeyPad(ui.element, component="key_pad.js"):
    """Calls `on_held` whenever the held state changes, and `on_again` on Enter."""

    def __init__(
        self, *, on_held: Callable[[Held], Any], on_again: Callable[[], Any] | None = None
    ) -> None:
        super().__init__()
        self._props.update(keys=[], axes=[], off=True, listens=False, repeats=False, springs=False)
        self.on("held", lambda event: on_held(_read(event)))
        if on_again is not None:
            self.on("again", lambda: on_again())

    def offer(
        self,
        keys: Sequence[Key],
        axes: Sequence[tuple[str, float, float]] = (),
        *,
        whole: bool = False,
        springs: bool = True,
        repeats: bool = False,
    ) -> None:
        """Show these keys, and a slider for each axis: its label, minimum and maximum."""
        self._props.update(
            keys=[{"key": key.key, "label": key.label} for key in keys],
            axes=[_axis(*axis, whole=whole) for axis in axes],
            springs=springs,
            repeats=repeats,
        )
        self.update()

    def take_focus(self) -> None:
        """Take the keyboard focus."""
        self.run_method("take_focus")

    def listen(self, *, on: bool, off: bool) -> None:
        """Set whether to listen to the keyboard; `off` disables all controls."""
        if (self._props["listens"], self._props["off"]) != (on, off):
            self._props.update(listens=on, off=off)
            self.update()


def _axis(label: str, low: float, high: float, *, whole: bool) -> dict[str, Any]:
    step = 1 if whole else round((high - low) / 100, 6) or 0.01
    return {
        "label": label,
        "low": low,
        "high": high,
        "rest": neutral_value(low, high),
        "step": step,
    }


def _read(event: events.GenericEventArguments) -> Held:
    args: dict[str, Any] = event.args
    return Held(
        pressed=tuple(str(key) for key in args["pressed"][:16]),
        moved={int(axis): float(value) for axis, value in args["moved"].items()},
        is_press=bool(args["isPress"]),
    )
