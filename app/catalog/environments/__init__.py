"""The environments, as plain data."""

from app.catalog.environments.atari_scores import human_normalized
from app.catalog.environments.catalogue import (
    CUSTOM_PREFIX,
    ENVIRONMENTS,
    environment_of_run,
    find_in_catalogue,
    get_environment,
    installed_ids,
    register_environment,
    with_options_of_id,
)
from app.catalog.environments.envpool import why_no_envpool
from app.catalog.environments.filtering import SOLVED, UNSOLVED, EnvironmentFilter, filter_choices
from app.catalog.environments.key_maps import Action, Key, KeyMap, key_map, neutral_value
from app.catalog.environments.options import OptionValue
from app.catalog.environments.reference_scores import ReferenceScore, reference_score
from app.catalog.environments.spec import ActionKind, Difficulty, EnvSpec, ObservationKind, Observed

__all__ = [
    "CUSTOM_PREFIX",
    "ENVIRONMENTS",
    "SOLVED",
    "UNSOLVED",
    "Action",
    "ActionKind",
    "Difficulty",
    "EnvSpec",
    "EnvironmentFilter",
    "Key",
    "KeyMap",
    "ObservationKind",
    "Observed",
    "OptionValue",
    "ReferenceScore",
    "environment_of_run",
    "filter_choices",
    "find_in_catalogue",
    "get_environment",
    "human_normalized",
    "installed_ids",
    "key_map",
    "neutral_value",
    "reference_score",
    "register_environment",
    "why_no_envpool",
    "with_options_of_id",
]
