"""Presets: values that go together, and what they were measured to reach."""

from typing import Any

from fastapi import APIRouter, Query
from pydantic import BaseModel

from app.api.shared.dependencies import TheLab, TheVisitor
from app.api.shared.errors import ErrorAnswer
from app.catalog.algorithms.catalogue import get_algorithm
from app.catalog.presets.catalogue import expectation, presets_for
from app.catalog.presets.spec import PresetName
from app.run_config.config import RunConfig, RunRequest

router = APIRouter(prefix="/presets", tags=["presets"], responses={422: {"model": ErrorAnswer}})


class PresetAnswer(BaseModel):
    """One preset, complete."""

    total_timesteps: int
    n_envs: int
    hyperparameters: dict[str, Any]
    wrappers: dict[str, Any]
    expected_score: float | None
    """The mean over seeds of 100 episodes after training; null where nobody measured."""
    expected_scores: list[float]
    """The same for each seed."""
    expected_seconds: float | None
    """Processor time of one training where it was measured."""


@router.get("")
async def presets(
    lab: TheLab,
    visitor: TheVisitor,
    env_id: str = Query(max_length=200),
    algorithm: str = Query(max_length=200),
) -> dict[PresetName, PresetAnswer]:
    """Return `fast`, `stable` and `high_score` of an environment and an algorithm."""
    environment = await lab.environments.find(env_id, may_ask=visitor.may_work)
    chosen = get_algorithm(algorithm)
    chosen.check_fits(environment)
    return {
        name: _answer(environment.id, chosen.id, name) for name in presets_for(environment, chosen)
    }


def _answer(env_id: str, algorithm: str, name: PresetName) -> PresetAnswer:
    config = RunConfig.from_request(RunRequest(env_id=env_id, algorithm=algorithm, preset=name))
    known = expectation(env_id, algorithm, name)
    whole = config.model_dump()
    return PresetAnswer(
        total_timesteps=config.total_timesteps,
        n_envs=config.n_envs,
        hyperparameters=whole["hyperparameters"],
        wrappers=whole["wrappers"],
        expected_score=known.score if known else None,
        expected_scores=list(known.scores) if known else [],
        expected_seconds=known.seconds if known else None,
    )
