"""Try out an environment: watch a random agent, step, or play."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import quote

from nicegui import ui

from app.accounts import AccessError, Principal
from app.authoring.tryouts import Demonstrations, Tryout, Tryouts, any_seed
from app.catalog.environments import Action, EnvSpec, key_map
from app.protocol import TryoutMode, messages
from components.base import compact_button, mark_pressed
from components.run import FrameStream
from components.tryout.play_controls import PlayControls
from components.tryout.step_controls import StepControls
from storage import LabError

_MODES: dict[TryoutMode, str] = {"random": "Watch", "step": "Step", "play": "Play"}


class TryoutPanel:
    """Frames and controls of one environment."""

    def __init__(
        self,
        spec: EnvSpec,
        principal: Principal,
        tryouts: Tryouts,
        demonstrations: Demonstrations,
        *,
        on_state: Callable[[Tryout, messages.Happened], None],
        on_saved: Callable[[], Awaitable[None]],
    ) -> None:
        self._spec = spec
        self._principal = principal
        self._tryouts = tryouts
        self._demonstrations = demonstrations
        self._on_state = on_state
        self._on_saved = on_saved
        self._keys = key_map(spec)
        self._tryout: Tryout | None = None
        self._mode: TryoutMode = "random"
        self._is_starting = self._is_stepping = self._is_left = False
        self._has_begun = self._is_saved = False
        self._frames = FrameStream()
        with ui.element("div").classes("lab-tryout"):
            self._make_controls()
        client = ui.context.client
        client.on_disconnect(lambda: self._leave(gone=True))
        client.on_connect(lambda: self._leave(gone=False))
        client.on_delete(self._end)
        self._show_problem("")
        self._refresh()

    def _make_controls(self) -> None:
        with ui.element("div").classes("lab-modes").props('role="group" aria-label="Mode"'):
            self._modes = {
                mode: compact_button(name, partial(self._choose, mode))
                for mode, name in _MODES.items()
            }
        for button in self._modes.values():
            button.set_enabled(self._principal.may_work)
        self._hint = ui.label().classes("lab-small")
        with ui.element("div").classes("lab-actions") as self._problem_box:
            self._problem = ui.label().classes("lab-error").props('role="alert"')
            self._again = compact_button("Start again", self._start)
        with ui.element("div").classes("lab-actions") as self._watching:
            compact_button("New episode", lambda: self._reset(None))
        self._steps = StepControls(
            self._spec, on_step=self._step, on_back=self._back, on_reset=self._reset
        )
        self._game = PlayControls(
            self._spec,
            self._keys,
            on_hold=self._hold,
            on_again=self._play_again,
            on_save=self._save,
            on_speed=self._set_speed,
        )

    async def _choose(self, mode: TryoutMode) -> None:
        """Change the mode within the same episode; play mode starts a new one."""
        if self._is_starting:
            return
        self._mode = mode
        if self._tryout is None or self._tryout.end_reason:
            await self._start()
        elif (tryout := self._current()) is not None:
            await self._try(tryout.configure(mode=mode))
            if mode == "play":
                await self._reset(None)
        self._refresh()

    async def _start(self) -> None:
        if self._is_starting:
            return
        self._is_starting, self._tryout = True, None
        self._refresh()
        started = await self._try(
            self._tryouts.start(self._principal, self._spec.id, mode=self._mode)
        )
        self._is_starting = False
        if started is not None:
            await self._follow(started)
        self._refresh()

    async def _follow(self, started: Tryout) -> None:
        self._tryout = started
        if self._is_left:
            await self._end()
            return
        self._has_begun = self._is_saved = False
        self._steps.offer(started.space)
        self._game.offer(started.space)
        started.happened.subscribe(self._happened)
        started.over.subscribe(self._ended)
        self._happened(started.now)
        if self._mode == "play":
            self._game.take_focus()

    async def _step(self, action: object) -> None:
        if self._is_stepping or (tryout := self._current()) is None:
            return
        self._is_stepping = True
        try:
            await self._try(tryout.step(action))
        finally:
            self._is_stepping = False

    async def _back(self) -> None:
        if (tryout := self._current()) is None:
            return
        now = await self._try(tryout.back())
        if now is not None and not now.is_exact:
            self._show_problem(
                "This environment is not deterministic: the state is restored only approximately."
            )

    async def _reset(self, seed: int | None, *, same: bool = False) -> None:
        """Start an episode with this seed, the same one, or (None) a new one."""
        if (tryout := self._current()) is None:
            return
        self._has_begun = self._is_saved = False
        other = any_seed() if seed is None else seed
        await self._try(tryout.reset(None if same else other))
        self._refresh()
        if self._mode == "play":
            self._game.take_focus()

    async def _play_again(self) -> None:
        if self._mode == "play":
            await self._reset(None)

    async def _hold(self, actions: tuple[Action, ...], is_pressed: bool) -> None:
        """Hold the action if the environment runs in real time; otherwise take one step."""
        tryout = self._current()
        if tryout is None or tryout.mode != "play" or tryout.is_over:
            return
        starts = is_pressed and not self._has_begun
        self._has_begun = self._has_begun or is_pressed
        if self._keys.is_live:
            tryout.hold(actions, begins=is_pressed)
        elif is_pressed:
            await self._step(actions[0])
        if starts:
            self._refresh()

    async def _set_speed(self, speed: float) -> None:
        if (tryout := self._current()) is not None:
            await self._try(tryout.configure(speed=speed))
            await self._reset(None)

    async def _save(self) -> None:
        if (tryout := self._current()) is None:
            return
        if await self._try(self._demonstrations.save(self._principal, tryout)):
            self._is_saved = True
            self._refresh()
            await self._on_saved()

    def _happened(self, now: messages.Happened) -> None:
        if self._tryout is None:
            return
        self._on_state(self._tryout, now)
        if self._mode == "step" or not now.step or now.terminated or now.truncated:
            self._refresh()

    def _ended(self, why: str) -> None:
        self._show_problem(why)
        self._refresh()

    def _refresh(self) -> None:
        """Update controls, hint and frames."""
        tryout = self._tryout if self._tryout and not self._tryout.end_reason else None
        for mode, button in self._modes.items():
            mark_pressed(button, on=tryout is not None and mode == self._mode)
        self._hint.set_text(self._hint_words(tryout))
        self._watching.set_visibility(tryout is not None and self._mode == "random")
        self._steps.show(tryout if self._mode == "step" else None)
        self._game.show(tryout if self._mode == "play" else None, is_saved=self._is_saved)
        still = f"/api/environments/{quote(self._spec.id)}/preview.png"
        self._frames.show(
            url=f"/api/previews/{tryout.id}/frames" if tryout and tryout.draws else None,
            still=still if self._spec.renders else None,
            note=self._note(tryout),
            live=tryout is not None,
        )

    def _hint_words(self, tryout: Tryout | None) -> str:
        if not self._principal.may_work:
            return "Viewers have read-only access. An administrator can make you a member."
        if tryout is None:
            return "Watch a random agent, go step by step, or play it yourself."
        if self._mode == "random":
            return "A random agent acts. Press Step to continue by hand from the current state."
        if self._mode == "step":
            return "Each action is one step; Back undoes the last one."
        if self._keys.is_live:
            held = "keys or buttons" if tryout.space.is_choice else "keys, buttons or sliders"
            return f"Hold {held}. {self._keys.idle_description}".rstrip()
        return "Each key or button is one step; the environment waits for your input."

    def _note(self, tryout: Tryout | None) -> str | None:
        if self._is_starting:
            return "Starting the environment."
        if not (tryout.draws if tryout else self._spec.renders):
            return "This environment can't be rendered. See its state instead."
        if tryout is None or self._mode == "random":
            return None
        if tryout.is_over and self._mode == "play":
            return f"The episode is over: {tryout.now.return_:+.2f}. Enter plays again."
        if tryout.is_over:
            return "The episode is over. Reset it, or go back."
        return "Press a key to start." if self._mode == "play" and not self._has_begun else None

    def _current(self) -> Tryout | None:
        """Return the tryout if it is open and belongs to the user; otherwise show why not."""
        if self._tryout is None:
            return None
        try:
            return self._tryouts.get(self._principal, self._tryout.id)
        except AccessError as error:
            self._show_problem(str(error))
            return None

    async def _try(self, work: Awaitable[Any]) -> Any:  # noqa: ANN401 - whatever it returns
        """Return the result of `work`, or show its error and return None."""
        self._show_problem("")
        try:
            return await work
        except LabError as error:
            self._show_problem(str(error))
            return None

    def _show_problem(self, sentence: str) -> None:
        has_ended = self._tryout is not None and bool(self._tryout.end_reason)
        self._problem.set_text(sentence)
        self._problem_box.set_visibility(bool(sentence))
        self._again.set_text("Start again" if has_ended else "Try again")
        self._again.set_visibility(has_ended or self._tryout is None)

    def _leave(self, *, gone: bool) -> None:
        if self._tryout is not None:
            self._tryout.is_disconnected = gone

    async def _end(self) -> None:
        self._is_left = True
        if self._tryout is not None:
            await self._tryouts.end_by_id(self._tryout.id)
