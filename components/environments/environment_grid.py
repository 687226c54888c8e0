"""All environments as cards with preview images, with search and filters."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from urllib.parse import quote

from nicegui import ui

from app.catalog.environments import (
    SOLVED,
    UNSOLVED,
    Difficulty,
    EnvironmentFilter,
    EnvSpec,
    filter_choices,
)
from components.base import EmptyState, quiet_button
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
    """Shows the environments that match a filter, and reports its changes."""

    def __init__(
        self,
        specs: Sequence[EnvSpec],
        env_filter: EnvironmentFilter,
        *,
        on_change: Callable[[EnvironmentFilter], None],
    ) -> None:
        self._specs = specs
        self._env_filter = env_filter
        self._on_change = on_change
        self._solved: Collection[str] = ()
        self._solved_badges: dict[str, ui.label] = {}
        self._selects: dict[str, ui.select] = {}
        with ui.element("div").classes("lab-filters").props('role="search"'):
            self._filters()
        self._count = ui.label().classes("lab-small lab-count").props('role="status"')
        with ui.element("ul").classes("lab-envs").props('aria-label="Environments"'):
            self._cards = {spec.id: self._card(spec) for spec in specs}
        with ui.element("div").classes("lab-nothing") as self._no_match:
            self._empty = EmptyState("", "")
            quiet_button("Clear the filter", self._clear)
        self._show()

    def show_solved(self, env_ids: Collection[str]) -> None:
        """Mark the solved environments."""
        self._solved = env_ids
        for env_id, badge in self._solved_badges.items():
            badge.set_visibility(env_id in env_ids)
        self._show()

    def _filters(self) -> None:
        self._text = ui.input(
            placeholder="Search", value=self._env_filter.q, on_change=self._changed
        )
        self._text.props(f"{_INPUT} clearable type=search").classes("lab-search")
        self._text.props('aria-label="Search environments" data-search')
        offered = filter_choices(self._specs) | {"solved": (SOLVED, UNSOLVED)}
        for name, values in offered.items():
            # With a single value there is nothing to filter.
            if len(values) > 1:
                self._selects[name] = self._select(name, values)

    def _select(self, name: str, values: Sequence[str]) -> ui.select:
        options = {"": "Any"} | {value: _words(value) for value in values}
        chosen = getattr(self._env_filter, name)
        select = ui.select(options, label=_LABELS[name], value=chosen, on_change=self._changed)
        return select.props(_INPUT).classes("lab-filter").mark(_LABELS[name])

    def _changed(self) -> None:
        chosen = {name: select.value or "" for name, select in self._selects.items()}
        self._env_filter = replace(self._env_filter, q=self._text.value or "", **chosen)
        self._show()
        self._on_change(self._env_filter)

    def _clear(self) -> None:
        self._text.set_value("")
        for select in self._selects.values():
            select.set_value("")

    def _show(self) -> None:
        matching = {spec.id for spec in self._specs if self._env_filter.fits(spec, self._solved)}
        for env_id, card in self._cards.items():
            card.set_visibility(env_id in matching)
        self._count.set_text(f"{len(matching)} of {len(self._specs)} environments")
        self._empty.say(_no_match_title(self._env_filter), _no_match_hint(self._env_filter))
        self._no_match.set_visibility(not matching)

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
        ui.label("Not installed. Install its family with:").classes("lab-small")
        ui.label(command).classes("lab-command").props("data-copied")
        copy = ui.element("button").props('type="button" data-copy')
        with copy.classes("lab-link-button"):
            ui.label("Copy")


def _name(spec: EnvSpec) -> None:
    """Link to its page; theme.css extends the link over the whole card."""
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


def _no_match_title(env_filter: EnvironmentFilter) -> str:
    if env_filter.solved == SOLVED:
        return "You have not solved any of these yet"
    return f'No environment matches "{env_filter.q}"' if env_filter.q else "No environment matches"


def _no_match_hint(env_filter: EnvironmentFilter) -> str:
    if env_filter.solved == SOLVED:
        return (
            "An environment is solved once the mean reward of 100 episodes reaches its threshold."
        )
    return (
        "To train on any other installed Gymnasium id, type it into the search on the Train page."
    )
