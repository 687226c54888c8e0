"""What every route may ask for."""

import asyncio
from typing import Annotated

from fastapi import Depends
from starlette.requests import HTTPConnection

from app.api.schemas import Run
from app.lab import Lab
from app.training.trainer import Trainer
from storage.records import RunRecord


def _lab(connection: HTTPConnection) -> Lab:
    lab: Lab = connection.app.state.lab
    return lab


def _trainer(connection: HTTPConnection) -> Trainer:
    return _lab(connection).trainer


TheLab = Annotated[Lab, Depends(_lab)]
TheTrainer = Annotated[Trainer, Depends(_trainer)]


async def describe(run: RunRecord, trainer: Trainer) -> Run:
    """Return a run as the API answers it, with the files it has right now."""
    files = await asyncio.to_thread(lambda: trainer.folder(run.id).artifacts)
    return Run.of(run, files)
