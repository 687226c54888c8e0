"""What the lab knows about an environment."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from keyword import iskeyword
from typing import Any

from app.catalog.environments.extras import Extra
from app.catalog.environments.options import EnvOption
from app.core.errors import InputError, NotInstalledError, UnknownOptionError


class ActionKind(StrEnum):
    """Which family of actions an environment takes."""

    DISCRETE = "discrete"
    CONTINUOUS = "continuous"
    MULTI_DISCRETE = "multi_discrete"
    MULTI_BINARY = "multi_binary"


class ObservationKind(StrEnum):
    """Which family of observations an agent sees."""

    BOX = "box"
    DISCRETE = "discrete"
    MULTI_DISCRETE = "multi_discrete"
    MULTI_BINARY = "multi_binary"
    DICT = "dict"
    IMAGE = "image"


class Difficulty(StrEnum):
    """How long one has to train before there is something to see; the bounds are `_LONGEST`."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


_LONGEST = {Difficulty.EASY: 100_000, Difficulty.MEDIUM: 500_000}
"""The largest default budget that still counts as easy or medium."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One named component of an observation; a bound of None is infinite."""

    name: str
    low: float | None = None
    high: float | None = None

    @property
    def attribute(self) -> str:
        """Its name in code: `obs.cart_position`."""
        return attribute_name(self.name)


def attribute_name(label: str) -> str:
    """Return how a label is written in code: "cart position" as `cart_position`."""
    name = "_".join(re.findall(r"[a-z0-9]+", label.lower()))
    return name if name.isidentifier() and not iskeyword(name) else f"_{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvSpec:
    """What the lab shows and checks about one environment.

    Actions and observations are those of the agent, after the usual preprocessing of the family.
    """

    id: str
    name: str
    family: str
    description: str
    action_kind: ActionKind
    n_actions: int | None = None
    """How many actions there are to choose from, where they are discrete."""
    action_shape: tuple[int, ...] | None = None
    """How many numbers an action has, where it isn't one choice."""
    action_labels: tuple[str, ...]
    observation_kind: ObservationKind = ObservationKind.BOX
    observed: tuple[Observed, ...] = ()
    """The components of an observation; empty where they are pixels or too many to name."""
    observation_size: tuple[int, ...] | None = None
    """The shape of an observation, where it isn't a list of the components."""
    reward_range: tuple[float | None, float | None]
    """The lowest and highest reward of one step, as far as they are bounded."""
    solved_threshold: float | None
    """The mean return over 100 episodes from which the environment counts as solved."""
    max_episode_steps: int | None
    default_timesteps: int
    """A budget within which PPO shows clear progress."""
    n_agents: int = 1
    """How many act in it at once."""
    default_frame_stack: int = 1
    """How many observations in a row an agent sees at once unless told otherwise."""
    repeats_itself: bool = True
    """Whether the same seed and actions lead to exactly the same place, in a new process, too."""
    renders: bool = True
    """Whether it can be drawn."""
    former_ids: tuple[str, ...] = ()
    """Ids of earlier versions, for all of which this one is used."""
    extra: Extra | None = None
    """The optional part of the project that it comes with."""
    code: str | None = None
    """The file that a person wrote it in; it travels with every job, for workers alone to load."""
    is_gone: bool = False
    """Whether a person wrote it who has deleted it since."""
    options: tuple[EnvOption, ...] | None = ()
    """What can be set about it; None if nobody knows, so that anything may be tried."""
    changed_by: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    """Which of these facts are others, given the values of all options."""

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of an observation; the number of values where it is one of several."""
        return self.observation_size or (len(self.observed),)

    def components(self, count: int) -> tuple[Observed, ...]:
        """Name the `count` numbers of an observation, those without a name by their place."""
        if len(self.observed) == count:
            return self.observed
        return tuple(Observed(name=f"component {i + 1}") for i in range(count))

    @property
    def difficulty(self) -> Difficulty:
        """How much training it takes, judged by its default budget."""
        fitting = (level for level, most in _LONGEST.items() if self.default_timesteps <= most)
        return next(fitting, Difficulty.HARD)

    @property
    def is_installed(self) -> bool:
        """Whether it can be made here."""
        return self.extra is None or self.extra.is_installed

    @property
    def install_hint(self) -> str | None:
        """The command that adds it, if it is missing."""
        return None if self.is_installed or self.extra is None else self.extra.command

    def check_installed(self) -> None:
        """Make sure that it can be made here.

        Raises:
            InputError: if it can't.
        """
        if self.is_gone:
            raise InputError(
                f"{self.id} was deleted. Runs that used it have a copy and can go on; a new one "
                "needs an environment that is still here.",
                field="env_id",
            )
        if self.install_hint is not None:
            raise NotInstalledError(self.id, self.install_hint)

    def check_kwargs(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the value of every option: the given ones, checked, and the defaults of the rest.

        Raises:
            UnknownOptionError: if it has no option of a given name.
            InputError: if a value is out of bounds or of the wrong type.
        """
        if self.options is None:
            return dict(given)
        known = {option.name: option for option in self.options}
        for name in given:
            if name not in known:
                raise UnknownOptionError(self.id, name, known)
        return {
            name: option.check(given[name], field=f"env_kwargs.{name}")
            if name in given
            else option.default
            for name, option in known.items()
        }

    def configured(self, given: Mapping[str, Any]) -> "EnvSpec":
        """Return what is true of it with these options.

        Raises:
            InputError: if an option is unknown or its value can't be used.
        """
        values = self.check_kwargs(given)
        return self if self.changed_by is None else replace(self, **self.changed_by(values))


def discrete_state(n: int) -> dict[str, Any]:
    """Return the fields of an EnvSpec whose observation is one of `n` states."""
    return {
        "observation_kind": ObservationKind.DISCRETE,
        "observed": (Observed(name="state", low=0, high=n - 1),),
        "observation_size": (n,),
    }
