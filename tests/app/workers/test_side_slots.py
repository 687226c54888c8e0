"""How side slots are assigned."""

import asyncio
from collections.abc import Callable

from app.workers.side_slots import SideSlots


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


class SlotUser:
    """A task that takes a slot and leaves it on request."""

    def __init__(self, slots: SideSlots, *, priority: bool) -> None:
        self.has_slot = False
        self.leave = asyncio.Event()
        self._slots = slots
        self.task = asyncio.ensure_future(self._hold(priority))

    async def _hold(self, priority: bool) -> None:
        async with self._slots.priority_slot() if priority else self._slots:
            self.has_slot = True
            await self.leave.wait()
            self.has_slot = False


def live_view(slots: SideSlots) -> SlotUser:
    return SlotUser(slots, priority=False)


def evaluation(slots: SideSlots) -> SlotUser:
    return SlotUser(slots, priority=True)


async def enter(slots: SideSlots, *kinds: Callable[[SideSlots], SlotUser]) -> list[SlotUser]:
    entered = []
    for kind in kinds:
        entered.append(kind(slots))
        await settle()
    return entered


async def test_no_more_slots_are_taken_than_exist() -> None:
    slots = SideSlots(2)

    slot_users = await enter(slots, live_view, evaluation, live_view, evaluation)

    assert [one.has_slot for one in slot_users] == [True, True, False, False]
    slot_users[0].leave.set()
    await settle()
    assert [one.has_slot for one in slot_users] == [False, True, False, True]


async def test_a_live_view_leaves_its_slot_to_an_evaluation_and_gets_it_back() -> None:
    slots = SideSlots(1)
    (first,) = await enter(slots, live_view)
    requested = asyncio.ensure_future(slots.until_requested())
    await settle()
    assert not requested.done()

    (evaluating,) = await enter(slots, evaluation)
    assert requested.done()
    first.leave.set()
    (next_view,) = await enter(slots, live_view)

    assert (evaluating.has_slot, next_view.has_slot) == (True, False)
    evaluating.leave.set()
    await settle()
    assert next_view.has_slot


async def test_an_evaluation_gets_a_slot_where_live_views_have_none() -> None:
    slots = SideSlots(0)

    slot_users = await enter(slots, live_view, evaluation)

    assert [one.has_slot for one in slot_users] == [False, True]


async def test_a_cancelled_task_in_the_queue_takes_no_slot() -> None:
    slots = SideSlots(1)
    first, second = await enter(slots, evaluation, evaluation)

    second.task.cancel()
    first.leave.set()
    await settle()
    (third,) = await enter(slots, evaluation)

    assert third.has_slot
    assert slots.locked()


async def test_an_idle_slot_is_given_up_at_once_when_another_task_needs_it() -> None:
    slots = SideSlots(1)
    left = asyncio.Event()

    async def record_clip() -> None:
        async with slots.idle_slot():
            await slots.until_preempted()
            left.set()

    recording = asyncio.ensure_future(record_clip())
    await settle()
    (viewing,) = await enter(slots, live_view)

    assert viewing.has_slot
    assert left.is_set()
    await recording
    second_recording = asyncio.ensure_future(record_clip())
    left.clear()
    await settle()
    (waiting_evaluation,) = await enter(slots, evaluation)
    assert (waiting_evaluation.has_slot, left.is_set()) == (False, False)
    viewing.leave.set()
    await settle()
    assert (waiting_evaluation.has_slot, left.is_set()) == (True, False)
    second_recording.cancel()


async def test_without_slots_there_is_no_idle_slot() -> None:
    slots = SideSlots(0)
    waiting = asyncio.ensure_future(slots.idle_slot().__aenter__())

    await settle()

    assert not waiting.done()
    waiting.cancel()
