"""Every environment as a card with its picture, to be searched, filtered and opened."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from urllib.parse import quote

from nicegui import ui

from app.catalog.environments.filtering import SOLVED, UNSOLVED, EnvironmentFilter, choices
from app.catalog.environments.spec import Difficulty, EnvSpec
from components.base.buttons import quiet_button
from components.base.panel import EmptyState
from components.environments.environment_facts import (
    action_words,
    observation_words,
    picture_address,
)

_LABELS = {
    "family": "Family",
    "actions": "Actions",
    "agents": "Agents",
    "difficulty": "Difficulty",
    "solved": "Solved by me",
}
_WORDS = {
    SOLVED: "Solved",
    UNSOLVED: "Not solved yet",
    Difficulty.EASY: "Easy: up to 100 k steps",
    Difficulty.MEDIUM: "Medium: up to 500 k steps",
    Difficulty.HARD: "Hard: a million steps and more",
}
_INPUT = "dense outlined hide-bottom-space"


class EnvironmentGrid:
    """Shows the environments that fit a filter, and tells when a person changes it."""

    def __init__(
        self,
        specs: Sequence[EnvSpec],
        wanted: EnvironmentFilter,
        *,
        on_change: Callable[[EnvironmentFilter], None],
    ) -> None:
        self._specs = specs
        self._wanted = wanted
        self._on_change = on_change
        self._solved: Collection[str] = ()
        self._solved_badges: dict[str, ui.label] = {}
        self._selects: dict[str, ui.select] = {}
        with ui.element("div").classes("lab-filters").props('role="search"'):
            self._filters()
        self._count = ui.label().classes("lab-small lab-count").props('role="status"')
        with ui.element("ul").classes("lab-envs").props('aria-label="Environments"'):
            self._cards = {spec.id: self._card(spec) for spec in specs}
        with ui.element("div").classes("lab-nothing") as self._nothing:
            self._empty = EmptyState("", "")
            quiet_button("Clear the filter", self._clear)
        self._show()

    def show_solved(self, env_ids: Collection[str]) -> None:
        """Mark the environments that were solved."""
        self._solved = env_ids
        for env_id, badge in self._solved_badges.items():
            badge.set_visibility(env_id in env_ids)
        self._show()

    def _filters(self) -> None:
        self._text = ui.input(placeholder="Search", value=self._wanted.q, on_change=self._changed)
        self._text.props(f"{_INPUT} clearable type=search").classes("lab-search")
        self._text.props('aria-label="Search environments" data-search')
        offered = choices(self._specs) | {"solved": (SOLVED, UNSOLVED)}
        for name, values in offered.items():
            # What doesn't tell environments apart is no choice.
            if len(values) > 1:
                self._selects[name] = self._select(name, values)

    def _select(self, name: str, values: Sequence[str]) -> ui.select:
        options = {"": "Any"} | {value: _words(value) for value in values}
        chosen = getattr(self._wanted, name)
        select = ui.select(options, label=_LABELS[name], value=chosen, on_change=self._changed)
        return select.props(_INPUT).classes("lab-filter").mark(_LABELS[name])

    def _changed(self) -> None:
        chosen = {name: select.value or "" for name, select in self._selects.items()}
        self._wanted = replace(self._wanted, q=self._text.value or "", **chosen)
        self._show()
        self._on_change(self._wanted)

    def _clear(self) -> None:
        self._text.set_value("")
        for select in self._selects.values():
            select.set_value("")

    def _show(self) -> None:
        fitting = {spec.id for spec in self._specs if self._wanted.fits(spec, self._solved)}
        for env_id, card in self._cards.items():
            card.set_visibility(env_id in fitting)
        self._count.set_text(f"{len(fitting)} of {len(self._specs)} environments")
        self._empty.say(_nothing_fits(self._wanted), _way_out(self._wanted))
        self._nothing.set_visibility(not fitting)

    def _card(self, spec: EnvSpec) -> ui.element:
        with ui.element("li").classes("lab-env").mark(spec.id) as card:
            if spec.install_hint is None:
                _picture(spec)
            else:
                _missing(spec.install_hint)
            with ui.element("div").classes("lab-env-text"):
                _name(spec)
                with ui.element("div").classes("lab-badges"):
                    self._badges(spec)
                ui.label(spec.description).classes("lab-small lab-env-words")
                if spec.is_installed:
                    _train(spec)
        return card if spec.is_installed else card.classes("is-missing")

    def _badges(self, spec: EnvSpec) -> None:
        ui.label(spec.id).classes("lab-badge is-id")
        for text in (action_words(spec), observation_words(spec)):
            ui.label(text).classes("lab-badge")
        self._solved_badges[spec.id] = ui.label("solved").classes("lab-badge is-solved")
        self._solved_badges[spec.id].set_visibility(False)


def _picture(spec: EnvSpec) -> None:
    if spec.renders:
        image = ui.element("img").classes("lab-env-picture")
        image.props(f'src="{picture_address(spec)}" alt="" loading="lazy" width=300 height=200')
    else:
        ui.element("div").classes("lab-env-picture")


def _missing(command: str) -> None:
    with ui.element("div").classes("lab-env-picture lab-env-missing"):
        ui.label("Not installed. Add its family with:").classes("lab-small")
        ui.label(command).classes("lab-command").props("data-copied")
        copy = ui.element("button").props('type="button" data-copy')
        with copy.classes("lab-link-button"):
            ui.label("Copy")


def _name(spec: EnvSpec) -> None:
    """Lead to its own page; the link is as large as the card (see theme.css)."""
    if not spec.is_installed:
        ui.label(spec.name).classes("lab-name")
        return
    link = ui.element("a").props(f'href="/environments/{quote(spec.id)}"')
    with link.classes("lab-name lab-env-name"):
        ui.label(spec.name)


def _train(spec: EnvSpec) -> None:
    link = ui.element("a").props(f'href="/train?env={quote(spec.id)}"')
    link.props(f'aria-label="Train: {spec.name}"')
    with link.classes("lab-button lab-compact lab-link lab-quiet lab-env-train"):
        ui.label("Train")


def _words(value: str) -> str:
    return _WORDS.get(value) or value.replace("_", " ").capitalize()


def _nothing_fits(wanted: EnvironmentFilter) -> str:
    if wanted.solved == SOLVED:
        return "None of these was solved by you yet"
    return f'No environment matches "{wanted.q}"' if wanted.q else "No environment matches"


def _way_out(wanted: EnvironmentFilter) -> str:
    if wanted.solved == SOLVED:
        return "One counts as solved once the mean of 100 episodes reaches its threshold."
    return "Any other installed Gymnasium id can be typed into the search on Train."
