"""Evaluations from their beginning to their end, without anybody who plays them."""

import asyncio
import threading
from pathlib import Path

import pytest

from app.evaluation.evaluation import (
    Evaluation,
    EvaluationOptions,
    EvaluationStatus,
    begin_evaluation,
    summarise,
)
from app.evaluation.register import EvaluationRegister, UnderWay
from app.evaluation.shelf import EvaluationShelf
from app.protocol import messages
from app.workers.video import Filmed
from storage.errors import EvaluationNotFoundError, NotWrittenError
from storage.files.lab_folder import LabFolder


@pytest.fixture
def register(runs_dir: Path) -> EvaluationRegister:
    (runs_dir / "run").mkdir(parents=True)
    return EvaluationRegister(EvaluationShelf(LabFolder(runs_dir), videos_kept=3))


async def forever(_: UnderWay) -> None:
    await asyncio.Event().wait()


async def begin(register: EvaluationRegister) -> UnderWay:
    return await register.begin(begin_evaluation("run", EvaluationOptions(episodes=1)), forever)


async def complete(register: EvaluationRegister, known: UnderWay) -> Evaluation:
    said = messages.Evaluated(timesteps=1, returns=(2.0,), lengths=(2,), truncated=0)
    return await register.complete(known, summarise(known.evaluation, said), Filmed())


class SlowShelf(EvaluationShelf):
    """One whose disk was read, but whose answer is still on its way."""

    def __init__(self, folder: LabFolder) -> None:
        super().__init__(folder, videos_kept=3)
        self.was_read, self.may_answer = threading.Event(), threading.Event()

    def load_all(self, run_id: str) -> list[Evaluation]:
        found = super().load_all(run_id)
        self.was_read.set()
        self.may_answer.wait()
        return found


async def test_one_that_ends_while_the_list_is_read_is_in_it(runs_dir: Path) -> None:
    (runs_dir / "run").mkdir(parents=True)
    shelf = SlowShelf(LabFolder(runs_dir))
    register = EvaluationRegister(shelf)
    known = await begin(register)

    asked = asyncio.ensure_future(register.list("run"))
    await asyncio.to_thread(shelf.was_read.wait)
    await complete(register, known)
    shelf.may_answer.set()

    assert [found.id for found in await asked] == [known.evaluation.id]


@pytest.mark.parametrize("early", [True, False])
async def test_who_sees_the_end_finds_the_last_words_in_the_log(
    register: EvaluationRegister, early: bool
) -> None:
    known = await begin(register)
    said = messages.Evaluated(timesteps=1, returns=(2.0,), lengths=(2,), truncated=0)
    seen: list[EvaluationStatus] = []

    async def log(_: Evaluation) -> None:
        seen.append((await register.get("run", known.evaluation.id)).status)

    if early:
        await register.end(known, EvaluationStatus.FAILED, "Why.", log)
    else:
        await register.complete(known, summarise(known.evaluation, said), Filmed(), log)

    assert seen == [EvaluationStatus.QUEUED]
    assert (await register.get("run", known.evaluation.id)).status.is_over


async def test_one_that_is_ended_early_stays_as_what_it_became(
    register: EvaluationRegister,
) -> None:
    known = await begin(register)
    assert register.under_way() == [known.evaluation]

    await register.end(known, EvaluationStatus.CANCELLED)

    assert known.task is not None
    assert known.task.cancelled()
    assert register.under_way() == []
    assert register.find(known.evaluation.id) is None
    (found,) = await register.list("run")
    assert (found.status, found.returns) == (EvaluationStatus.CANCELLED, ())


async def test_one_that_is_played_can_not_be_cancelled_any_more(
    register: EvaluationRegister,
) -> None:
    known = await begin(register)
    storing = asyncio.ensure_future(complete(register, known))
    await asyncio.sleep(0)

    assert register.find(known.evaluation.id) is None
    assert (await storing).status is EvaluationStatus.COMPLETED
    assert (await register.get("run", known.evaluation.id)).mean_return == 2.0


async def test_what_is_under_way_when_the_server_ends_has_failed(
    register: EvaluationRegister, runs_dir: Path
) -> None:
    known = await begin(register)

    await register.close()

    (found,) = await register.list("run")
    assert (found.id, found.status) == (known.evaluation.id, EvaluationStatus.FAILED)
    assert "The server ended" in (found.error or "")
    assert not list((runs_dir / "run" / "evaluations").glob("*.pending"))


async def test_an_end_that_can_not_be_stored_is_seen_all_the_same(
    register: EvaluationRegister, runs_dir: Path
) -> None:
    known = await begin(register)
    (runs_dir / "run").rename(runs_dir / "taken-away")

    await register.end(known, EvaluationStatus.FAILED, "The disk is full.")

    (found,) = await register.list("run")
    assert (found.status, found.error) == (EvaluationStatus.FAILED, "The disk is full.")
    with pytest.raises(NotWrittenError):
        await begin(register)


async def test_what_a_deleted_run_had_under_way_is_forgotten(register: EvaluationRegister) -> None:
    known = await begin(register)

    register.forget_run("run")
    await asyncio.sleep(0)

    assert known.task is not None
    assert known.task.cancelled() or known.task.cancelling()
    with pytest.raises(EvaluationNotFoundError):
        await register.get("run", known.evaluation.id)


async def test_a_video_can_be_pinned_before_there_is_one(register: EvaluationRegister) -> None:
    known = await begin(register)

    await register.pin("run", known.evaluation.id, on=True)

    assert (await complete(register, known)).pinned
