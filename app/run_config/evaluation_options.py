"""How the policies of a run are evaluated during and after its training."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictInt

MAX_PERIODIC_EPISODES = 100
MAX_FINAL_EPISODES = 1_000


def whole(value: object) -> object:
    """Convert a whole float such as 1e5 to int; leave everything else to the strict check."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WholeNumber = Annotated[StrictInt, BeforeValidator(whole)]


class EvaluationOptions(BaseModel):
    """The settings of a run's periodic evaluations and of its final one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    episodes: WholeNumber = Field(default=20, ge=1, le=MAX_PERIODIC_EPISODES)
    """Number of episodes of each periodic evaluation."""
    deterministic: StrictBool = True
    """Whether actions are the policy's best ones instead of sampled ones."""
    disturbances: StrictBool = False
    """Whether the noise and the randomization of training apply, too."""
    start_above: float | None = Field(default=None, allow_inf_nan=False)
    """Evaluate periodically once the mean reward of training is above this."""
    final_episodes: WholeNumber = Field(default=0, ge=0, le=MAX_FINAL_EPISODES)
    """Number of episodes of the final evaluation when the run is complete; 0: none."""
