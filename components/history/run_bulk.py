"""What can be done with one run or many at once."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from nicegui import ui

from app.access.run_access import RunAccess
from app.run_config.labels import RunLabels
from components.base.refusal import Refusal
from components.history.label_dialogs import Labels, ask_for_name, ask_for_note, ask_for_tags
from components.history.undo_bar import UndoBar
from components.run.share_dialog import ask_for_readers
from storage.errors import LabError
from storage.records.runs import RunRecord

_SHOWN_PROBLEMS = 3


class RunBulk:
    """Asks what is to be asked, does it with each run, and says with which it couldn't."""

    def __init__(self, trainer: RunAccess, refusal: Refusal) -> None:
        self._trainer = trainer
        self._refusal = refusal
        self._undo = UndoBar(on_undo=self._restore)
        self._dialogs = ui.element()

    async def act(self, what: str, runs: Sequence[RunRecord]) -> bool:
        """Do something with runs; return whether anything was done."""
        self._refusal.say("")
        match what:
            case "delete":
                return await self._delete(runs)
            case "share":
                return await self._share(runs[0])
            case "archive" | "unarchive":
                label = RunLabels(archived=what == "archive")
                return await self._write({run.id: label for run in runs}, runs)
        try:
            # As they are now: they may have been labelled since they were listed.
            fresh = [await self._trainer.get(run.id) for run in runs]
        except LabError as error:
            self._refusal.say(str(error))
            return False
        with self._dialogs:
            labels = await _ask(what, fresh)
        return labels is not None and await self._write(labels, runs)

    async def _write(self, labels: Labels, runs: Sequence[RunRecord]) -> bool:
        changes = {run_id: label.columns() for run_id, label in labels.items()}
        return bool(
            await self._each(
                runs, lambda run: self._trainer.change(run.id, **changes[run.id]), "changed"
            )
        )

    async def _delete(self, runs: Sequence[RunRecord]) -> bool:
        deleted = await self._each(runs, lambda run: self._trainer.delete(run.id), "deleted")
        if deleted:
            self._undo.offer(deleted)
        return bool(deleted)

    async def _restore(self, deleted: Sequence[RunRecord]) -> None:
        await self._each(deleted, self._trainer.restore, "brought back")

    async def _share(self, run: RunRecord) -> bool:
        readers = self._trainer.readers_of(run) or ()
        with self._dialogs:
            await ask_for_readers(run, readers, share=partial(self._trainer.share, run.id))
        return False

    async def _each(
        self,
        runs: Sequence[RunRecord],
        do: Callable[[RunRecord], Awaitable[object]],
        done: str,
    ) -> list[RunRecord]:
        """Return the runs with which it was done, and say why it wasn't with others."""
        fine: list[RunRecord] = []
        problems: list[str] = []
        for run in runs:
            try:
                await do(run)
            except LabError as error:
                problems.append(str(error))
            else:
                fine.append(run)
        if len(problems) == len(runs) == 1:
            self._refusal.say(problems[0])
        elif problems:
            words = " ".join(dict.fromkeys(problems[:_SHOWN_PROBLEMS]))
            self._refusal.say(f"{len(problems)} of {len(runs)} were not {done}. {words}")
        return fine


async def _ask(what: str, runs: Sequence[RunRecord]) -> Labels | None:
    match what:
        case "rename":
            return await ask_for_name(runs[0])
        case "tag":
            return await ask_for_tags(runs)
    return await ask_for_note(runs)
