"""What may be expected of a run: what its preset reached when it was measured."""

from app.catalog.presets.catalogue import expectation
from app.catalog.presets.spec import PresetName
from app.core.errors import InputError
from app.run_config.config import RunConfig, RunRequest
from storage.records.runs import JsonObject

_DECISIVE = (
    *("total_timesteps", "n_envs", "hyperparameters", "wrappers", "env_kwargs", "init_from"),
    "reward_code",
)
"""What must be as the preset has it, or its measured scores say nothing about the run."""


def promised_scores(config: JsonObject) -> tuple[float, float] | None:
    """Return the lowest and the highest score of a run's preset, if it has one and kept to it."""
    if config.get("preset") is None:
        return None
    name = PresetName(config["preset"])
    known = expectation(config["env_id"], config["algorithm"], name)
    if known is None or not _keeps_to_it(config, name):
        return None
    return min(known.scores), max(known.scores)


def _keeps_to_it(config: JsonObject, name: PresetName) -> bool:
    request = RunRequest(env_id=config["env_id"], algorithm=config["algorithm"], preset=name)
    try:
        preset = RunConfig.from_request(request)
        run = RunConfig.model_validate(config)
    except (InputError, ValueError):
        # Written by another version.
        return False
    return all(getattr(run, field) == getattr(preset, field) for field in _DECISIVE)
