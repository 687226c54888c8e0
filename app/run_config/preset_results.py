"""The preset of a run today, and the scores measured for it."""

from app.catalog.algorithms import get_algorithm
from app.catalog.presets import PresetName, expectation, presets_for
from app.core import InputError
from app.run_config.config import RunConfig
from app.run_config.request import RunRequest

_DECISIVE_FIELDS = (
    *("total_timesteps", "n_envs", "hyperparameters", "wrappers", "env_kwargs", "init_from"),
    "reward_code",
)
"""Fields that must equal those of the preset for its measured scores to apply to a run."""


def expected_scores(config: RunConfig) -> tuple[float, float] | None:
    """Return the lowest and highest score of the preset that a run matches, if any."""
    if config.preset is None:
        return None
    known = expectation(config.env_id, config.algorithm, config.preset)
    if known is None or not _matches_preset(config):
        return None
    return min(known.scores), max(known.scores)


def current_preset(config: RunConfig) -> PresetName | None:
    """Return the preset of a run, or None if there is no such preset any more.

    Nothing is lost without its name: a configuration has all its values.
    """
    if config.preset is None:
        return None
    try:
        offered = presets_for(config.environment, get_algorithm(config.algorithm))
    except InputError:
        # Options or an algorithm of another version.
        return None
    return config.preset if config.preset in offered else None


def _matches_preset(config: RunConfig) -> bool:
    request = RunRequest(env_id=config.env_id, algorithm=config.algorithm, preset=config.preset)
    try:
        preset = RunConfig.from_request(request)
    except InputError:
        # A run of a version with other presets, or an environment that isn't installed here.
        return False
    return all(getattr(config, field) == getattr(preset, field) for field in _DECISIVE_FIELDS)
