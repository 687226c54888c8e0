"""Where each setting is found under "Advanced"."""

from enum import StrEnum

from app.catalog.algorithms.spec import Hyperparameter


class FieldGroup(StrEnum):
    """The parts of "Advanced", in the order in which they are shown."""

    OPTIMISATION = "Optimisation"
    EXPERIENCE = "Rollout and replay"
    EXPLORATION = "Exploration"
    NETWORK = "Network"
    ENVIRONMENT = "Environment and wrappers"
    RUN = "Run"


_EXPERIENCE = frozenset(
    {
        "n_steps",
        "gae_lambda",
        "buffer_size",
        "learning_starts",
        "train_freq",
        "sub_sampling_factor",
        "n_delta",
        "n_top",
        "n_eval_episodes",
    }
)
_EXPLORATION = frozenset(
    {
        "ent_coef",
        "target_entropy",
        "exploration_fraction",
        "exploration_initial_eps",
        "exploration_final_eps",
        "use_sde",
        "sde_sample_freq",
        "use_sde_at_warmup",
        "action_noise",
        "target_policy_noise",
        "target_noise_clip",
        "delta_std",
        "alive_bonus_offset",
    }
)


def group_of(parameter: Hyperparameter) -> FieldGroup:
    """Return where a hyperparameter is found."""
    if parameter.of_policy:
        return FieldGroup.NETWORK
    if parameter.name in _EXPERIENCE:
        return FieldGroup.EXPERIENCE
    return FieldGroup.EXPLORATION if parameter.name in _EXPLORATION else FieldGroup.OPTIMISATION
