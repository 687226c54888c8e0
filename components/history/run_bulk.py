"""Actions on one or more runs."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from nicegui import ui

from app.access import Access
from app.run_config import RunLabels
from app.runs import RunService
from components.base import Refusal
from components.history.label_dialogs import Labels, ask_for_name, ask_for_note, ask_for_tags
from components.history.undo_bar import UndoBar
from components.run import ask_for_readers
from storage import LabError
from storage.records import RunRecord

_SHOWN_PROBLEMS = 3


class RunBulk:
    """Applies an action to each run, after a dialog where needed, and reports failures."""

    def __init__(self, runs: RunService, access: Access, refusal: Refusal) -> None:
        self._runs = runs
        self._access = access
        self._refusal = refusal
        self._undo = UndoBar(on_undo=self._restore)
        self._dialogs = ui.element()

    async def act(self, action: str, runs: Sequence[RunRecord]) -> bool:
        """Apply an action to runs; return whether any of them changed."""
        self._refusal.say("")
        match action:
            case "delete":
                return await self._delete(runs)
            case "share":
                return await self._share(runs[0])
            case "archive" | "unarchive":
                label = RunLabels(archived=action == "archive")
                return await self._write({run.id: label for run in runs}, runs)
        try:
            # Read them again: their labels may have changed since they were listed.
            current = [await self._access.visible(run.id) for run in runs]
        except LabError as error:
            self._refusal.say(str(error))
            return False
        with self._dialogs:
            labels = await _ask(action, current)
        return labels is not None and await self._write(labels, runs)

    async def _write(self, labels: Labels, runs: Sequence[RunRecord]) -> bool:
        changes = {run_id: label.columns() for run_id, label in labels.items()}

        async def write(run: RunRecord) -> None:
            values = changes[run.id]
            async with self._access.changing(run.id, "run_changed", changed=values) as changeable:
                await self._runs.change(changeable, **values)

        return bool(await self._each(runs, write, "changed"))

    async def _delete(self, runs: Sequence[RunRecord]) -> bool:
        async def delete(run: RunRecord) -> None:
            async with self._access.deleting(run.id) as changeable:
                await self._runs.delete(changeable)

        deleted = await self._each(runs, delete, "deleted")
        if deleted:
            self._undo.offer(deleted)
        return bool(deleted)

    async def _restore(self, deleted: Sequence[RunRecord]) -> None:
        async def restore(run: RunRecord) -> None:
            async with self._access.restoring(run) as changeable:
                await self._runs.restore(changeable)

        await self._each(deleted, restore, "restored")

    async def _share(self, run: RunRecord) -> bool:
        readers = self._access.readers.shared_with(run) or ()
        with self._dialogs:
            await ask_for_readers(run, readers, share=partial(self._access.share, run.id))
        return False

    async def _each(
        self,
        runs: Sequence[RunRecord],
        do: Callable[[RunRecord], Awaitable[object]],
        past_participle: str,
    ) -> list[RunRecord]:
        """Return the runs for which `do` succeeded, and show the errors of the others."""
        succeeded: list[RunRecord] = []
        problems: list[str] = []
        for run in runs:
            try:
                await do(run)
            except LabError as error:
                problems.append(str(error))
            else:
                succeeded.append(run)
        if len(problems) == len(runs) == 1:
            self._refusal.say(problems[0])
        elif problems:
            words = " ".join(dict.fromkeys(problems[:_SHOWN_PROBLEMS]))
            self._refusal.say(f"{len(problems)} of {len(runs)} were not {past_participle}. {words}")
        return succeeded


async def _ask(action: str, runs: Sequence[RunRecord]) -> Labels | None:
    match action:
        case "rename":
            return await ask_for_name(runs[0])
        case "tag":
            return await ask_for_tags(runs)
    return await ask_for_note(runs)
