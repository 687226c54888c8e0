"""Environments of every family live inside the lock; docs/security.md says what each needed."""

import pytest

from app.catalog.environments.catalogue import CATALOGUE
from app.protocol import commands
from app.workers.pool import LARGEST_PICTURE, WorkerPool

FIRST_OF_EACH = list({spec.family: spec for spec in reversed(CATALOGUE.values())}.values())


@pytest.mark.slow
async def test_one_of_each_family_is_made_played_and_drawn_behind_the_lock() -> None:
    installed = [spec.id for spec in FIRST_OF_EACH if spec.is_installed]
    pool = WorkerPool(memory_mb=2_000, side_slots=0)

    async with pool.job(commands.Picture(env_ids=tuple(installed))) as job:
        drawn = {
            env_id: len(await job.file("preview.png", at_most=LARGEST_PICTURE))
            for env_id in installed
        }

    assert len(drawn) >= 5
    assert min(drawn.values()) > 100
