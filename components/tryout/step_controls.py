"""Controls to step through an episode."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from nicegui import ui

from app.authoring.tryouts import ActionSpace, Tryout
from app.catalog.environments import ActionKind, EnvSpec, neutral_value
from app.core import read_whole
from components.base import compact_button
from components.tryout.key_pad import Held, KeyPad

_MAX_BUTTONS = 40


class OnReset(Protocol):
    """Starts an episode with the given seed, the same one, or (None) a new one."""

    def __call__(self, seed: int | None, *, same: bool = False) -> Awaitable[None]:
        """Start the episode."""


class StepControls:
    """A button per action or a slider per component, and buttons to go back and reset."""

    def __init__(
        self,
        spec: EnvSpec,
        *,
        on_step: Callable[[object], Awaitable[None]],
        on_back: Callable[[], Awaitable[None]],
        on_reset: OnReset,
    ) -> None:
        self._spec = spec
        self._on_step = on_step
        self._on_reset = on_reset
        self._space: ActionSpace | None = None
        self._moved: dict[int, float] = {}
        with ui.element("div").classes("lab-tryout-part") as self._box:
            self._actions = ui.element("div").classes("lab-actions")
            self._actions.props('role="group" aria-label="Actions"')
            self._sliders = KeyPad(on_held=self._sliders_moved)
            with ui.element("div").classes("lab-actions"):
                self._random = compact_button("Random", lambda: on_step(None))
                self._back = compact_button("Back", on_back)
                compact_button("Reset", lambda: on_reset(None, same=True))
                compact_button("New seed", lambda: on_reset(None))
                self._seed = ui.input("Seed").props("dense outlined").classes("lab-tiny")
                self._seed.on("keydown.enter", self._use_seed)
                compact_button("Use seed", self._use_seed)
            self._error = ui.label().classes("lab-error").props('role="alert"')
        self._choices: list[ui.button] = []

    def offer(self, space: ActionSpace) -> None:
        """Show the controls for an action space."""
        self._space, self._moved = space, {}
        self._actions.clear()
        self._choices = []
        with self._actions:
            if not space.is_choice:
                self._choices = [compact_button("Take a step", self._step_as_set)]
            elif (count := int(space.highs[0] or 0) + 1) <= _MAX_BUTTONS:
                self._choices = [self._choice(action) for action in range(count)]
            else:
                self._number = ui.input("Action").props("dense outlined").classes("lab-tiny")
                self._choices = [compact_button("Take a step", self._step_as_typed)]
        self._offer_sliders(space)

    def show(self, tryout: Tryout | None) -> None:
        """Show the controls for a tryout in step mode, or hide them for None."""
        self._box.set_visibility(tryout is not None)
        if tryout is None:
            return
        for button in (*self._choices, self._random):
            button.set_enabled(not tryout.is_over)
        self._back.set_enabled(tryout.now.step > 0)
        self._seed.set_value(str(tryout.now.seed))
        self._error.set_text("")

    def _choice(self, action: int) -> ui.button:
        labels = self._spec.action_labels
        name = labels[action] if action < len(labels) else f"action {action}"
        return compact_button(name, lambda: self._on_step(action))

    def _offer_sliders(self, space: ActionSpace) -> None:
        self._sliders.set_visibility(not space.is_choice)
        if space.is_choice:
            return
        is_whole = self._spec.action_kind is not ActionKind.CONTINUOUS
        self._sliders.offer((), space.axes(self._spec), whole=is_whole, springs=False)
        self._sliders.listen(on=False, off=False)

    def _sliders_moved(self, held: Held) -> None:
        self._moved = held.moved

    async def _step_as_set(self) -> None:
        assert self._space is not None
        reach = enumerate(self._space.reach)
        await self._on_step([self._moved.get(i, neutral_value(*bounds)) for i, bounds in reach])

    async def _step_as_typed(self) -> None:
        await self._on_step(read_whole(self._number.value or ""))

    async def _use_seed(self) -> None:
        seed = read_whole(self._seed.value or "")
        if isinstance(seed, int):
            await self._on_reset(seed)
        else:
            self._error.set_text("Seed must be a whole number.")
