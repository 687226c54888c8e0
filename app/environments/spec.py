"""What the lab knows about an environment."""

from dataclasses import dataclass
from enum import StrEnum


class ActionKind(StrEnum):
    """Which family of actions an environment takes."""

    DISCRETE = "discrete"
    CONTINUOUS = "continuous"
    MULTI_DISCRETE = "multi_discrete"
    MULTI_BINARY = "multi_binary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One named component of an observation; a bound of None is infinite."""

    name: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvSpec:
    """What the lab shows and checks about one environment."""

    id: str
    name: str
    family: str
    description: str
    action_kind: ActionKind
    n_actions: int | None = None
    """How many actions there are to choose from, where they are discrete."""
    action_shape: tuple[int, ...] | None = None
    """How many numbers an action has, where they are continuous."""
    action_labels: tuple[str, ...]
    observed: tuple[Observed, ...]
    reward_range: tuple[float | None, float | None]
    """The lowest and highest reward of one step, as far as they are bounded."""
    solved_threshold: float | None
    """The mean return over 100 episodes from which the environment counts as solved."""
    max_episode_steps: int
    default_timesteps: int
    """A budget within which PPO shows clear progress."""
    repeats_itself: bool = True
    """Whether the same seed and actions lead to exactly the same place, in a new process, too."""
    former_ids: tuple[str, ...] = ()
    """Ids of earlier versions that Gymnasium no longer makes."""

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of the array that the agent sees."""
        return (len(self.observed),)
