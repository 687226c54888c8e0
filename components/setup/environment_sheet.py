"""The facts about an environment."""

from nicegui import ui

from app.catalog.environments import EnvSpec
from components.base import NOT_MEASURED, format_number

_MAX_NAMES = 60


class EnvironmentSheet:
    """Description, spaces, rewards and limits."""

    def __init__(self, spec: EnvSpec) -> None:
        ui.label(spec.description)
        with ui.element("dl").classes("lab-fact-sheet"):
            _fact("Id", spec.id)
            _fact("Family", spec.family)
            _fact("Actions", _actions(spec))
            _fact("Observation", _observation(spec))
            _fact("Reward per step", _range(*spec.reward_range))
            _fact("Solved threshold", format_number(spec.solved_threshold, 1))
            _fact("Time limit", _limit(spec.max_episode_steps))
        _names("Actions", _action_names(spec))
        _names("Components", _component_names(spec))
        _names("Options", tuple(f"{o.name}: {o.description}" for o in spec.options or ()))


def _fact(name: str, value: str) -> None:
    with ui.element("dt"):
        ui.label(name).classes("lab-label")
    with ui.element("dd"):
        ui.label(value).classes("lab-mono")


def _names(title: str, names: tuple[str, ...]) -> None:
    if not names:
        return
    with ui.expansion(title).props("dense dense-toggle").classes("lab-full"):  # noqa: SIM117
        with ui.element("ul").classes("lab-names"):
            for name in names[:_MAX_NAMES]:
                with ui.element("li"):
                    ui.label(name)
            if len(names) > _MAX_NAMES:
                with ui.element("li"):
                    ui.label(f"and {len(names) - _MAX_NAMES} more")


def _actions(spec: EnvSpec) -> str:
    kind = spec.action_kind.replace("_", " ")
    if spec.n_actions is not None:
        return f"{kind}, {spec.n_actions} actions"
    shape = "x".join(map(str, spec.action_shape or ()))
    return f"{kind}, {shape} numbers"


def _observation(spec: EnvSpec) -> str:
    return f"{spec.observation_kind}({'x'.join(map(str, spec.observation_shape))})"


def _action_names(spec: EnvSpec) -> tuple[str, ...]:
    if spec.n_actions is None:
        return spec.action_labels
    return tuple(f"{i} {label}" for i, label in enumerate(spec.action_labels))


def _component_names(spec: EnvSpec) -> tuple[str, ...]:
    return tuple(f"{one.name}, {_range(one.low, one.high)}" for one in spec.observed)


def _range(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return "unbounded"
    if low is None or high is None:
        return f"at most {high:g}" if low is None else f"at least {low:g}"
    return f"always {low:g}" if low == high else f"{low:g} to {high:g}"


def _limit(steps: int | None) -> str:
    return NOT_MEASURED if steps is None else f"{steps:,} steps"
