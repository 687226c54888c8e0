"""Completions for the code of custom rewards, with their explanation on hover."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.catalog.environments import ActionKind, EnvSpec, ObservationKind, Observed
from app.code_check import OFFERED_MODULES

_MAX_COMPONENTS = 400


@dataclass(frozen=True, slots=True)
class Word:
    """A name that an editor completes."""

    name: str
    detail: str = ""
    """Its type or range."""
    about: str = ""
    """A sentence that explains it."""
    of: str = ""
    """Its owner: `obs` for attributes of `obs`; empty for global names."""
    kind: str = "Variable"
    """Its kind, which selects the icon: Variable, Property, Module ..."""


def words_of(spec: EnvSpec) -> list[Word]:
    """Return the completions for a reward in an environment."""
    return [*_arguments(spec), *_components(spec), *_modules()]


def _arguments(spec: EnvSpec) -> Iterator[Word]:
    observation = _observation(spec)
    yield Word("obs", observation, "The observation before the action (read-only).")
    yield Word("action", _action(spec), f"The action. {_labels(spec)}".strip())
    yield Word("next_obs", observation, "The observation after the action (read-only).")
    yield Word("reward", f"float, {_range(*spec.reward_range)}", "The environment's own reward.")
    yield Word("terminated", "bool", "Whether the episode terminated: at a goal or a failure.")
    limit = spec.max_episode_steps
    when = f" after {limit:,} steps" if limit else ""
    yield Word("truncated", "bool", f"Whether the episode was truncated{when}.")
    yield Word("info", "dict", "Further information about the step.")


def _components(spec: EnvSpec) -> Iterator[Word]:
    if spec.observation_kind is not ObservationKind.BOX:
        return
    for owner in ("obs", "next_obs"):
        for place, component in enumerate(spec.observed[:_MAX_COMPONENTS]):
            yield Word(
                component.attribute,
                _range(component.low, component.high),
                f"{_sentence(component)}, the same as {owner}[{place}].",
                of=owner,
                kind="Property",
            )


def _modules() -> Iterator[Word]:
    for name, about in OFFERED_MODULES.items():
        yield Word(name, "module", about, kind="Module")
    yield Word("np", "module", "The name of numpy after: import numpy as np", kind="Module")


def _observation(spec: EnvSpec) -> str:
    match spec.observation_kind:
        case ObservationKind.DISCRETE:
            return f"int, 0 to {spec.observation_shape[0] - 1}"
        case ObservationKind.DICT:
            return "dict of arrays"
        case _:
            return f"array of {' x '.join(str(side) for side in spec.observation_shape)}"


def _action(spec: EnvSpec) -> str:
    if spec.action_kind is ActionKind.DISCRETE:
        return f"int, 0 to {(spec.n_actions or 1) - 1}"
    return f"array of {' x '.join(str(side) for side in spec.action_shape or ())}"


def _labels(spec: EnvSpec) -> str:
    is_choice = spec.action_kind is ActionKind.DISCRETE
    named = (f"{i} {name}" if is_choice else f"[{i}] {name}" for i, name in _first(spec))
    listed = ", ".join(named)
    more = " ..." if len(spec.action_labels) > _MAX_LABELS else ""
    return f"{listed[:1].upper()}{listed[1:]}{more}." if listed else ""


_MAX_LABELS = 20


def _first(spec: EnvSpec) -> Iterator[tuple[int, str]]:
    yield from enumerate(spec.action_labels[:_MAX_LABELS])


def _sentence(component: Observed) -> str:
    return component.name[:1].upper() + component.name[1:]


def _range(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return "unbounded"
    lower = "-∞" if low is None else f"{low:.4g}"
    upper = "∞" if high is None else f"{high:.4g}"
    return f"{lower} to {upper}"
