"""Build complete run configurations from requests: seeds, wrappers, live changes."""

from app.run_config.config import Origin, RunConfig
from app.run_config.derived_runs import derive, live_values
from app.run_config.engine import describe_engine
from app.run_config.evaluation_fields import EVALUATION_FIELDS, usual_final_episodes
from app.run_config.evaluation_options import WholeNumber
from app.run_config.extensions import describe_extension, settings_after
from app.run_config.labels import MAX_NOTES, RunLabels
from app.run_config.live_changes import LIVE_HYPERPARAMETERS, read_change
from app.run_config.preset_results import current_preset, expected_scores
from app.run_config.request import (
    MAX_N_ENVS,
    MAX_NAME,
    MAX_SEED,
    MAX_TIMESTEPS,
    Name,
    RewardCode,
    RunRequest,
    ShortText,
)
from app.run_config.seeds import each_run, nearest_seeds, one_request_per_seed
from app.run_config.stored import (
    config_of,
    engine_of,
    environment_label,
    environment_of,
    read_config,
    readable_config,
    reward_code_of,
    seed_of,
    settings_of,
)
from app.run_config.wrapper_options import ENGINE_OPTION, WRAPPER_OPTIONS

__all__ = [
    "ENGINE_OPTION",
    "EVALUATION_FIELDS",
    "LIVE_HYPERPARAMETERS",
    "MAX_NAME",
    "MAX_NOTES",
    "MAX_N_ENVS",
    "MAX_SEED",
    "MAX_TIMESTEPS",
    "WRAPPER_OPTIONS",
    "Name",
    "Origin",
    "RewardCode",
    "RunConfig",
    "RunLabels",
    "RunRequest",
    "ShortText",
    "WholeNumber",
    "config_of",
    "current_preset",
    "derive",
    "describe_engine",
    "describe_extension",
    "each_run",
    "engine_of",
    "environment_label",
    "environment_of",
    "expected_scores",
    "live_values",
    "nearest_seeds",
    "one_request_per_seed",
    "read_change",
    "read_config",
    "readable_config",
    "reward_code_of",
    "seed_of",
    "settings_after",
    "settings_of",
    "usual_final_episodes",
]
