"""The presets of every environment and algorithm: tuned ones, or else derived from defaults."""

import json
from functools import cache
from pathlib import Path

from app.catalog.algorithms import AlgorithmSpec
from app.catalog.environments import EnvSpec
from app.catalog.presets.box2d import BOX2D
from app.catalog.presets.classic_control import CLASSIC_CONTROL
from app.catalog.presets.spec import Expectation, Preset, PresetName

TUNED = {**CLASSIC_CONTROL, **BOX2D}
"""The fast, stable and high-score presets by environment and algorithm."""

MEASURED = Path(__file__).parent / "measured.json"
"""The results of `make presets`."""

_SHARE_OF_DEFAULT = {PresetName.FAST: 0.5, PresetName.STABLE: 1.0, PresetName.HIGH_SCORE: 2.0}


def presets_for(environment: EnvSpec, algorithm: AlgorithmSpec) -> dict[PresetName, Preset]:
    """Return the three presets of an environment and an algorithm."""
    tuned = TUNED.get((environment.id, algorithm.id))
    if tuned is not None:
        return dict(zip(PresetName, tuned, strict=True))
    return {name: _derived(environment, algorithm, name) for name in PresetName}


def expectation(env_id: str, algorithm: str, name: PresetName) -> Expectation | None:
    """Return the measured results of a preset, or None if it was not measured."""
    found = _measured().get(f"{env_id} {algorithm} {name}")
    if found is None:
        return None
    seconds = sorted(seed["seconds"] for seed in found)
    return Expectation(
        scores=tuple(seed["score"] for seed in found), seconds=seconds[len(seconds) // 2]
    )


def _derived(environment: EnvSpec, algorithm: AlgorithmSpec, name: PresetName) -> Preset:
    """Return the defaults; for a high score twice the budget and a decaying learning rate."""
    rate = next(p.default for p in algorithm.hyperparameters if p.name == "learning_rate")
    decay = {"learning_rate": f"{rate:g} -> 0"} if name is PresetName.HIGH_SCORE else {}
    steps = int(environment.default_timesteps * _SHARE_OF_DEFAULT[name])
    return Preset(total_timesteps=steps, hyperparameters=decay)


@cache
def _measured() -> dict[str, list[dict[str, float]]]:
    found: dict[str, list[dict[str, float]]] = json.loads(MEASURED.read_text())
    return found
