"""Which reward a run is to learn from: the environment's own, or one that somebody wrote."""

from collections.abc import Awaitable, Callable

from nicegui import ui

from components.base.buttons import compact_button, quiet_button
from components.rewards.reward_editor import WrittenReward

_OWN = "The environment's own"
_MOST_TERMS = 3


class RewardChoice:
    """A row of the form; remembers for each environment what was chosen."""

    def __init__(self, *, on_edit: Callable[[], Awaitable[None]]) -> None:
        self._written: dict[str, WrittenReward] = {}
        self._env_id = ""
        with ui.element("div").classes("lab-reward-row").props('role="group" aria-label="Reward"'):
            with ui.element("div").classes("lab-grow"):
                ui.label("Reward").classes("lab-label")
                self._words = ui.label(_OWN).classes("lab-small")
            self._back = quiet_button("Use its own", self._go_back, label="reward")
            self._edit = compact_button("Edit reward", on_edit)
            with self._edit:
                self._why_not = ui.tooltip("")
        self.allow(None)

    @property
    def code(self) -> str | None:
        """The code for the chosen environment; None: its own reward."""
        return written.code if (written := self._written.get(self._env_id)) else None

    def allow(self, refusal: str | None) -> None:
        """Offer to write a reward, or say why that can't be."""
        self._edit.set_enabled(refusal is None)
        self._why_not.set_text(refusal or "")
        self._why_not.set_visibility(refusal is not None)

    def show(self, env_id: str) -> None:
        """Show what is chosen for an environment."""
        self._env_id = env_id
        written = self._written.get(env_id)
        self._words.set_text(_OWN if written is None else _words(written))
        self._back.set_visibility(written is not None)

    def use(self, env_id: str, reward: WrittenReward) -> None:
        """Choose a written reward for an environment."""
        self._written[env_id] = reward
        self.show(self._env_id)

    def _go_back(self) -> None:
        del self._written[self._env_id]
        self.show(self._env_id)


def _words(reward: WrittenReward) -> str:
    first = ", ".join(reward.terms[:_MOST_TERMS])
    more = " ..." if len(reward.terms) > _MOST_TERMS else ""
    return f"Your {reward.name}{': ' if first else ''}{first}{more}"
