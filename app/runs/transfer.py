"""Whether a run can begin with the policy of another one."""

from app.catalog.algorithms.catalogue import get_algorithm
from app.core.errors import InputError
from app.run_config.config import RunConfig


def check_transfer(config: RunConfig, source: RunConfig) -> None:
    """Make sure that a policy fits into a new run.

    Raises:
        InputError: if algorithm, network or spaces differ.
    """
    if config.algorithm != source.algorithm:
        raise InputError(
            f"The run to begin from was trained with {source.algorithm}, this one uses "
            f"{config.algorithm}. Use the same algorithm.",
            field="init_from",
        )
    for parameter in get_algorithm(config.algorithm).hyperparameters:
        theirs = source.hyperparameters.get(parameter.name, parameter.default)
        if parameter.of_policy and config.hyperparameters[parameter.name] != theirs:
            raise InputError(
                f"The run to begin from has {parameter.name} {theirs}, this one "
                f"{config.hyperparameters[parameter.name]}. Use the same network.",
                field="init_from",
            )
    if config.wrappers.frame_stack != source.wrappers.frame_stack:
        raise InputError(
            f"The run to begin from stacks {source.wrappers.frame_stack} observations, this one "
            f"{config.wrappers.frame_stack}. Set wrappers.frame_stack as there.",
            field="init_from",
        )
    if config.wrappers.normalize_observation != source.wrappers.normalize_observation:
        raise InputError(
            "One of the two runs scales its observations and the other doesn't. "
            "Set wrappers.normalize_observation as in the run to begin from.",
            field="init_from",
        )
    if _spaces(config) != _spaces(source):
        raise InputError(
            f"{config.env_id} and {source.env_id} have different observations or actions, so the "
            "policy doesn't fit.",
            field="init_from",
        )


def _spaces(config: RunConfig) -> tuple[object, ...]:
    spec = config.environment
    seen = (spec.observation_kind, spec.observation_shape)
    return (spec.action_kind, spec.n_actions, spec.action_shape, *seen)
