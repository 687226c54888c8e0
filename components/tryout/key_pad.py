"""Keys to play with, on the keyboard and on the screen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from nicegui import events, ui

from app.catalog.environments.key_maps import Key, resting


@dataclass(frozen=True, slots=True)
class Held:
    """What is held down or moved right now."""

    pressed: tuple[str, ...]
    """The newest last."""
    moved: dict[int, float]
    """Which sliders aren't at rest, and where they are."""
    fresh: bool
    """Whether something was pressed, rather than let go."""


class KeyPad(ui.element, component="key_pad.js"):
    """Says what is held whenever that changes; `on_again` when Enter is pressed."""

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
        """Offer these keys, and a slider for each axis: its name, its least and its most."""
        self._props.update(
            keys=[{"key": key.key, "label": key.label} for key in keys],
            axes=[_axis(*axis, whole=whole) for axis in axes],
            springs=springs,
            repeats=repeats,
        )
        self.update()

    def take_focus(self) -> None:
        """Have the keyboard."""
        self.run_method("take_focus")

    def listen(self, *, on: bool, off: bool) -> None:
        """Hear the keyboard or not; with `off` nothing can be pressed at all."""
        if (self._props["listens"], self._props["off"]) != (on, off):
            self._props.update(listens=on, off=off)
            self.update()


def _axis(label: str, low: float, high: float, *, whole: bool) -> dict[str, Any]:
    step = 1 if whole else round((high - low) / 100, 6) or 0.01
    return {"label": label, "low": low, "high": high, "rest": resting(low, high), "step": step}


def _read(event: events.GenericEventArguments) -> Held:
    said: dict[str, Any] = event.args
    return Held(
        pressed=tuple(str(key) for key in said["pressed"][:16]),
        moved={int(axis): float(value) for axis, value in said["moved"].items()},
        fresh=bool(said["fresh"]),
    )
