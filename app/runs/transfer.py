"""Check whether a run can start from the policy of another one."""

from app.catalog.algorithms import Group, get_algorithm
from app.core import InputError
from app.run_config import RunConfig


def check_transfer(config: RunConfig, source: RunConfig) -> None:
    """Make sure that a policy fits a new run.

    Raises:
        InputError: if algorithm, network or spaces differ.
    """
    if config.algorithm != source.algorithm:
        raise InputError(
            f"The run to start from was trained with {source.algorithm}, this one uses "
            f"{config.algorithm}. Use the same algorithm.",
            field="init_from",
        )
    for parameter in get_algorithm(config.algorithm).hyperparameters:
        value = source.hyperparameters.get(parameter.name, parameter.default)
        if parameter.group is Group.NETWORK and config.hyperparameters[parameter.name] != value:
            raise InputError(
                f"The run to start from has {parameter.name} {value}, this one "
                f"{config.hyperparameters[parameter.name]}. Use the same network.",
                field="init_from",
            )
    if config.wrappers.frame_stack != source.wrappers.frame_stack:
        raise InputError(
            f"The run to start from stacks {source.wrappers.frame_stack} observations, this one "
            f"{config.wrappers.frame_stack}. Set wrappers.frame_stack as there.",
            field="init_from",
        )
    if config.wrappers.normalize_observation != source.wrappers.normalize_observation:
        raise InputError(
            "One of the two runs normalizes its observations and the other doesn't. "
            "Set wrappers.normalize_observation as in the run to start from.",
            field="init_from",
        )
    if _spaces(config) != _spaces(source):
        raise InputError(
            f"{config.env_id} and {source.env_id} have different observations or actions, so the "
            "policy doesn't fit.",
            field="init_from",
        )


def describe_exploration(config: RunConfig) -> str | None:
    """Say how a run explores although it starts with a trained policy; None if it doesn't."""
    values = config.hyperparameters
    random_steps, rate = values.get("learning_starts"), values.get("exploration_initial_eps")
    parts = []
    if random_steps:
        parts.append(f"{random_steps:,} steps of random actions (learning_starts)")
    if rate:
        parts.append(f"a share of {rate:g} of random actions that decays (exploration_initial_eps)")
    if not parts:
        return None
    return f"Exploration begins anew, with {' and '.join(parts)}: lower this to keep to the policy."


def _spaces(config: RunConfig) -> tuple[object, ...]:
    spec = config.environment
    observation = (spec.observation_kind, spec.observation_shape)
    return (spec.action_kind, spec.n_actions, spec.action_shape, *observation)
