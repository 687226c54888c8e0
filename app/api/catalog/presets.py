"""Presets: complete hyperparameters, with the scores that they were measured to reach."""

from typing import Any

from fastapi import APIRouter, Query
from pydantic import BaseModel

from app.api.shared import TheLab, ThePrincipal, refusals
from app.catalog.algorithms import get_algorithm
from app.catalog.presets import Preset, PresetName, expectation, presets_for
from app.run_config import RunConfig, RunRequest

router = APIRouter(prefix="/presets", tags=["presets"], responses=refusals(422))


class PresetAnswer(BaseModel):
    """One preset with all its values."""

    total_timesteps: int
    n_envs: int
    hyperparameters: dict[str, Any]
    wrappers: dict[str, Any]
    expected_score: float | None
    """Mean return of 100 episodes after training, averaged over seeds; null: not measured."""
    expected_scores: list[float]
    """The mean return for each seed."""
    expected_seconds: float | None
    """CPU time of one training; null: not measured."""
    published_score: float | None
    """The score of one run that RL Zoo publishes for its values; not measured here."""
    note: str
    """What to know of it, such as values of RL Zoo that this lab doesn't have."""


@router.get("")
async def presets(
    lab: TheLab,
    principal: ThePrincipal,
    env_id: str = Query(max_length=200),
    algorithm: str = Query(max_length=200),
) -> dict[PresetName, PresetAnswer]:
    """Return the presets of an environment and an algorithm.

    `fast`, `stable` and `high_score` exist where they were measured, `rl_zoo` where RL Zoo has
    values, `sb3_defaults` always.
    """
    environment = await lab.environments.find(env_id, ask_worker=principal.may_work)
    chosen = get_algorithm(algorithm)
    chosen.check_fits(environment)
    existing = presets_for(environment, chosen)
    return {
        name: _answer(environment.id, chosen.id, name, preset) for name, preset in existing.items()
    }


def _answer(env_id: str, algorithm: str, name: PresetName, preset: Preset) -> PresetAnswer:
    config = RunConfig.from_request(RunRequest(env_id=env_id, algorithm=algorithm, preset=name))
    known = expectation(env_id, algorithm, name)
    values = config.model_dump()
    return PresetAnswer(
        total_timesteps=config.total_timesteps,
        n_envs=config.n_envs,
        hyperparameters=values["hyperparameters"],
        wrappers=values["wrappers"],
        expected_score=known.score if known else None,
        expected_scores=list(known.scores) if known else [],
        expected_seconds=known.seconds if known else None,
        published_score=preset.published.score if preset.published else None,
        note=preset.note,
    )
