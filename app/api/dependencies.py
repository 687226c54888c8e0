"""What every route may ask for."""

import asyncio
from collections.abc import Sequence
from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

from app.api.schemas import Run
from app.lab import Lab
from app.training.trainer import Trainer
from storage.records import RunRecord

LARGEST = 2**53
"""No line and no event has a larger number."""


def _lab(connection: HTTPConnection) -> Lab:
    lab: Lab = connection.app.state.lab
    return lab


def _trainer(connection: HTTPConnection) -> Trainer:
    return _lab(connection).trainer


TheLab = Annotated[Lab, Depends(_lab)]
TheTrainer = Annotated[Trainer, Depends(_trainer)]


async def describe(run: RunRecord, trainer: Trainer) -> Run:
    """Return a run as the API answers it, with the files it has right now."""
    return (await describe_all([run], trainer))[0]


async def describe_all(runs: Sequence[RunRecord], trainer: Trainer) -> list[Run]:
    """Return several runs, looking at the files of all of them in one go."""

    def look() -> list[Run]:
        return [Run.of(run, trainer.folder(run.id).artifacts()) for run in runs]

    return await asyncio.to_thread(look)
