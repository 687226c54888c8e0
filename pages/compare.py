"""`/compare`: compare runs and seed groups."""

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from nicegui import ui
from starlette.requests import Request

from app.access import Access
from app.analysis.comparison import MAX_ENTRIES, Entry, Missing, fold, read_keys, unfold
from app.core import InputError
from app.lab import Lab
from app.run_config import RunRequest
from components.base import EmptyState, Refusal, explained, load_content, panel
from components.compare import (
    AcrossEnvironments,
    Candidate,
    ChipHandlers,
    Chips,
    CompareCurves,
    Conclusions,
    CurveView,
    DifferencesTable,
    NumbersTable,
    RunSearch,
    SideBySide,
    candidates,
    fold_button,
)
from components.run import LineagePanel
from pages.layout import RESPONSE_TIMEOUT_S, frame
from pages.opener import this_principal
from storage.records import RunFilter, RunRecord

_REFRESH_EVERY_S = 2.0
_MAX_SEARCHED = 60
_MAX_FOUND = 8


def register(lab: Lab) -> None:
    """Add the page to the site."""

    @ui.page("/compare", response_timeout=RESPONSE_TIMEOUT_S)
    async def compare_page(request: Request) -> None:
        query = dict(request.query_params)
        with frame("Compare", lab, sandbox=await lab.sandbox()):
            page = ComparePage(lab, lab.access_for(this_principal()), query)
        await load_content(page.begin(query))


class ComparePage:
    """The compare page of one client."""

    def __init__(self, lab: Lab, access: Access, query: Mapping[str, str]) -> None:
        self._runs = lab.runs
        self._access = access
        self._evaluations = lab.evaluations
        self._comparing = lab.comparing_for(access)
        self._entries: Sequence[Entry] = ()
        self._missing: Sequence[Missing] = ()
        self._colours: dict[str, int] = {}
        self._reference = ""
        self._runs_part()
        with ui.element("div").classes("lab-compare") as self._results:
            self._curves_part(CurveView.read(query))
            self._tables_part()
        self._results.set_visibility(False)
        ui.timer(_REFRESH_EVERY_S, self._refresh_live)
        lab.runs.run_deleted.subscribe(self._run_deleted)
        access.run_changed.subscribe(self._run_changed)

    async def begin(self, query: Mapping[str, str]) -> None:
        """Show the runs and settings that the URL names."""
        try:
            keys = read_keys(query.get("runs", ""))
        except InputError as error:
            self._refusal.say(str(error))
            keys = read_keys(",".join(query["runs"].split(",")[:MAX_ENTRIES]))
        self._colours = _read_colours(keys, query.get("colours", ""))
        self._reference = query.get("against", "")
        await self._compare(keys)

    def _runs_part(self) -> None:
        with panel("Compared runs"):
            self._empty = EmptyState(
                "Nothing to compare yet",
                "Add two runs or seed groups below, or select them in the list of runs.",
            )
            on = ChipHandlers(
                remove=self._remove, unfold=self._unfold, set_reference=self._set_reference
            )
            self._chips = Chips(on)
            self._fold = fold_button(self._fold_seeds)
            self._refusal = Refusal()
            with ui.element("details").classes("lab-add-run") as self._adding:
                with ui.element("summary"):
                    ui.label("Add a run").classes("lab-inline")
                self._search = RunSearch(find=self._find, on_pick=self._add)

    def _curves_part(self, view: CurveView) -> None:
        with panel("Curves"):
            self._curves = CompareCurves(view, source=self._comparing)
            explained("compared_curves")

    def _tables_part(self) -> None:
        with panel("Side by side"):
            self._videos = SideBySide(self._runs, self._access, self._evaluations)
        with ui.element("div") as self._across_part, panel("Over several environments"):
            self._across = AcrossEnvironments()
            explained("across_environments")
        with panel("Which is better"):
            self._conclusions = Conclusions()
            explained("probability_of_improvement")
        with panel("Results", flush=True) as head:
            self._numbers = NumbersTable()
            self._numbers_link = _csv(head, "Results")
            with ui.element("div").classes("lab-table-note"):
                explained("compared_results")
        with panel("Settings that differ", flush=True) as head:
            self._differences = DifferencesTable()
            self._differences_link = _csv(head, "Settings that differ")
        with panel("Lineage"):
            self._lineage = LineagePanel(self._access, self._comparing, on_train=self._train)

    async def _compare(self, keys: Sequence[str]) -> None:
        """Show these runs and groups in this order."""
        self._entries, self._missing = await self._comparing.find(keys)
        found_keys = [entry.key for entry in self._entries]
        self._colours = _colours(found_keys, self._colours)
        self._reference = (
            self._reference if self._reference in found_keys else next(iter(found_keys), "")
        )
        self._show_chips()
        self._results.set_visibility(bool(found_keys))
        self._curves.show(self._entries, self._colours, self._reference)
        links = {"numbers": self._numbers_link, "differences": self._differences_link}
        for of, link in links.items():
            link.props(f'href="/api/compare/export?of={of}&runs={quote(",".join(found_keys))}"')
        await self._show_results()
        shown = [run.id for entry in self._entries for run in entry.runs[:1]]
        await self._videos.follow(self._entries, self._colours)
        await self._lineage.follow(shown, alone=False)
        await self._search.refresh()

    def _show_chips(self) -> None:
        self._empty.set_visibility(not self._entries and not self._missing)
        self._chips.show(self._entries, self._missing, self._colours, self._reference)
        self._fold.set_visibility(fold(self._entries) != [entry.key for entry in self._entries])
        if len(self._entries) < 2:
            self._adding.props("open")

    async def _show_results(self) -> None:
        if not self._entries:
            return
        comparison = await self._comparing.compare(self._entries, against=self._reference)
        self._numbers.show(comparison, self._colours)
        self._differences.show(comparison, self._colours)
        self._conclusions.show(comparison)
        self._across_part.set_visibility(comparison.across is not None)
        if comparison.across is not None:
            self._across.show(comparison.across, self._colours)

    @property
    def _keys(self) -> list[str]:
        return [entry.key for entry in self._entries] + [one.key for one in self._missing]

    async def _add(self, key: str) -> None:
        if len(self._keys) >= MAX_ENTRIES:
            self._refusal.say(
                f"At most {MAX_ENTRIES} runs and groups can be compared. Remove one first."
            )
            return
        await self._change([*self._keys, key])

    async def _remove(self, key: str) -> None:
        await self._change([one for one in self._keys if one != key])

    async def _unfold(self, key: str) -> None:
        keys = unfold(self._entries, key)
        if len(keys) > MAX_ENTRIES:
            self._refusal.say(
                f"That would be {len(keys)} runs and groups; at most {MAX_ENTRIES} can be compared."
            )
            return
        await self._change(keys)

    async def _fold_seeds(self) -> None:
        await self._change(fold(self._entries))

    async def _change(self, keys: Sequence[str]) -> None:
        self._refusal.say("")
        await self._compare(keys)

    async def _train(self, request: RunRequest) -> None:
        run, *_ = await self._access.create(request)
        ui.navigate.to(f"/runs/{run.id}")

    async def _set_reference(self, key: str) -> None:
        self._reference = key
        self._show_chips()
        self._curves.set_reference(key)
        await self._show_results()

    async def _find(self, text: str) -> Sequence[Candidate]:
        """Return runs that can be added; without text, those of the compared environment."""
        env_id = self._entries[0].env_id if self._entries and not text else None
        run_filter = RunFilter(text=text or None, env_id=env_id)
        page = await self._runs.list(self._access.seen(run_filter), limit=_MAX_SEARCHED)
        return candidates(page.items, self._keys)[:_MAX_FOUND]

    async def _refresh_live(self) -> None:
        """Update runs that are still training."""
        if not any(entry.is_live for entry in self._entries):
            return
        entries, missing = await self._comparing.find(self._keys)
        if missing and len(missing) != len(self._missing):
            await self._compare(self._keys)
            return
        self._entries = entries
        await self._curves.refresh_live(entries)
        await self._show_results()

    async def _run_deleted(self, run_id: str) -> None:
        """Refresh the page if a compared run was deleted."""
        if any(run.id == run_id for entry in self._entries for run in entry.runs):
            await self._compare(self._keys)

    async def _run_changed(self, run: RunRecord) -> None:
        """Refresh the page if a compared run was renamed or has ended."""
        if any(one.id == run.id for entry in self._entries for one in entry.runs):
            await self._compare(self._keys)


def _csv(head: ui.element, title: str) -> ui.element:
    with head:
        link = ui.element("a").classes("lab-tool").props(f'download aria-label="{title} as CSV"')
        with link:
            ui.label("CSV").classes("lab-inline")
    return link


def _read_colours(keys: Sequence[str], text: str) -> dict[str, int]:
    """Return the colours in the URL, so that a shared link shows the same colours."""
    numbers = [int(part) for part in text.split(",") if part.isdecimal() and len(part) < 4]
    if len(numbers) != len(keys) or len(set(numbers)) != len(numbers):
        return {}
    return dict(zip(keys, numbers, strict=True))


def _colours(keys: Sequence[str], known: Mapping[str, int]) -> dict[str, int]:
    """Assign a colour to each entry; entries that already have one keep it."""
    kept = {key: known[key] for key in keys if key in known}
    free = iter(number for number in range(len(keys)) if number not in kept.values())
    return {key: kept[key] if key in kept else next(free) for key in keys}
