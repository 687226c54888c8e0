"""The store of evaluations over their whole life, without workers."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.evaluation import store as evaluation_store
from app.evaluation.evaluation import (
    Evaluation,
    EvaluationRequest,
    EvaluationStatus,
    begin_evaluation,
    summarise,
)
from app.evaluation.records import EvaluationRecords
from app.evaluation.store import ActiveEvaluation, EvaluationStore
from app.protocol import messages
from app.workers.video import RecordedVideo
from storage.errors import EvaluationNotFoundError, NotWrittenError, RunNotFoundError
from storage.files.evaluation_files import EvaluationFiles
from storage.files.lab_folder import LabFolder


class Log:
    """The event log of all runs; tests replace `on_entry`, which runs before an entry is added."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, str, str]] = []

    async def __call__(self, run_id: str, event_type: str, message: str, **_: Any) -> None:
        await self.on_entry()
        self.entries.append((run_id, event_type, message))

    async def on_entry(self) -> None:
        pass


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def folder(runs_dir: Path) -> LabFolder:
    (runs_dir / "run").mkdir(parents=True)
    return LabFolder(runs_dir)


@pytest.fixture
def store(folder: LabFolder, log: Log) -> EvaluationStore:
    return EvaluationStore(folder, log, videos_kept=3)


async def forever(_: ActiveEvaluation) -> None:
    await asyncio.Event().wait()


async def begin(store: EvaluationStore, run_id: str = "run") -> ActiveEvaluation:
    return await store.begin(begin_evaluation(run_id, EvaluationRequest(episodes=1)), forever)


async def complete(store: EvaluationStore, active: ActiveEvaluation) -> Evaluation:
    result = messages.Evaluated(timesteps=1, returns=(2.0,), lengths=(2,), truncated=0)
    await store.complete(active, summarise(active.evaluation, result), RecordedVideo())
    return active.evaluation


@contextmanager
def counted_reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    read, reads = Path.read_bytes, list[Path]()

    def counting(path: Path) -> bytes:
        reads.append(path)
        return read(path)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", counting)
        yield reads


async def test_a_change_reads_no_file_whatever_the_number_of_open_pages(
    store: EvaluationStore, folder: LabFolder, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        await complete(store, await begin(store))
    store = EvaluationStore(folder, log, videos_kept=3)
    pages: list[asyncio.Future[Any]] = []
    for _ in range(10):
        store.changed.subscribe(lambda run: pages.append(asyncio.ensure_future(store.list(run))))

    with counted_reads(monkeypatch) as reads:
        active = await begin(store)
        first = await asyncio.gather(*pages)
        assert len(reads) == 3
        await store.change(active, status=EvaluationStatus.RUNNING)
        await complete(store, active)
        second = await asyncio.gather(*pages)

    assert len(reads) == 3
    assert {len(evaluations) for evaluations in first} == {4}
    assert second[-1][0] == active.evaluation


async def test_only_the_most_recently_used_runs_are_cached(
    store: EvaluationStore, folder: LabFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation_store, "RUNS_IN_MEMORY", 2)
    for run_id in ("one", "two", "three"):
        (folder.path / run_id).mkdir()
        await complete(store, await begin(store, run_id))

    with counted_reads(monkeypatch) as reads:
        for run_id in ("two", "three", "one"):
            assert len(await store.list(run_id)) == 1

    assert [path.parent.parent.name for path in reads] == ["one"]


async def test_a_run_restored_from_the_trash_has_its_evaluations(
    store: EvaluationStore, folder: LabFolder
) -> None:
    kept = await complete(store, await begin(store))

    folder.move_to_trash("run")
    assert await store.list("run") == [kept]  # A page that has not received the event yet.
    store.drop_run("run")
    assert await store.list("run") == []
    folder.restore_from_trash("run")

    assert await store.list("run") == [kept]


async def test_evaluations_of_an_imported_run_are_found_once_its_folder_exists(
    store: EvaluationStore, folder: LabFolder
) -> None:
    kept = await complete(store, await begin(store))
    assert await store.list("imported") == []

    (folder.path / "run").rename(folder.path / "imported")

    assert [one.id for one in await store.list("imported")] == [kept.id]


async def test_evaluations_that_a_killed_server_left_fail_even_if_they_were_listed_before(
    folder: LabFolder, store: EvaluationStore, log: Log
) -> None:
    active = await begin(store)
    another = EvaluationStore(folder, log, videos_kept=3)
    assert await another.list("run") == []

    await another.open()

    (failed,) = await another.list("run")
    assert (failed.id, failed.status) == (active.evaluation.id, EvaluationStatus.FAILED)


async def test_an_evaluation_that_ends_while_the_list_is_read_is_listed(
    store: EvaluationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    was_read, may_answer = threading.Event(), threading.Event()
    read_all = EvaluationFiles.load_all

    def slow(files: EvaluationFiles) -> list[bytes | None]:
        contents = read_all(files)
        was_read.set()
        may_answer.wait()
        return contents

    monkeypatch.setattr(evaluation_store, "RUNS_IN_MEMORY", 1)
    active = await begin(store)
    await store.list("another")
    monkeypatch.setattr(EvaluationFiles, "load_all", slow)

    listing = asyncio.ensure_future(store.list("run"))
    await asyncio.to_thread(was_read.wait)
    ending = asyncio.ensure_future(complete(store, active))
    await asyncio.sleep(0)
    may_answer.set()
    await ending

    assert [one.id for one in await listing] == [active.evaluation.id]


@pytest.mark.parametrize("early", [True, False])
async def test_the_end_of_an_evaluation_is_logged_before_it_is_visible(
    store: EvaluationStore, log: Log, early: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    active = await begin(store)
    seen: list[EvaluationStatus] = []

    async def note_status() -> None:
        seen.append((await store.get("run", active.evaluation.id)).status)

    monkeypatch.setattr(log, "on_entry", note_status)

    if early:
        await store.end(active, EvaluationStatus.FAILED, "Why.")
    else:
        await complete(store, active)

    assert seen == [EvaluationStatus.QUEUED]
    assert (await store.get("run", active.evaluation.id)).status.is_over
    event = ("evaluation_failed", "Evaluation failed: Why.")
    assert log.entries == [
        ("run", *(event if early else ("evaluation_completed", "Evaluation complete: mean 2.0.")))
    ]


async def test_a_cancelled_evaluation_is_listed_as_cancelled(store: EvaluationStore) -> None:
    active = await begin(store)
    assert store.active() == [active.evaluation]

    await store.end(active, EvaluationStatus.CANCELLED)

    assert active.task is not None
    assert active.task.cancelled()
    assert store.active() == []
    assert store.find(active.evaluation.id) is None
    (cancelled,) = await store.list("run")
    assert (cancelled.status, cancelled.returns) == (EvaluationStatus.CANCELLED, ())


async def test_an_end_is_stored_even_if_its_caller_is_cancelled(store: EvaluationStore) -> None:
    active = await begin(store)
    caller = asyncio.ensure_future(store.end(active, EvaluationStatus.CANCELLED))
    await asyncio.sleep(0)

    caller.cancel()
    await store.close()

    assert active.evaluation.status is EvaluationStatus.CANCELLED
    assert (await store.get("run", active.evaluation.id)).status is EvaluationStatus.CANCELLED


async def test_an_evaluation_whose_request_is_cancelled_is_carried_out(
    store: EvaluationStore,
) -> None:
    has_begun = asyncio.Event()

    async def work(_: ActiveEvaluation) -> None:
        has_begun.set()

    begin = store.begin(begin_evaluation("run", EvaluationRequest(episodes=1)), work)
    request = asyncio.ensure_future(begin)
    await asyncio.sleep(0)

    request.cancel()

    await has_begun.wait()


async def test_an_evaluation_of_a_run_deleted_meanwhile_is_not_begun(
    store: EvaluationStore,
) -> None:
    request = asyncio.ensure_future(begin(store))
    await asyncio.sleep(0)

    store.drop_run("run")

    with pytest.raises(RunNotFoundError):
        await request


async def test_an_evaluation_that_is_being_stored_can_not_be_cancelled(
    store: EvaluationStore,
) -> None:
    active = await begin(store)
    storing = asyncio.ensure_future(complete(store, active))
    await asyncio.sleep(0)

    assert store.find(active.evaluation.id) is None
    assert (await storing).status is EvaluationStatus.COMPLETED
    assert (await store.get("run", active.evaluation.id)).mean_return == 2.0


async def test_unfinished_evaluations_fail_when_the_server_ends(
    store: EvaluationStore, runs_dir: Path, log: Log
) -> None:
    active = await begin(store)

    await store.close()

    (failed,) = await store.list("run")
    assert (failed.id, failed.status) == (active.evaluation.id, EvaluationStatus.FAILED)
    assert "The server ended" in (failed.error or "")
    assert not list((runs_dir / "run" / "evaluations").glob("*.pending"))
    assert log.entries == []


async def test_an_evaluation_whose_work_raises_fails(store: EvaluationStore, log: Log) -> None:
    async def work(_: ActiveEvaluation) -> None:
        raise OSError(28, "No space left on device")

    active = await store.begin(begin_evaluation("run", EvaluationRequest()), work)
    await active.over.wait()

    reason = "Its result could not be stored (No space left on device)."
    assert (active.evaluation.status, active.evaluation.error) == ("failed", reason)
    assert log.entries == [("run", "evaluation_failed", f"Evaluation failed: {reason}")]


async def test_an_end_that_can_not_be_stored_is_visible_nevertheless(
    store: EvaluationStore, runs_dir: Path
) -> None:
    active = await begin(store)
    (runs_dir / "run").rename(runs_dir / "taken-away")

    await store.end(active, EvaluationStatus.FAILED, "The disk is full.")

    (failed,) = await store.list("run")
    assert (failed.status, failed.error) == (EvaluationStatus.FAILED, "The disk is full.")
    with pytest.raises(NotWrittenError):
        await begin(store)


async def test_the_active_evaluation_of_a_deleted_run_is_cancelled_and_dropped(
    store: EvaluationStore,
) -> None:
    active = await begin(store)

    store.drop_run("run")
    await asyncio.sleep(0)

    assert active.task is not None
    assert active.task.cancelled() or active.task.cancelling()
    assert active.over.is_set()
    with pytest.raises(EvaluationNotFoundError):
        await store.get("run", active.evaluation.id)


async def test_an_evaluation_can_be_pinned_before_it_has_a_video(store: EvaluationStore) -> None:
    active = await begin(store)

    await store.pin("run", active.evaluation.id, on=True)

    assert (await complete(store, active)).pinned


async def test_a_pin_set_while_the_evaluation_is_being_stored_is_kept(
    store: EvaluationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    active = await begin(store)
    may_write, save = threading.Event(), EvaluationRecords.save

    def slow(*arguments: Any) -> Evaluation:
        may_write.wait()
        return save(*arguments)

    monkeypatch.setattr(EvaluationRecords, "save", slow)
    storing = asyncio.ensure_future(complete(store, active))
    await asyncio.sleep(0)
    pinning = asyncio.ensure_future(store.pin("run", active.evaluation.id, on=True))
    await asyncio.sleep(0)
    may_write.set()
    await asyncio.gather(storing, pinning)

    assert (await store.get("run", active.evaluation.id)).pinned


async def test_a_change_that_can_not_be_stored_is_not_visible(
    store: EvaluationStore, runs_dir: Path
) -> None:
    active = await begin(store)
    before = replace(active.evaluation)
    (runs_dir / "run").rename(runs_dir / "taken-away")

    with pytest.raises(FileNotFoundError):
        await store.change(active, status=EvaluationStatus.RUNNING)

    assert await store.list("run") == [before]
