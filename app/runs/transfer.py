"""Begin with the policy of another run."""

from app.catalog.algorithms.catalogue import get_algorithm
from app.core.errors import InputError
from app.run_config.config import RunConfig
from storage.files.fork_files import ForkFiles
from storage.files.run_folder import RunFolder


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


def read_policy(folder: RunFolder, step: str) -> bytes:
    """Return the newest policy of a run, or that of the checkpoint or change of some step.

    Raises:
        InputError: if there is none.
    """
    checkpoints = folder.checkpoints
    found = folder.newest_policy()
    if step:
        chosen = (file for file in checkpoints if str(file.timesteps) == step)
        found = next(((file.policy, file.timesteps) for file in chosen), None)
    try:
        if found is not None:
            return found[0].read_bytes()
    except OSError:
        # The run to begin from trains, and this checkpoint just made room for a newer one.
        pass
    if not step:
        raise InputError("The run to begin from has no policy yet.", field="init_from")
    forks = ForkFiles(folder.forks_path)
    kept = forks.policy(int(step)) if step.isdecimal() and len(step) < 20 else None
    if kept is not None:
        return kept
    known = sorted({*forks.steps(), *(file.timesteps for file in checkpoints)})
    steps = ", ".join(map(str, known)) or "none"
    raise InputError(
        f"The run has no checkpoint of step {step[:20]}. It has: {steps}.", field="init_from"
    )


def _spaces(config: RunConfig) -> tuple[object, ...]:
    spec = config.environment
    seen = (spec.observation_kind, spec.observation_shape)
    return (spec.action_kind, spec.n_actions, spec.action_shape, *seen)
