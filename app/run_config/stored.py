"""The typed configuration of a stored run; only this module reads layouts of earlier versions."""

from pydantic import ValidationError

from app.catalog.environments import EnvSpec, environment_of_run
from app.core import InputError, UnreadableConfigError, input_error
from app.run_config.config import RunConfig
from storage.records import JsonObject, RunRecord


def config_of(run: RunRecord) -> RunConfig:
    """Return a run's configuration; fields that its version didn't have get their defaults.

    Not cached: it takes some 10 microseconds.

    Raises:
        UnreadableConfigError: if another version wrote it in an incompatible layout.
    """
    try:
        return RunConfig.model_validate(run.config)
    except ValidationError as error:
        # Only what is wrong: the sentence after it tells how to correct a request.
        reason = str(input_error([dict(one) for one in error.errors()])).partition(". ")[0]
        raise UnreadableConfigError(run.id, reason) from None


def readable_config(run: RunRecord) -> RunConfig | None:
    """Return a run's configuration, None if it can't be read."""
    try:
        return config_of(run)
    except UnreadableConfigError:
        return None


def seed_of(run: RunRecord) -> int | None:
    """Return a run's seed, None if it can't be read or the pulled file doesn't tell it."""
    config = readable_config(run)
    if config is None or (config.origin is not None and "seed" in config.origin.unknown):
        return None
    return config.seed


def engine_of(run: RunRecord) -> str:
    """Return the engine that trains a run, as stored if its configuration can't be read."""
    config = readable_config(run)
    return config.engine_used if config else str(run.config.get("engine_used", "sb3"))


def reward_code_of(run: RunRecord) -> str | None:
    """Return the code of a run's custom reward, None if it has none or can't be read."""
    config = readable_config(run)
    return None if config is None else config.reward_code


def settings_of(run: RunRecord) -> JsonObject:
    """Return a run's configuration as JSON: with defaults, or as stored if it can't be read."""
    config = readable_config(run)
    return run.config if config is None else config.model_dump(mode="json")


def environment_of(run: RunRecord) -> EnvSpec:
    """Return the spec of a run's environment, with its options if they can be read."""
    config = readable_config(run)
    try:
        return environment_of_run(run.env_id) if config is None else config.environment
    except InputError:
        # An option that this version doesn't have.
        return environment_of_run(run.env_id)
