"""Who gets the few workers beside training."""

import asyncio
from collections.abc import Callable

from app.workers.side_slots import SideSlots


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


class Places:
    """Somebody who takes a place and leaves it when told to."""

    def __init__(self, slots: SideSlots, *, test: bool) -> None:
        self.is_in = False
        self.leave = asyncio.Event()
        self._slots = slots
        self.task = asyncio.ensure_future(self._stay(test))

    async def _stay(self, test: bool) -> None:
        async with self._slots.for_a_test() if test else self._slots:
            self.is_in = True
            await self.leave.wait()
            self.is_in = False


def watcher(slots: SideSlots) -> Places:
    return Places(slots, test=False)


def judge(slots: SideSlots) -> Places:
    return Places(slots, test=True)


async def enter(slots: SideSlots, *kinds: Callable[[SideSlots], Places]) -> list[Places]:
    entered = []
    for kind in kinds:
        entered.append(kind(slots))
        await settled()
    return entered


async def test_no_more_helpers_than_places() -> None:
    slots = SideSlots(2)

    people = await enter(slots, watcher, judge, watcher, judge)

    assert [one.is_in for one in people] == [True, True, False, False]
    people[0].leave.set()
    await settled()
    assert [one.is_in for one in people] == [False, True, False, True]


async def test_who_watches_is_asked_to_leave_for_a_test_and_comes_back_after_it() -> None:
    slots = SideSlots(1)
    (first,) = await enter(slots, watcher)
    asked = asyncio.ensure_future(slots.until_wanted())
    await settled()
    assert not asked.done()

    (test,) = await enter(slots, judge)
    assert asked.done()
    first.leave.set()
    (again,) = await enter(slots, watcher)

    assert (test.is_in, again.is_in) == (True, False)
    test.leave.set()
    await settled()
    assert again.is_in


async def test_there_is_a_place_for_a_test_where_nothing_is_shown_live() -> None:
    slots = SideSlots(0)

    people = await enter(slots, watcher, judge)

    assert [one.is_in for one in people] == [False, True]


async def test_who_gives_up_takes_no_place_along() -> None:
    slots = SideSlots(1)
    first, second = await enter(slots, judge, judge)

    second.task.cancel()
    first.leave.set()
    await settled()
    (third,) = await enter(slots, judge)

    assert third.is_in
    assert slots.locked()


async def test_a_place_that_is_left_over_is_taken_from_nobody_and_given_up_at_once() -> None:
    slots = SideSlots(1)
    left = asyncio.Event()

    async def film() -> None:
        async with slots.left_over():
            await slots.until_displaced()
            left.set()

    filming = asyncio.ensure_future(film())
    await settled()
    (watching,) = await enter(slots, watcher)

    assert watching.is_in
    assert left.is_set()
    await filming
    again = asyncio.ensure_future(film())
    left.clear()
    await settled()
    (judging,) = await enter(slots, judge)
    assert (judging.is_in, left.is_set()) == (False, False)
    watching.leave.set()
    await settled()
    assert (judging.is_in, left.is_set()) == (True, False)
    again.cancel()


async def test_without_places_nothing_is_left_over() -> None:
    slots = SideSlots(0)
    waiting = asyncio.ensure_future(slots.left_over().__aenter__())

    await settled()

    assert not waiting.done()
    waiting.cancel()
