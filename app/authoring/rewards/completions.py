"""What code of a reward may name in an environment: offered while typing, explained on hover."""

from collections.abc import Iterator
from dataclasses import dataclass

from app.catalog.environments.spec import ActionKind, EnvSpec, ObservationKind, Observed
from app.code_check.modules import OFFERED

_MOST = 400


@dataclass(frozen=True, slots=True)
class Word:
    """One name, with what an editor shows beside it."""

    name: str
    detail: str = ""
    """A few words: its type, its range."""
    about: str = ""
    """A sentence."""
    of: str = ""
    """What it is a part of: `obs` for what follows `obs.`; empty for names that stand alone."""
    kind: str = "Variable"
    """Which sign it gets in an editor: Variable, Property, Module ..."""


def words_of(spec: EnvSpec) -> list[Word]:
    """Return every name that is worth offering for a reward in this environment."""
    return [*_arguments(spec), *_components(spec), *_modules()]


def _arguments(spec: EnvSpec) -> Iterator[Word]:
    seen = _observation(spec)
    yield Word("obs", seen, "What was observed before the action. It can't be written to.")
    yield Word("action", _action(spec), f"What was done. {_labels(spec)}".strip())
    yield Word("next_obs", seen, "What was observed after the action. It can't be written to.")
    yield Word("reward", f"float, {_range(*spec.reward_range)}", "The environment's own reward.")
    yield Word("terminated", "bool", "Whether the episode ended by itself: at a goal or a failure.")
    limit = spec.max_episode_steps
    when = f" after {limit:,} steps" if limit else ""
    yield Word("truncated", "bool", f"Whether the episode was cut off{when}.")
    yield Word("info", "dict", "What else the environment tells about the step.")


def _components(spec: EnvSpec) -> Iterator[Word]:
    if spec.observation_kind is not ObservationKind.BOX:
        return
    for owner in ("obs", "next_obs"):
        for place, component in enumerate(spec.observed[:_MOST]):
            yield Word(
                component.attribute,
                _range(component.low, component.high),
                f"{_sentence(component)}, the same as {owner}[{place}].",
                of=owner,
                kind="Property",
            )


def _modules() -> Iterator[Word]:
    for name, about in OFFERED.items():
        yield Word(name, "module", about, kind="Module")
    yield Word("np", "module", "What numpy is called after: import numpy as np", kind="Module")


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
    more = " ..." if len(spec.action_labels) > _MOST_LABELS else ""
    return f"{listed[:1].upper()}{listed[1:]}{more}." if listed else ""


_MOST_LABELS = 20


def _first(spec: EnvSpec) -> Iterator[tuple[int, str]]:
    yield from enumerate(spec.action_labels[:_MOST_LABELS])


def _sentence(component: Observed) -> str:
    return component.name[:1].upper() + component.name[1:]


def _range(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return "unbounded"
    least = "-∞" if low is None else f"{low:.4g}"
    most = "∞" if high is None else f"{high:.4g}"
    return f"{least} to {most}"
