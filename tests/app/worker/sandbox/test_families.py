"""Environments of every family work in the sandbox; docs/security.md has what each needs."""

import pytest

from app.catalog.environments.catalogue import ENVIRONMENTS
from app.protocol import commands
from app.workers.pool import MAX_IMAGE_BYTES, WorkerPool

FIRST_OF_EACH = list({spec.family: spec for spec in reversed(ENVIRONMENTS.values())}.values())


@pytest.mark.slow
async def test_one_environment_of_each_family_is_rendered_in_the_sandbox() -> None:
    installed = [spec.id for spec in FIRST_OF_EACH if spec.is_installed]
    pool = WorkerPool(memory_mb=2_000, side_slots=0)

    async with pool.job(commands.RenderPreviews(env_ids=tuple(installed))) as job:
        sizes = {
            env_id: len(await job.file("preview.png", at_most=MAX_IMAGE_BYTES))
            for env_id in installed
        }

    assert len(sizes) >= 5
    assert min(sizes.values()) > 100
