"""Periodic calls, with real intervals of a few hundredths of a second."""

import asyncio
import contextlib
import logging
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from functools import partial

import pytest

from kro_gitops.control.schedule import Schedule

SHORT = 0.05
LONG = 3600.0
PATIENCE = 10.0  # on a busy machine


@contextlib.asynccontextmanager
async def running(jitter: float = 0.1) -> AsyncIterator[Schedule]:
    schedule = Schedule(jitter)
    schedule.start()
    try:
        yield schedule
    finally:
        schedule.stop()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 - about what nobody announces
            await asyncio.sleep(0.005)


async def test_a_call_comes_again_and_again() -> None:
    calls: list[str] = []
    async with running() as schedule:
        schedule.every("a", SHORT, lambda: calls.append("a"))
        await until(lambda: len(calls) >= 4)


async def test_calls_keep_their_interval() -> None:
    times: list[float] = []
    began = time.monotonic()
    async with running() as schedule:
        schedule.every("a", SHORT, lambda: times.append(time.monotonic()))
        await until(lambda: len(times) >= 11)
    # Late calls are no fault of the schedule's; early ones would be.
    assert times[10] - began >= 10 * SHORT * 0.85


async def test_first_calls_are_spread_over_the_interval() -> None:
    called: set[int] = set()
    began = time.monotonic()
    async with running() as schedule:
        for number in range(50):
            schedule.every(number, 8.0, partial(called.add, number))
        await until(lambda: len(called) >= 3)
        assert time.monotonic() - began < 7.0
        assert len(called) < 50


async def test_calls_are_made_on_the_loop() -> None:
    threads: list[threading.Thread] = []
    async with running() as schedule:
        schedule.every("a", SHORT, lambda: threads.append(threading.current_thread()))
        await until(lambda: bool(threads))
    assert set(threads) == {threading.current_thread()}


async def test_keys_have_intervals_of_their_own() -> None:
    calls: Counter[str] = Counter()
    async with running() as schedule:
        schedule.every("slow", LONG * 1e6, lambda: calls.update(["slow"]))
        schedule.every(("any", "key"), SHORT, lambda: calls.update(["fast"]))
        await until(lambda: calls["fast"] >= 3)
    assert calls["slow"] == 0


async def test_what_is_forgotten_is_not_called() -> None:
    calls: Counter[str] = Counter()
    async with running() as schedule:
        schedule.every("a", SHORT, lambda: calls.update(["a"]))
        schedule.every("b", SHORT, lambda: calls.update(["b"]))
        await until(lambda: calls["a"] >= 1)
        schedule.forget("a")
        schedule.forget("a")
        schedule.forget("never known")
        before = calls["a"]
        then = calls["b"]
        await until(lambda: calls["b"] >= then + 3)
        assert calls["a"] == before


async def test_another_interval_replaces_the_one_before() -> None:
    calls: Counter[str] = Counter()
    async with running() as schedule:
        schedule.every("a", LONG, lambda: calls.update(["long"]))
        schedule.every("a", SHORT, lambda: calls.update(["short"]))
        await until(lambda: calls["short"] >= 2)
        schedule.every("a", LONG * 1e6, lambda: calls.update(["long"]))
        before = calls["short"]
        await asyncio.sleep(3 * SHORT)
        assert calls["short"] == before
    assert calls["long"] == 0


async def test_the_same_interval_said_again_does_not_start_anew() -> None:
    calls: Counter[str] = Counter()
    async with running() as schedule:
        schedule.every("a", 0.2, lambda: calls.update(["old"]))
        async with asyncio.timeout(PATIENCE):
            while not calls["new"]:
                # Whoever reconciles often says it often; the call must come all the same.
                schedule.every("a", 0.2, lambda: calls.update(["new"]))
                await asyncio.sleep(0.01)
    assert calls["old"] == 0


async def test_calls_that_were_missed_become_one() -> None:
    calls: list[str] = []
    async with running() as schedule:
        schedule.every("a", SHORT, lambda: calls.append("a"))
        await until(lambda: bool(calls))
        before = len(calls)
        time.sleep(10 * SHORT)  # noqa: ASYNC251 - the loop is blocked on purpose
        await until(lambda: len(calls) > before)
        assert len(calls) <= before + 2


async def test_a_call_that_raises_is_said_and_comes_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    calls: list[str] = []

    def fail() -> None:
        calls.append("failed")
        raise ValueError("no luck")

    async with running() as schedule:
        schedule.every("a", SHORT, fail)
        await until(lambda: len(calls) >= 2)
    said = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert {record.name for record in said} == {"kro_gitops.control.schedule"}
    assert said[0].exc_info is not None


async def test_a_call_may_change_the_schedule() -> None:
    calls: Counter[str] = Counter()
    async with running() as schedule:

        def once() -> None:
            calls.update(["once"])
            schedule.forget("once")
            schedule.every("other", SHORT, lambda: calls.update(["other"]))

        schedule.every("once", SHORT, once)
        await until(lambda: calls["other"] >= 3)
    assert calls["once"] == 1


async def test_the_library_keeps_quiet(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[str] = []
    with caplog.at_level(logging.DEBUG):
        async with running() as schedule:
            schedule.every("a", SHORT, lambda: calls.append("a"))
            await until(lambda: len(calls) >= 2)
            schedule.forget("a")
        await asyncio.sleep(0.01)
    assert [each for each in caplog.records if each.name.startswith("apscheduler")] == []


async def test_what_was_said_before_the_start_begins_with_it() -> None:
    calls: list[str] = []
    schedule = Schedule()
    schedule.every("a", SHORT, lambda: calls.append("a"))
    await asyncio.sleep(2 * SHORT)
    assert calls == []
    schedule.start()
    await until(lambda: len(calls) >= 2)
    schedule.stop()


async def test_after_the_stop_nothing_is_called() -> None:
    calls: list[str] = []
    schedule = Schedule()
    schedule.start()
    schedule.every("a", SHORT, lambda: calls.append("a"))
    await until(lambda: bool(calls))
    schedule.stop()
    before = len(calls)
    await asyncio.sleep(4 * SHORT)
    assert len(calls) == before
    schedule.stop()


def test_a_schedule_that_never_began_can_be_stopped() -> None:
    schedule = Schedule()
    schedule.every("a", SHORT, lambda: None)
    schedule.stop()


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_an_interval_is_longer_than_nothing(seconds: float) -> None:
    with pytest.raises(ValueError, match="interval"):
        Schedule().every("a", seconds, lambda: None)


@pytest.mark.parametrize("jitter", [-0.1, 1.0])
def test_a_jitter_is_a_part_of_the_interval(jitter: float) -> None:
    with pytest.raises(ValueError, match="jitter"):
        Schedule(jitter)
