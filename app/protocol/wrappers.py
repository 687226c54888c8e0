"""What may be put around an environment: how it is seen, how it is played, what is disturbed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrappers:
    """The options of a run; the defaults leave an environment as it is."""

    simulator: Literal["gymnasium", "envpool"] = "gymnasium"
    """Whose environments to train on; evaluations always use Gymnasium's."""
    frame_stack: int = 1
    """How many past observations are seen together."""
    normalize_observation: bool = False
    """Scale observations to mean 0 and deviation 1, by what was seen so far."""
    normalize_reward: bool = False
    """Scale rewards by how much returns vary; the reported return stays untouched."""
    time_limit: int | None = None
    """Cut episodes after so many steps; None: as the environment does."""
    frame_skip: int = 1
    """Do each action so many times."""
    sticky_actions: float = 0.0
    """How often the environment repeats the last action instead of the chosen one."""
    observation_noise: float = 0.0
    """Deviation of the noise on every observed number."""
    action_noise: float = 0.0
    """Deviation of the noise on continuous actions; how often a discrete one is replaced."""
    randomize: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Attributes of the environment that are drawn anew from a range for every episode."""

    @property
    def disturbances(self) -> tuple[str, ...]:
        """The options in use that make an environment harder than it is."""
        off = Wrappers()
        return tuple(name for name in _DISTURBANCES if getattr(self, name) != getattr(off, name))

    def for_evaluation(self) -> "Wrappers":
        """Return the same without what an agent should be trained with but not judged by."""
        return replace(
            self,
            simulator="gymnasium",
            sticky_actions=0.0,
            observation_noise=0.0,
            action_noise=0.0,
            randomize={},
        )


_DISTURBANCES = ("sticky_actions", "observation_noise", "action_noise", "randomize")
