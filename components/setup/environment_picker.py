"""The field to choose an environment from the catalogue, or any other that is installed."""

from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui

from app.catalog.environments import EnvSpec, ObservationKind
from app.core import InputError


class EnvironmentPicker:
    """A searchable list of environment cards, exactly one of which is chosen."""

    def __init__(
        self,
        specs: Sequence[EnvSpec],
        *,
        on_pick: Callable[[EnvSpec], None],
        find: Callable[[str], Awaitable[EnvSpec]],
    ) -> None:
        self._on_pick = on_pick
        self._find = find
        self._specs = {spec.id: spec for spec in specs}
        self.value = specs[0]
        self._text = ui.input(placeholder="Search", on_change=self._search)
        self._text.props('dense outlined clearable aria-label="Search"').classes("lab-full")
        self._text.on("keydown.enter", self._pick_match)
        with (
            ui.element("div")
            .classes("lab-options")
            .props('role="radiogroup" aria-label="Environment"')
            .on("keydown.down.prevent", lambda: self._pick_next(1))
            .on("keydown.up.prevent", lambda: self._pick_next(-1))
            .mark("environments")
        ) as self._list:
            self._cards = {spec.id: self._card(spec) for spec in specs}
        with ui.element("div").classes("lab-form") as self._no_match:
            self._no_match_text = ui.label().classes("lab-small")
            self._use_button = ui.button("Use this id", on_click=self._use_id, color=None)
            self._use_button.props("unelevated").classes("lab-button lab-compact lab-quiet")
        self._no_match.set_visibility(False)
        self._mark()

    def pick(self, spec: EnvSpec) -> None:
        """Choose `spec`."""
        self.value = spec
        self._mark()
        self._on_pick(spec)

    def pick_and_reveal(self, spec: EnvSpec) -> None:
        """Choose `spec`, add a card if it has none, and scroll to the card."""
        self._add_card(spec)
        self.pick(spec)
        self._cards[spec.id].run_method("scrollIntoView", {"block": "nearest"})

    def _add_card(self, spec: EnvSpec) -> None:
        if spec.id not in self._cards:
            self._specs[spec.id] = spec
            with self._list:
                self._cards[spec.id] = self._card(spec)

    async def _use_id(self) -> None:
        """Choose an environment that has no card; a worker describes it."""
        self._use_button.props("loading")
        try:
            spec = await self._find(self._text.value.strip())
        except InputError as error:
            self._no_match_text.set_text(str(error))
            return
        finally:
            self._use_button.props(remove="loading")
        self._add_card(spec)
        self._text.set_value(spec.id)
        self.pick(spec)

    async def _pick_match(self) -> None:
        """Choose the only matching card, or the typed id if no card matches."""
        reachable = self._reachable
        if len(reachable) == 1:
            self.pick(self._specs[reachable[0]])
        elif not reachable and (self._text.value or "").strip():
            await self._use_id()

    def _search(self) -> None:
        words = (self._text.value or "").lower().split()
        for env_id, card in self._cards.items():
            searchable = _search_text(self._specs[env_id])
            card.set_visibility(all(word in searchable for word in words))
        self._no_match.set_visibility(not any(card.visible for card in self._cards.values()))
        self._no_match_text.set_text("No card matches. Any installed Gymnasium id can be used.")
        self._mark()

    def _pick_next(self, by: int) -> None:
        """Choose the card `by` places after the chosen one and focus it."""
        ids = self._reachable
        if not ids:
            return
        current = ids.index(self.value.id) if self.value.id in ids else -max(by, 0)
        target = ids[(current + by) % len(ids)]
        self.pick(self._specs[target])
        self._cards[target].run_method("focus")

    @property
    def _reachable(self) -> list[str]:
        return [
            env_id
            for env_id, card in self._cards.items()
            if card.visible and self._specs[env_id].is_installed
        ]

    def _mark(self) -> None:
        """Mark the chosen card; only that one, or else the first visible one, is a tab stop."""
        reachable = self._reachable
        stop = self.value.id if self.value.id in reachable else next(iter(reachable), None)
        for env_id, card in self._cards.items():
            is_chosen = "true" if env_id == self.value.id else "false"
            card.props(f"aria-checked={is_chosen} tabindex={0 if env_id == stop else -1}")

    def _card(self, spec: EnvSpec) -> ui.element:
        with ui.element("button").classes("lab-option").props('type="button" role="radio"') as card:
            if spec.is_installed and spec.renders:
                _picture(spec)
            else:
                ui.element("div").classes("lab-option-blank")
            with ui.element("div").classes("lab-option-text"):
                ui.label(spec.id).classes("lab-name")
                _facts(spec)
            ui.tooltip(spec.description).props("delay=800")
        card.mark(spec.id)
        if not spec.is_installed:
            return card.props("aria-disabled=true")
        return card.on("click", lambda: self.pick(spec))


def _picture(spec: EnvSpec) -> None:
    address = f"/api/environments/{spec.id}/preview.png"
    ui.element("img").props(f'src="{address}" alt="" width=72 height=48 loading="lazy"')


def _facts(spec: EnvSpec) -> None:
    """Show the action and observation space, or how to install the environment."""
    if spec.install_hint is not None:
        ui.label("Not installed. Install it with:").classes("lab-small")
        ui.label(spec.install_hint).classes("lab-command")
        return
    with ui.element("div").classes("lab-badges"):
        ui.label(spec.action_kind.replace("_", " ")).classes("lab-badge")
        ui.label(_observation(spec)).classes("lab-badge")


def _observation(spec: EnvSpec) -> str:
    is_image = spec.observation_kind is ObservationKind.IMAGE
    sides = spec.observation_shape[:2] if is_image else spec.observation_shape
    return f"{spec.observation_kind}({'x'.join(map(str, sides))})"


def _search_text(spec: EnvSpec) -> str:
    return f"{spec.id} {spec.name} {spec.family}".lower()
