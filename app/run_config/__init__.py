"""Build complete run configurations from requests: seeds, wrappers, live changes."""

from app.run_config.config import RunConfig
from app.run_config.derived_runs import derive, live_values
from app.run_config.engine import describe_engine
from app.run_config.evaluation_options import (
    MAX_FINAL_EPISODES,
    MAX_PERIODIC_EPISODES,
    EvaluationOptions,
    WholeNumber,
)
from app.run_config.labels import MAX_NOTES, RunLabels
from app.run_config.live_changes import LIVE_HYPERPARAMETERS, read_change
from app.run_config.preset_results import expected_scores
from app.run_config.request import (
    MAX_NAME,
    MAX_SEED,
    MAX_TIMESTEPS,
    Name,
    RewardCode,
    RunRequest,
    ShortText,
)
from app.run_config.seeds import each_run, one_request_per_seed
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
    "LIVE_HYPERPARAMETERS",
    "MAX_FINAL_EPISODES",
    "MAX_NAME",
    "MAX_NOTES",
    "MAX_PERIODIC_EPISODES",
    "MAX_SEED",
    "MAX_TIMESTEPS",
    "WRAPPER_OPTIONS",
    "EvaluationOptions",
    "Name",
    "RewardCode",
    "RunConfig",
    "RunLabels",
    "RunRequest",
    "ShortText",
    "WholeNumber",
    "config_of",
    "derive",
    "describe_engine",
    "each_run",
    "engine_of",
    "environment_label",
    "environment_of",
    "expected_scores",
    "live_values",
    "one_request_per_seed",
    "read_change",
    "read_config",
    "readable_config",
    "reward_code_of",
    "seed_of",
    "settings_of",
]
