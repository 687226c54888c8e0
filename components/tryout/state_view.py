"""The state of an environment in a tryout."""

from typing import Any

from nicegui import ui

from app.catalog.environments import EnvSpec, ObservationKind, Observed
from app.protocol import messages


class StateView(ui.element, component="state_view.js"):
    """Shows observation, reward and whether the episode is over; `-` until the first state."""

    def __init__(self, spec: EnvSpec) -> None:
        super().__init__()
        self._spec = spec
        self._names: tuple[Observed, ...] = spec.observed
        self._props["components"] = [_component(observed) for observed in spec.observed]
        self._props["unseen"] = _no_components_text(spec)

    def show(self, now: messages.Happened, *, announced: bool) -> None:
        """Show a state; if `announced`, also to screen readers."""
        if now.observation is not None and len(now.observation) != len(self._names):
            self._names = self._spec.components(len(now.observation))
            self._props["components"] = [_component(observed) for observed in self._names]
            self.update()
        self.run_method("show", self._as_json(now, announced=announced))

    def _as_json(self, now: messages.Happened, *, announced: bool) -> dict[str, Any]:
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
            "spoken": words + ends if announced else "",
        }


def action_words(spec: EnvSpec, action: messages.Action | None) -> str:
    """Return a text for an action."""
    if action is None:
        return "-"
    if isinstance(action, int):
        known = action < len(spec.action_labels)
        return spec.action_labels[action] if known else str(action)
    return ", ".join(f"{value:.2f}" for value in action)


def _component(observed: Observed) -> dict[str, Any]:
    return {"name": observed.name, "low": observed.low, "high": observed.high}


def _no_components_text(spec: EnvSpec) -> str:
    sides = " x ".join(map(str, spec.observation_shape))
    if spec.observation_kind is ObservationKind.IMAGE:
        return f"The agent observes the image itself: {sides} numbers."
    return f"The observation has {sides} numbers."
