"""The presets of every environment and algorithm: tuned here, SB3's defaults, RL Zoo's."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from app.catalog.algorithms import (
    SB3_N_ENVS,
    AlgorithmSpec,
    max_buffer_size,
    sb3_defaults,
)
from app.catalog.environments import EnvSpec
from app.catalog.presets.box2d import BOX2D
from app.catalog.presets.classic_control import CLASSIC_CONTROL
from app.catalog.presets.rl_zoo import zoo_preset
from app.catalog.presets.rl_zoo_scores import published
from app.catalog.presets.spec import Expectation, Preset, PresetName
from app.catalog.presets.toy_text import NOTES_ON_DEFAULTS, TOY_TEXT
from app.core import InputError

TUNED: Mapping[tuple[str, str], Mapping[PresetName, Preset]] = {
    **CLASSIC_CONTROL,
    **TOY_TEXT,
    **BOX2D,
}
"""The lab's own presets by environment and algorithm, cheap trainings first."""

MEASURED = Path(__file__).parent / "measured.json"
"""The results of `make presets`."""

MIN_SEEDS = 3
"""A preset of the lab is offered once so many seeds reached RL Zoo's score on average."""

_SMALLER_BUFFER = "A worker can't hold the replay buffer of {:,} steps; it has {:,} here."


def presets_for(environment: EnvSpec, algorithm: AlgorithmSpec) -> dict[PresetName, Preset]:
    """Return the presets that exist for an environment and an algorithm."""
    tuned = TUNED.get((environment.id, algorithm.id), {})
    found = {
        name: preset
        for name, preset in tuned.items()
        if reason_not_offered(environment.id, algorithm.id, name) is None
    }
    found[PresetName.SB3_DEFAULTS] = _completed(
        Preset(total_timesteps=environment.default_timesteps), environment, algorithm
    )
    zoo = zoo_preset(environment, algorithm)
    if zoo is not None:
        found[PresetName.RL_ZOO] = _completed(zoo, environment, algorithm)
    return found


def default_preset(environment: EnvSpec, algorithm: AlgorithmSpec) -> Preset:
    """Return the choice without a preset: the lab's defaults and the environment's usual budget."""
    return Preset(
        total_timesteps=environment.default_timesteps,
        note=NOTES_ON_DEFAULTS.get((environment.id, algorithm.id), ""),
    )


def get_preset(environment: EnvSpec, algorithm: AlgorithmSpec, name: PresetName) -> Preset:
    """Return one preset of an environment and an algorithm.

    Raises:
        InputError: if they have no preset of this name.
    """
    existing = presets_for(environment, algorithm)
    if name not in existing:
        raise InputError(
            f"{algorithm.id} on {environment.id} has no preset {name}. "
            f"Choose one of: {', '.join(existing)}.",
            field="preset",
        )
    return existing[name]


def expectation(env_id: str, algorithm: str, name: PresetName) -> Expectation | None:
    """Return the measured results of a preset, or None if it was not measured."""
    found = _measured().get(f"{env_id} {algorithm} {name}")
    if found is None:
        return None
    seconds = sorted(seed["seconds"] for seed in found)
    return Expectation(
        scores=tuple(seed["score"] for seed in found), seconds=seconds[len(seconds) // 2]
    )


def reason_not_offered(env_id: str, algorithm: str, name: PresetName) -> str | None:
    """Return why a preset of the lab is not offered, or None if it is."""
    known = expectation(env_id, algorithm, name)
    if known is None:
        return "not measured yet"
    if len(known.scores) < MIN_SEEDS:
        return f"{len(known.scores)} of {MIN_SEEDS} seeds"
    target = published(env_id, algorithm)
    return "misses RL Zoo" if target is not None and known.score < target.score else None


def _completed(preset: Preset, environment: EnvSpec, algorithm: AlgorithmSpec) -> Preset:
    """Return a preset of SB3 or RL Zoo with SB3's defaults of all values that it leaves out."""
    of_environment = algorithm.defaults_for(environment)
    values: dict[str, Any] = {**sb3_defaults(algorithm), **preset.hyperparameters}
    if "net_arch" in of_environment and "net_arch" not in preset.hyperparameters:
        # SB3's layers depend on the observations, too.
        values["net_arch"] = of_environment["net_arch"]
    notes = [preset.note] if preset.note else []
    limit = max_buffer_size(environment)
    if values.get("buffer_size", 0) > limit:
        notes.append(_SMALLER_BUFFER.format(values["buffer_size"], limit))
        values["buffer_size"] = limit
    return replace(
        preset,
        n_envs=preset.n_envs or SB3_N_ENVS,
        hyperparameters=values,
        note=" ".join(notes),
    )


@cache
def _measured() -> dict[str, list[dict[str, float]]]:
    found: dict[str, list[dict[str, float]]] = json.loads(MEASURED.read_text())
    return found
