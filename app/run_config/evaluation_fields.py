"""The settings of evaluations as fields of a form; `EvaluationOptions` checks their values."""

from app.catalog.environments import EnvSpec, ObservationKind
from app.core import Parameter
from app.run_config.evaluation_options import (
    MAX_FINAL_EPISODES,
    MAX_PERIODIC_EPISODES,
    EvaluationOptions,
)

_DEFAULTS = EvaluationOptions()
_MANY, _FEW = 100, 20

EVALUATION_FIELDS: dict[str, Parameter] = {
    "Final evaluation (episodes)": Parameter(
        name="final_episodes",
        type="int",
        default=_DEFAULTS.final_episodes,
        min=0,
        max=MAX_FINAL_EPISODES,
        description="When the run is complete, its final policy plays so many episodes on the "
        "final seeds: their mean is the score of the run. 0: no final evaluation.",
    ),
    "Episodes per evaluation": Parameter(
        name="episodes",
        type="int",
        default=_DEFAULTS.episodes,
        min=1,
        max=MAX_PERIODIC_EPISODES,
        description="Number of episodes of each periodic evaluation, on new seeds each time.",
    ),
    "Deterministic evaluations": Parameter(
        name="deterministic",
        type="bool",
        default=_DEFAULTS.deterministic,
        description="Periodic evaluations play the policy's best actions. Off: sampled ones, as "
        "in training.",
    ),
    "Evaluate with disturbances": Parameter(
        name="disturbances",
        type="bool",
        default=_DEFAULTS.disturbances,
        description="Periodic evaluations keep the noise, sticky actions and randomization of "
        "training: they measure robustness.",
    ),
    "Evaluate above mean reward": Parameter(
        name="start_above",
        type="float",
        default=None,
        nullable=True,
        description="Begin with periodic evaluations once the mean reward of training is above "
        "this. Empty: from the start.",
    ),
}
"""By label."""


def usual_final_episodes(environment: EnvSpec) -> int:
    """Return how many episodes a form offers for the final evaluation.

    Policies of images can't play all episodes at once, so that each takes its time.
    """
    return _FEW if environment.observation_kind is ObservationKind.IMAGE else _MANY
