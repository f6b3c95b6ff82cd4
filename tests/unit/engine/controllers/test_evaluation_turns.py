"""How instances share the time of the event loop for their expressions."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kro_gitops.engine.controllers.evaluation_turns import (
    Evaluation,
    EvaluationLimitExceeded,
    EvaluationLimits,
    EvaluationTurns,
)
from kro_gitops.engine.plan.slices import Slices
from tests import virtual_time

SLICE = 0.002
LIMITS = EvaluationLimits(slice=SLICE, instance=0.0)


def play(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run in virtual time: nobody waits while a turn rests."""
    virtual_time.run(scene())


def burn(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def work(name: str, slices: int, done: list[str], *, seconds: float = SLICE) -> Slices[str]:
    """Work that needs some slices, and records each of them."""
    for _ in range(slices):
        burn(seconds)
        done.append(name)
        yield
    return name


def test_a_result_is_returned_and_its_time_is_measured() -> None:
    async def scene() -> None:
        turns = EvaluationTurns(LIMITS)
        evaluation = turns.begin("town", "Kiosk")
        assert await evaluation.run(work("a", 3, [])) == "a"
        assert evaluation.seconds >= 3 * SLICE
        assert turns.waiting == 0

    play(scene)


def test_other_tasks_run_between_two_slices() -> None:
    async def scene() -> None:
        done: list[str] = []

        async def other() -> None:
            done.append("other")

        task = asyncio.create_task(other())
        await EvaluationTurns(LIMITS).begin("town").run(work("a", 2, done))
        await task
        assert done == ["a", "other", "a"]

    play(scene)


def test_small_work_does_not_wait_for_turns() -> None:
    async def scene() -> None:
        turns = EvaluationTurns(LIMITS)
        done: list[str] = []

        async def large() -> None:
            await turns.begin("town").run(work("large", 20, done))

        running = asyncio.create_task(large())
        await asyncio.sleep(0)

        await turns.begin("village").run(work("small", 1, done, seconds=0.0))
        assert done.index("small") <= 2
        await running

    play(scene)


def test_a_namespace_with_many_instances_gets_no_larger_share() -> None:
    async def scene() -> None:
        turns = EvaluationTurns(LIMITS)
        done: list[str] = []
        many = [turns.begin("town", f"Kind{index}") for index in range(5)]
        one = turns.begin("village", "Kiosk")
        await asyncio.gather(
            *(each.run(work("town", 10, done)) for each in many),
            one.run(work("village", 10, done)),
        )
        # Every second turn until it is done; the first slice of each did not wait.
        last = len(done) - done[::-1].index("village")
        assert last <= 5 + 2 * 10 + 2, done

    play(scene)


def test_a_definition_with_instances_in_many_namespaces_gets_no_larger_share() -> None:
    async def scene() -> None:
        turns = EvaluationTurns(LIMITS)
        done: list[str] = []
        many = [turns.begin(f"town-{index}", "Kiosk") for index in range(5)]
        one = turns.begin("village", "Stall")
        await asyncio.gather(
            *(each.run(work("kiosk", 10, done)) for each in many),
            one.run(work("stall", 10, done)),
        )
        last = len(done) - done[::-1].index("stall")
        assert last <= 5 + 2 * 10 + 2, done

    play(scene)


def test_instances_of_one_namespace_are_finished_one_after_the_other() -> None:
    async def scene() -> None:
        turns = EvaluationTurns(LIMITS)
        done: list[str] = []
        names = ("a", "b", "c")
        await asyncio.gather(
            *(turns.begin("town", "Kiosk").run(work(name, 4, done)) for name in names)
        )
        for name in names:
            done.remove(name)  # the first slice of each did not wait for a turn
        assert done == ["a"] * 3 + ["b"] * 3 + ["c"] * 3

    play(scene)


def test_work_that_takes_too_long_is_stopped() -> None:
    async def scene() -> None:
        turns = EvaluationTurns(EvaluationLimits(slice=SLICE, instance=5 * SLICE))
        done: list[str] = []
        with pytest.raises(EvaluationLimitExceeded, match=r"took more than 0\.01s of CPU time"):
            await turns.begin("town").run(work("a", 1000, done))
        assert 5 <= len(done) <= 6
        assert await turns.begin("town").run(work("b", 2, done)) == "b"

    play(scene)


@pytest.mark.parametrize("has_turn", [False, True])
def test_a_cancelled_reconcile_leaves_its_turn_to_others(has_turn: bool) -> None:
    async def scene() -> None:
        turns = EvaluationTurns(LIMITS)
        done: list[str] = []
        tasks: list[asyncio.Task[str]] = []

        def cancelling() -> Slices[str]:
            burn(SLICE)
            yield
            tasks[0 if has_turn else 1].cancel()
            burn(SLICE)
            yield
            return "cancelling"

        def start(evaluation: Evaluation, slices: Slices[str]) -> None:
            tasks.append(asyncio.create_task(evaluation.run(slices)))

        start(turns.begin("town"), cancelling())
        start(turns.begin("town"), work("b", 5, done))
        start(turns.begin("village"), work("c", 5, done))
        found = await asyncio.gather(*tasks, return_exceptions=True)
        cancelled = [isinstance(each, asyncio.CancelledError) for each in found]
        assert cancelled == ([True, False, False] if has_turn else [False, True, False])
        assert done.count("c") == 5
        assert turns.waiting == 0

    play(scene)


def test_one_expression_is_stopped_after_its_own_limit() -> None:
    evaluation = EvaluationTurns(EvaluationLimits(expression=0.01)).begin("town")
    deadline = evaluation.budget().deadline
    assert deadline is not None
    assert not deadline()
    began = time.thread_time()
    while not deadline():
        assert time.thread_time() - began < 1.0
    assert time.thread_time() - began >= 0.005
    assert evaluation.budget().deadline is deadline
    assert not deadline(), "each expression has a time of its own"
