"""The state of an environment that is tried out."""

from typing import Any

from nicegui import ui

from app.catalog.environments.spec import EnvSpec, ObservationKind, Observed
from app.protocol import messages


class StateView(ui.element, component="state_view.js"):
    """Shows observation, reward and how the episode stands; `-` until there is any."""

    def __init__(self, spec: EnvSpec) -> None:
        super().__init__()
        self._spec = spec
        self._names: tuple[Observed, ...] = spec.observed
        self._props["components"] = [_component(observed) for observed in spec.observed]
        self._props["unseen"] = _unseen(spec)

    def show(self, now: messages.Happened, *, spoken: bool) -> None:
        """Show a moment; what is `spoken` is told to who only listens."""
        if now.observation is not None and len(now.observation) != len(self._names):
            self._names = self._spec.components(len(now.observation))
            self._props["components"] = [_component(observed) for observed in self._names]
            self.update()
        self.run_method("show", self._moment(now, spoken=spoken))

    def _moment(self, now: messages.Happened, *, spoken: bool) -> dict[str, Any]:
        words = f"Step {now.step}, reward {now.reward:g}, return {now.return_:g}."
        ends = " The episode is over." if now.terminated or now.truncated else ""
        return {
            "step": now.step,
            "seed": now.seed,
            "reward": now.reward,
            "total": now.return_,
            "terminated": now.terminated,
            "truncated": now.truncated,
            "values": now.observation,
            "info": now.info,
            "action": action_words(self._spec, now.action),
            "spoken": words + ends if spoken else "",
        }


def action_words(spec: EnvSpec, action: messages.Action | None) -> str:
    """Say what was done."""
    if action is None:
        return "-"
    if isinstance(action, int):
        known = action < len(spec.action_labels)
        return spec.action_labels[action] if known else str(action)
    return ", ".join(f"{value:.2f}" for value in action)


def _component(observed: Observed) -> dict[str, Any]:
    return {"name": observed.name, "low": observed.low, "high": observed.high}


def _unseen(spec: EnvSpec) -> str:
    sides = " x ".join(map(str, spec.observation_shape))
    if spec.observation_kind is ObservationKind.IMAGE:
        return f"The agent sees the picture itself, {sides} numbers of it."
    return f"The agent sees {sides} numbers."
