"""The welcome panel for a first visit."""

from collections.abc import Callable

from nicegui import ui

from components.base import panel, quiet_button

_FEATURES = (
    ("Train", "Pick an environment and an algorithm, or a preset with a known score."),
    ("Watch", "See the newest policy act during training, with its rewards and curves."),
    ("Control", "Pause, resume, or change the learning rate during training."),
    ("Keep", "Every run is stored. Its model is a plain Stable-Baselines3 file."),
)


class Welcome:
    """An overview with buttons to take the tour and to switch Explain on."""

    def __init__(self, *, on_hide: Callable[[], None]) -> None:
        with (
            ui.element("div") as self._box,
            panel("Welcome") as head,
            ui.element("div").classes("lab-welcome"),
        ):
            with head:
                quiet_button("Hide", on_hide, label="the welcome")
            with ui.element("h1").classes("lab-title"):
                ui.label("Train an agent and watch it learn")
            ui.label(
                "In reinforcement learning, an agent acts in an environment, receives rewards, and "
                "learns which actions bring more of them."
            ).classes("lab-prose")
            _overview()
            _first_steps()

    def set_visibility(self, visible: bool) -> None:
        """Show or hide the panel."""
        self._box.set_visibility(visible)


def _overview() -> None:
    with ui.element("dl").classes("lab-overview"):
        for title, sentence in _FEATURES:
            with ui.element("div"):
                with ui.element("dt").classes("lab-label"):
                    ui.label(title)
                with ui.element("dd"):
                    ui.label(sentence)


def _first_steps() -> None:
    with ui.element("div").classes("lab-actions"):
        tour = ui.element("a").props('href="/train?tour=1"')
        with tour.classes("lab-button lab-link lab-primary"):
            ui.label("Take the tour")
        explain = ui.element("button").props('type="button" data-explain aria-pressed=false')
        with explain.classes("lab-button lab-link lab-quiet"):
            ui.label("Explain every number")
    ui.label(
        "The tour has four steps, takes less than a minute and ends with a trained CartPole agent. "
        "Explain adds a sentence to every number; its switch is in the header."
    ).classes("lab-small lab-prose")
