import asyncio

import pytest

from kro_gitops.app.companions import run_with_companion


async def until(event: asyncio.Event, code: int) -> int:
    await event.wait()
    return code


async def test_a_companion_that_is_done_stops_the_work() -> None:
    stop = asyncio.Event()

    async def companion() -> int:
        return 1

    assert await run_with_companion(until(stop, 0), companion(), stop.set) == 1


async def test_work_that_ends_ends_the_companion() -> None:
    never = asyncio.Event()

    async def work() -> int:
        return 3

    assert await run_with_companion(work(), until(never, 1), never.set) == 3
    assert not never.is_set()


async def test_a_companion_that_fails_ends_everything_at_once() -> None:
    never, ended = asyncio.Event(), []

    async def work() -> int:
        try:
            return await until(never, 0)
        finally:
            ended.append("work")

    async def companion() -> int:
        await asyncio.sleep(0)
        raise ValueError("the API is gone")

    with pytest.raises(ValueError, match="the API is gone"):
        await run_with_companion(work(), companion(), never.set)
    assert ended == ["work"]
