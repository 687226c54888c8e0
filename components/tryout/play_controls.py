"""What one plays an environment with: keys, buttons, sliders, a speed."""

from collections.abc import Awaitable, Callable
from functools import partial

from nicegui import ui

from app.authoring.tryouts.actions import ActionSpace
from app.authoring.tryouts.tryout import SPEEDS, Tryout
from app.catalog.environments.key_maps import Action, KeyMap
from app.catalog.environments.spec import ActionKind, EnvSpec
from components.base.buttons import compact_button, mark_pressed
from components.tryout.key_pad import Held, KeyPad

_SPEED_WORDS = {1.0: "own speed", 0.5: "half", 0.25: "quarter"}


class PlayControls:
    """Turns what is held into actions, and asks for what can be done with a game."""

    def __init__(
        self,
        spec: EnvSpec,
        keys: KeyMap,
        *,
        on_hold: Callable[[tuple[Action, ...], bool], Awaitable[None]],
        on_again: Callable[[], Awaitable[None]],
        on_keep: Callable[[], Awaitable[None]],
        on_speed: Callable[[float], Awaitable[None]],
    ) -> None:
        """Show them; `on_hold` also hears whether something was pressed rather than let go."""
        self._spec = spec
        self._keys = keys
        self._on_hold = on_hold
        self._space: ActionSpace | None = None
        with ui.element("div").classes("lab-tryout-part") as self._box:
            self._pad = KeyPad(on_held=self._held, on_again=on_again)
            with ui.element("div").classes("lab-actions"):
                compact_button("Play again", on_again)
                self._keep = compact_button("Keep as demonstration", on_keep)
            with ui.element("div").classes("lab-actions") as speeds:
                ui.label("Speed").classes("lab-label")
                self._speeds = {
                    speed: compact_button(_SPEED_WORDS[speed], partial(on_speed, speed))
                    for speed in SPEEDS
                }
        speeds.props('role="group" aria-label="Speed"').set_visibility(keys.is_live)

    def offer(self, space: ActionSpace) -> None:
        """Offer the keys, and a slider for each number of an action."""
        self._space = space
        self._pad.offer(
            self._keys.keys,
            space.axes(self._spec),
            whole=self._spec.action_kind is not ActionKind.CONTINUOUS,
            repeats=not self._keys.is_live,
        )

    def show(self, tryout: Tryout | None, *, is_kept: bool) -> None:
        """Show them for a game, or hide them."""
        self._box.set_visibility(tryout is not None)
        self._pad.listen(on=tryout is not None, off=tryout is None or tryout.is_over)
        if tryout is None:
            return
        self._keep.set_enabled(tryout.is_over and not is_kept)
        for speed, button in self._speeds.items():
            mark_pressed(button, on=tryout.speed == speed)

    def take_focus(self) -> None:
        """Let the keyboard play."""
        self._pad.take_focus()

    async def _held(self, held: Held) -> None:
        if self._space is None:
            return
        wanted: tuple[Action, ...]
        if self._space.is_choice:
            wanted = self._keys.choose(held.pressed)
        else:
            wanted = (self._keys.steer(held.pressed, held.moved, self._space.reach),)
        if wanted:
            await self._on_hold(wanted, held.fresh)
