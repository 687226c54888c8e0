"""Routes of the algorithms."""

from typing import Any

from fastapi import APIRouter
from pydantic import Field

from app.api.shared import Listing, Shape, TheShortPage, part_of
from app.catalog.algorithms import ALGORITHMS


class HyperparameterShape(Shape):
    """One hyperparameter of an algorithm."""

    name: str
    type: str
    default: Any
    min: float | None
    max: float | None
    choices: list[str] | None
    scale: str
    nullable: bool
    description: str
    schedulable: bool
    networks: list[str]
    """Networks that may have their own layer sizes."""


class Algorithm(Shape):
    """An algorithm for training."""

    id: str
    name: str
    summary: str
    action_space_types: list[str] = Field(validation_alias="action_kinds")
    default_n_envs: int
    hyperparameters: list[HyperparameterShape]


router = APIRouter(prefix="/algorithms", tags=["algorithms"])


@router.get("")
async def list_algorithms(page: TheShortPage) -> Listing[Algorithm]:
    """List the algorithms with all their hyperparameters."""
    return part_of([Algorithm.of(spec) for spec in ALGORITHMS.values()], page)
