"""Choose one environment of the catalogue."""

from collections.abc import Callable, Sequence

from nicegui import ui

from app.environments.spec import EnvSpec


class EnvironmentPicker:
    """A list of environment cards, exactly one of them chosen."""

    def __init__(self, specs: Sequence[EnvSpec], *, on_pick: Callable[[EnvSpec], None]) -> None:
        self._on_pick = on_pick
        self._specs = specs
        with (
            ui.element("div")
            .classes("lab-options")
            .props('role="radiogroup" aria-label="Environment"')
        ):
            self._cards = {spec.id: self._card(spec) for spec in specs}
        self.value = specs[0]
        self._mark()

    def pick(self, spec: EnvSpec) -> None:
        """Choose `spec`."""
        self.value = spec
        self._mark()
        self._on_pick(spec)

    def _mark(self) -> None:
        for env_id, card in self._cards.items():
            card.props(f"aria-checked={'true' if env_id == self.value.id else 'false'}")

    def _card(self, spec: EnvSpec) -> ui.element:
        with ui.element("button").classes("lab-option").props('type="button" role="radio"') as card:
            ui.element("img").props(
                f'src="/api/environments/{spec.id}/preview.png" alt="" width=72 height=48'
            )
            with ui.element("div").classes("lab-option-text"):
                ui.label(spec.id).classes("lab-name")
                with ui.element("div").classes("lab-badges"):
                    ui.label(spec.action_kind.replace("_", " ")).classes("lab-badge")
                    ui.label(f"box({spec.observation_shape[0]})").classes("lab-badge")
            ui.tooltip(spec.description).props("delay=800")
        return card.mark(spec.id).on("click", lambda: self.pick(spec))
