"""The typed configuration of a stored run; only this module reads layouts of earlier versions."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from app.catalog.environments import (
    CUSTOM_PREFIX,
    EnvSpec,
    environment_of_run,
    find_in_catalogue,
)
from app.core import InputError, UnreadableConfigError, input_error
from app.protocol import NO_FRAMESKIP
from app.run_config.config import RunConfig
from storage.records import JsonObject, RunRecord


def config_of(run: RunRecord) -> RunConfig:
    """Return a run's configuration; fields that its version didn't have get their defaults.

    Not cached: it takes some 10 microseconds.

    Raises:
        UnreadableConfigError: if another version wrote it in an incompatible layout.
    """
    try:
        return read_config(run.config)
    except ValidationError as error:
        # Only what is wrong: the sentence after it tells how to correct a request.
        reason = str(input_error([dict(one) for one in error.errors()])).partition(". ")[0]
        raise UnreadableConfigError(run.id, reason) from None


def read_config(stored: Mapping[str, Any]) -> RunConfig:
    """Return a stored configuration, which any version of the lab may have written.

    Raises:
        ValidationError: if it has an incompatible layout.
    """
    return RunConfig.model_validate(stored if "layout" in stored else _from_first_layout(stored))


def _from_first_layout(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Name what versions without a layout did without saying so.

    Their Atari ids were v5, but the games NoFrameskip-v4. Time limits counted frames.
    """
    env_id, wrappers = str(stored.get("env_id")), stored.get("wrappers")
    values = dict(stored)
    if env_id.startswith("ALE/") and env_id.endswith("-v5"):
        given = stored.get("env_kwargs") or {}
        spec = find_in_catalogue(env_id)
        defaults = {option.name: option.default for option in spec.known_options} if spec else {}
        values["env_kwargs"] = {**defaults, **given, "protocol": NO_FRAMESKIP}
    if isinstance(wrappers, Mapping) and wrappers.get("time_limit") is not None:
        is_skipping = wrappers.get("frame_skip", 1) != 1 or _may_be_atari(env_id)
        values["wrappers"] = {**wrappers, **({"time_limit_unit": "frames"} if is_skipping else {})}
    return values


def _may_be_atari(env_id: str) -> bool:
    spec = find_in_catalogue(env_id)
    return not env_id.startswith(CUSTOM_PREFIX) if spec is None else spec.family == "atari"


def environment_label(run: RunRecord) -> str:
    """Return the id of a run's environment, with the protocol if the id stands for another one."""
    return environment_of(run).label


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
