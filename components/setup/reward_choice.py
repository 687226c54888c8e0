"""The choice of a run's reward: the environment's own, or a custom one."""

from collections.abc import Awaitable, Callable

from nicegui import ui

from components.base import compact_button, quiet_button
from components.rewards import ChosenReward

_OWN = "Environment reward"
_MAX_TERMS = 3


class RewardChoice:
    """A row of the form; keeps one choice per environment."""

    def __init__(self, *, on_edit: Callable[[], Awaitable[None]]) -> None:
        self._custom: dict[str, ChosenReward] = {}
        self._env_id = ""
        with ui.element("div").classes("lab-reward-row").props('role="group" aria-label="Reward"'):
            with ui.element("div").classes("lab-grow"):
                ui.label("Reward").classes("lab-label")
                self._description = ui.label(_OWN).classes("lab-small")
            self._back = quiet_button("Use environment reward", self._reset)
            self._edit = compact_button("Edit reward", on_edit)
            with self._edit:
                self._why_not = ui.tooltip("")
        self.allow(None)

    @property
    def code(self) -> str | None:
        """The code for the chosen environment; None: the environment's reward."""
        return custom.code if (custom := self._custom.get(self._env_id)) else None

    def allow(self, refusal: str | None) -> None:
        """Enable the edit button, or show why editing is refused."""
        self._edit.set_enabled(refusal is None)
        self._why_not.set_text(refusal or "")
        self._why_not.set_visibility(refusal is not None)

    def show(self, env_id: str) -> None:
        """Show the choice for an environment."""
        self._env_id = env_id
        custom = self._custom.get(env_id)
        self._description.set_text(_OWN if custom is None else _description(custom))
        self._back.set_visibility(custom is not None)

    def use(self, env_id: str, reward: ChosenReward) -> None:
        """Choose a custom reward for an environment."""
        self._custom[env_id] = reward
        self.show(self._env_id)

    def _reset(self) -> None:
        del self._custom[self._env_id]
        self.show(self._env_id)


def _description(reward: ChosenReward) -> str:
    first = ", ".join(reward.terms[:_MAX_TERMS])
    more = " ..." if len(reward.terms) > _MAX_TERMS else ""
    return f"Your {reward.name}{': ' if first else ''}{first}{more}"
