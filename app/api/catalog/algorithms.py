"""The algorithms on offer."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from app.api.shared.paging import TheShortPage, part_of
from app.api.shared.schemas import Listing
from app.catalog.algorithms.catalogue import CATALOGUE
from app.catalog.algorithms.spec import AlgorithmSpec


class HyperparameterShape(BaseModel):
    """One knob of an algorithm."""

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
    """Those that may have layers of their own."""


class Algorithm(BaseModel):
    """An algorithm that can be trained with."""

    id: str
    name: str
    summary: str
    action_space_types: list[str]
    default_n_envs: int
    hyperparameters: list[HyperparameterShape]

    @classmethod
    def of(cls, spec: AlgorithmSpec) -> "Algorithm":
        """Describe an algorithm."""
        return cls(
            id=spec.id,
            name=spec.name,
            summary=spec.summary,
            action_space_types=list(spec.action_kinds),
            default_n_envs=spec.default_n_envs,
            hyperparameters=[
                HyperparameterShape.model_validate(parameter, from_attributes=True)
                for parameter in spec.hyperparameters
            ],
        )


router = APIRouter(prefix="/algorithms", tags=["algorithms"])


@router.get("")
async def list_algorithms(page: TheShortPage) -> Listing[Algorithm]:
    """List the algorithms with all their hyperparameters."""
    return part_of([Algorithm.of(spec) for spec in CATALOGUE.values()], page)
