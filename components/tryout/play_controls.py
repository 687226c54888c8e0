"""Controls to play an environment: keys, buttons, sliders, speed."""

from collections.abc import Awaitable, Callable
from functools import partial

from nicegui import ui

from app.authoring.tryouts import SPEEDS, ActionSpace, Tryout
from app.catalog.environments import Action, ActionKind, EnvSpec, KeyMap
from components.base import compact_button, mark_pressed
from components.tryout.key_pad import Held, KeyPad

_SPEED_WORDS = {1.0: "normal speed", 0.5: "half", 0.25: "quarter"}


class PlayControls:
    """Turns held keys into actions; buttons to restart, save and set the speed."""

    def __init__(
        self,
        spec: EnvSpec,
        keys: KeyMap,
        *,
        on_hold: Callable[[tuple[Action, ...], bool], Awaitable[None]],
        on_again: Callable[[], Awaitable[None]],
        on_save: Callable[[], Awaitable[None]],
        on_speed: Callable[[float], Awaitable[None]],
    ) -> None:
        """`on_hold` also gets whether a key was pressed rather than released."""
        self._spec = spec
        self._keys = keys
        self._on_hold = on_hold
        self._space: ActionSpace | None = None
        with ui.element("div").classes("lab-tryout-part") as self._box:
            self._pad = KeyPad(on_held=self._held, on_again=on_again)
            with ui.element("div").classes("lab-actions"):
                compact_button("Play again", on_again)
                self._save_button = compact_button("Save as demonstration", on_save)
            with ui.element("div").classes("lab-actions") as speeds:
                ui.label("Speed").classes("lab-label")
                self._speeds = {
                    speed: compact_button(_SPEED_WORDS[speed], partial(on_speed, speed))
                    for speed in SPEEDS
                }
        speeds.props('role="group" aria-label="Speed"').set_visibility(keys.is_live)

    def offer(self, space: ActionSpace) -> None:
        """Show the keys, and a slider for each component of an action."""
        self._space = space
        self._pad.offer(
            self._keys.keys,
            space.axes(self._spec),
            whole=self._spec.action_kind is not ActionKind.CONTINUOUS,
            repeats=not self._keys.is_live,
        )

    def show(self, tryout: Tryout | None, *, is_saved: bool) -> None:
        """Show the controls for a tryout, or hide them for None."""
        self._box.set_visibility(tryout is not None)
        self._pad.listen(on=tryout is not None, off=tryout is None or tryout.is_over)
        if tryout is None:
            return
        self._save_button.set_enabled(tryout.is_over and not is_saved)
        for speed, button in self._speeds.items():
            mark_pressed(button, on=tryout.speed == speed)

    def take_focus(self) -> None:
        """Give the keyboard focus to the keys."""
        self._pad.take_focus()

    async def _held(self, held: Held) -> None:
        if self._space is None:
            return
        actions: tuple[Action, ...]
        if self._space.is_choice:
            actions = self._keys.choose(held.pressed)
        else:
            actions = (self._keys.steer(held.pressed, held.moved, self._space.reach),)
        if actions:
            await self._on_hold(actions, held.is_press)
