"""Environments of every family live inside the lock; docs/security.md says what each needed."""

import pytest

from app.catalog.environments.catalogue import CATALOGUE
from app.protocol import commands, messages
from app.workers.local_worker import LocalWorker
from app.workers.pictures import receive_picture

FIRST_OF_EACH = list({spec.family: spec for spec in reversed(CATALOGUE.values())}.values())


@pytest.mark.slow
async def test_one_of_each_family_is_made_played_and_drawn_behind_the_lock() -> None:
    installed = [spec.id for spec in FIRST_OF_EACH if spec.is_installed]
    worker = LocalWorker(memory_mb=2_000)
    try:
        await worker.start()
        worker.send(messages.encode(commands.Picture(env_ids=tuple(installed))))
        drawn = {env_id: len(await receive_picture(worker)) for env_id in installed}
    finally:
        worker.kill()
        await worker.wait()

    assert len(drawn) >= 5
    assert min(drawn.values()) > 100
