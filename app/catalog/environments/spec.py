"""The description of an environment."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from keyword import iskeyword
from typing import Any

from app.catalog.environments.extras import Extra
from app.catalog.environments.options import EnvOption
from app.core import InputError, NotInstalledError, UnknownOptionError
from app.protocol import Wrappers


class ActionKind(StrEnum):
    """The kind of an action space."""

    DISCRETE = "discrete"
    CONTINUOUS = "continuous"
    MULTI_DISCRETE = "multi_discrete"
    MULTI_BINARY = "multi_binary"


class ObservationKind(StrEnum):
    """The kind of an observation space."""

    BOX = "box"
    DISCRETE = "discrete"
    MULTI_DISCRETE = "multi_discrete"
    MULTI_BINARY = "multi_binary"
    DICT = "dict"
    IMAGE = "image"


class Difficulty(StrEnum):
    """How much training shows progress; the bounds are `_LONGEST`."""

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
    """Convert a label to an identifier: "cart position" to `cart_position`."""
    name = "_".join(re.findall(r"[a-z0-9]+", label.lower()))
    return name if name.isidentifier() and not iskeyword(name) else f"_{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvSpec:
    """The properties of one environment that the lab shows and checks.

    Actions and observations are those of the agent, after the family's usual preprocessing.
    """

    id: str
    name: str
    family: str
    description: str
    action_kind: ActionKind
    n_actions: int | None = None
    """Number of actions, if they are discrete."""
    action_shape: tuple[int, ...] | None = None
    """The shape of an action, if it isn't discrete."""
    action_labels: tuple[str, ...]
    observation_kind: ObservationKind = ObservationKind.BOX
    observed: tuple[Observed, ...] = ()
    """The components of an observation; empty if they are pixels or too many to name."""
    observation_size: tuple[int, ...] | None = None
    """The shape of an observation, if it isn't a vector of the components."""
    reward_range: tuple[float | None, float | None]
    """The lowest and highest reward of one step; None if unbounded."""
    solved_threshold: float | None
    """The mean return over 100 episodes from which the environment counts as solved."""
    max_episode_steps: int | None
    default_timesteps: int
    """A budget within which PPO shows clear progress."""
    n_agents: int = 1
    """Number of agents that act at once."""
    default_frame_stack: int = 1
    """Default number of stacked observations."""
    observation_wrappers: tuple[str, ...] = ()
    """Wrappers, as `module:Class`, that flatten its observations for SB3; innermost first."""
    repeats_itself: bool = True
    """Whether the same seed and actions give exactly the same states, even in a new process."""
    renders: bool = True
    """Whether it can be rendered."""
    former_ids: tuple[str, ...] = ()
    """Ids of earlier versions, which this one replaces."""
    aliases: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Other ids of it with some options, and these options."""
    protocol: str | None = None
    """The rules under which it is used, if they aren't those that its id stands for."""
    extra: Extra | None = None
    """The optional dependency group that it needs."""
    code: str | None = None
    """The source of a custom environment; it is sent with every job, and only workers load it."""
    is_deleted: bool = False
    """Whether it is a custom environment that its owner has deleted."""
    options: tuple[EnvOption, ...] | None = ()
    """Its options; None if they are unknown, so that any are accepted."""
    changed_by: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None
    """Returns the fields that change with the given values of all options."""

    @property
    def label(self) -> str:
        """Its id, with the protocol if the id stands for another one."""
        return self.id if self.protocol is None else f"{self.id} ({self.protocol})"

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of an observation; for discrete ones the number of values."""
        return self.observation_size or (len(self.observed),)

    @property
    def observation_labels(self) -> list[str]:
        """The names of the observation's components."""
        return [component.name for component in self.observed]

    @property
    def observation_bounds(self) -> list[tuple[float | None, float | None]]:
        """The bounds of the observation's components."""
        return [(component.low, component.high) for component in self.observed]

    @property
    def known_options(self) -> tuple[EnvOption, ...]:
        """Its options; empty if they are unknown."""
        return self.options or ()

    def components(self, count: int) -> tuple[Observed, ...]:
        """Return the `count` components of an observation, numbered if they have no names."""
        if len(self.observed) == count:
            return self.observed
        return tuple(Observed(name=f"component {i + 1}") for i in range(count))

    @property
    def difficulty(self) -> Difficulty:
        """How much training it takes, derived from its default budget."""
        fitting = (level for level, most in _LONGEST.items() if self.default_timesteps <= most)
        return next(fitting, Difficulty.HARD)

    @property
    def is_installed(self) -> bool:
        """Whether its packages are installed."""
        return self.extra is None or self.extra.is_installed

    @property
    def install_hint(self) -> str | None:
        """The command that installs its packages, if they are missing."""
        return None if self.is_installed or self.extra is None else self.extra.command

    def check_installed(self) -> None:
        """Check that it can be created here.

        Raises:
            InputError: if it was deleted or isn't installed.
        """
        if self.is_deleted:
            raise InputError(
                f"{self.id} was deleted. Runs that used it have a copy and can be resumed; a new "
                f"run needs an existing environment.",
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
        """Return its description with these options.

        Raises:
            InputError: if an option is unknown or its value can't be used.
        """
        values = self.check_kwargs(given)
        changed = {} if self.changed_by is None else dict(self.changed_by(values))
        if any(values[option.name] != option.default for option in self.known_options):
            # The threshold is known for the task with its default options only.
            changed.setdefault("solved_threshold", None)
        return replace(self, **changed) if changed else self

    def wrapped(self, wrappers: Wrappers) -> "EnvSpec":
        """Return its description under these wrappers, which may make it another task."""
        spec = self._without_actions(wrappers.left_out_actions)
        limit, own = wrappers.time_limit, self.max_episode_steps
        is_cut = limit is not None and (own is None or limit < own)
        # A cut bounds the return: where each step costs, the worst policy reaches the threshold.
        is_other = is_cut or wrappers.frame_skip > 1
        return replace(spec, solved_threshold=None) if is_other else spec

    def _without_actions(self, left_out: Collection[int]) -> "EnvSpec":
        if not left_out or self.n_actions is None:
            return self
        kept = [action for action in range(self.n_actions) if action not in left_out]
        labels = tuple(self.action_labels[action] for action in kept[: len(self.action_labels)])
        return replace(self, n_actions=len(kept), action_labels=labels)


def discrete_state(n: int) -> dict[str, Any]:
    """Return the fields of an EnvSpec whose observation is one of `n` states."""
    return {
        "observation_kind": ObservationKind.DISCRETE,
        "observed": (Observed(name="state", low=0, high=n - 1),),
        "observation_size": (n,),
    }
