"""What the lab says to somebody who is here for the first time."""

from collections.abc import Callable

from nicegui import ui

from components.base.buttons import quiet_button
from components.base.panel import panel

_POSSIBLE = (
    ("Train", "Pick an environment and an algorithm, or a preset with a known score."),
    ("Watch", "See the newest policy play while it learns, with its rewards and curves."),
    ("Steer", "Pause, resume, or change the learning rate while it trains."),
    ("Keep", "Every run is stored. Its model is a plain Stable-Baselines3 file."),
)


class Welcome:
    """An overview, the way into the tour, and the offer to have things explained."""

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
                "Reinforcement learning means to learn by trying: an agent acts, gets rewards, "
                "and does more of what paid off. Here you can watch it happen."
            ).classes("lab-prose")
            _overview()
            _first_steps()

    def set_visibility(self, visible: bool) -> None:
        """Show or hide it."""
        self._box.set_visibility(visible)


def _overview() -> None:
    with ui.element("dl").classes("lab-overview"):
        for title, sentence in _POSSIBLE:
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
        "The tour takes four steps and under a minute: it ends with a trained CartPole. Explain "
        "adds a sentence to every number; the switch is in the header."
    ).classes("lab-small lab-prose")
