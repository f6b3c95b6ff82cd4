"""Slots are shared fairly: no group starves another, and none is lost."""

import asyncio
import threading

import pytest

from kro_gitops.control.slots import FairSlots, FairThreads
from tests import virtual_time


async def _settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_one_group_gets_no_more_than_half() -> None:
    async def scene() -> None:
        slots = FairSlots(8)
        tasks = [asyncio.create_task(slots.acquire("a")) for _ in range(20)]
        await _settle()
        assert (slots.used, slots.waiting) == (4, 16)
        for task in tasks:
            task.cancel()

    virtual_time.run(scene())


def test_another_group_gets_a_slot_at_once_though_the_first_never_gives_one_back() -> None:
    async def scene() -> None:
        slots = FairSlots(8)
        greedy = [asyncio.create_task(slots.acquire(group)) for group in "abab" * 10]
        await _settle()
        await asyncio.wait_for(slots.acquire("c"), 0.001)
        for task in greedy:
            task.cancel()

    virtual_time.run(scene())


@pytest.mark.parametrize("total", [1, 2, 3, 16])
def test_every_number_of_slots_serves_everybody(total: int) -> None:
    async def scene() -> None:
        slots = FairSlots(total)
        served: list[str] = []

        async def use(group: str) -> None:
            await slots.acquire(group)
            await asyncio.sleep(1)
            served.append(group)
            slots.release(group)

        await asyncio.gather(*(use(group) for group in "aaaaaaaabc"))
        assert sorted(served) == sorted("aaaaaaaabc")
        assert (slots.used, slots.waiting) == (0, 0)

    virtual_time.run(scene())


def test_groups_take_turns() -> None:
    async def scene() -> None:
        slots = FairSlots(1)
        served: list[str] = []

        async def use(group: str) -> None:
            await slots.acquire(group)
            await asyncio.sleep(1)
            served.append(group)
            slots.release(group)

        await asyncio.gather(*(use(group) for group in "aaaabbc"))
        assert served == list("aabcaba")  # a new group has waited least

    virtual_time.run(scene())


def test_a_request_that_is_cancelled_takes_no_slot() -> None:
    async def scene() -> None:
        slots = FairSlots(1)
        await slots.acquire("a")
        late = asyncio.create_task(slots.acquire("b"))
        await _settle()
        late.cancel()
        await _settle()
        assert slots.waiting == 0
        slots.release("a")
        assert slots.used == 0

    virtual_time.run(scene())


def test_a_request_that_is_cancelled_when_it_is_granted_gives_the_slot_back() -> None:
    async def scene() -> None:
        slots = FairSlots(1)
        await slots.acquire("a")
        late = asyncio.create_task(slots.acquire("b"))
        await _settle()
        slots.release("a")
        late.cancel()
        await _settle()
        assert slots.used == 0
        await asyncio.wait_for(slots.acquire("c"), 0.001)

    virtual_time.run(scene())


def test_waits_are_observed() -> None:
    async def scene() -> None:
        waits: list[float] = []
        slots = FairSlots(1, waits.append)
        await slots.acquire("a")
        asyncio.get_running_loop().call_later(3, slots.release, "a")
        await slots.acquire("b")
        assert waits == [0.0, 3.0]

    virtual_time.run(scene())


def test_a_slot_cannot_be_given_back_twice() -> None:
    slots = FairSlots(1)
    with pytest.raises(ValueError, match="a has no slot"):
        slots.release("a")


async def test_a_thread_counts_until_it_returns_though_its_caller_is_gone() -> None:
    threads, go_on = FairThreads(2, "test"), threading.Event()
    caller = asyncio.create_task(threads.run("a", go_on.wait))
    assert await threads.run("b", lambda: 1) == 1
    caller.cancel()
    late = asyncio.create_task(threads.run("a", lambda: 2))
    assert await threads.run("b", lambda: 3) == 3
    assert not late.done(), "the thread of the caller that is gone still runs"
    go_on.set()
    assert await late == 2
    threads.close()
