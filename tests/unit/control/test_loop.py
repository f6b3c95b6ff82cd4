"""The loop in virtual time: what is called when, and what is said about it."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable

import pytest

from kro_gitops.control.backoff import Backoff
from kro_gitops.control.loop import Loop, LoopSettings, ReconcileReport
from kro_gitops.control.outcome import DONE, Level, Result, RetryDelays
from kro_gitops.control.workqueue import WorkItem, WorkQueue
from kro_gitops.errors import ClusterUnavailable, NotYet, Unavailable
from kube_objects.errors import RefusedError
from tests.virtual_time import run

PACE = RetryDelays(later=3.0, backoff=Backoff(first=1.0, cap=8.0, spread=0.0))
SETTINGS = LoopSettings(workers=2, time_limit=100.0, grace=10.0, pace=PACE)

Reconcile = Callable[[WorkItem[str]], Awaitable[Result]]


class Watcher:
    """Writes down what it hears."""

    def __init__(self) -> None:
        self.taken_at: list[tuple[float, Hashable]] = []
        self.reports: list[ReconcileReport] = []

    def taken(self, key: Hashable, waited: float) -> None:
        self.taken_at.append((asyncio.get_running_loop().time(), key))

    def finished(self, report: ReconcileReport) -> None:
        self.reports.append(report)


class Story:
    """A loop, what happens to it, and what could be seen."""

    def __init__(self, reconcile: Reconcile, settings: LoopSettings = SETTINGS) -> None:
        self.watcher = Watcher()
        self.queue: WorkQueue[str] = WorkQueue(lambda key: key[0])
        self.loop = Loop(self.queue, reconcile, settings, self.watcher)

    def play(self, script: Callable[[Loop[str]], Awaitable[None]]) -> list[tuple[float, Hashable]]:
        """Run the loop beside a script, and return when which key was taken."""

        async def both() -> None:
            async with asyncio.TaskGroup() as group:
                group.create_task(self.loop.run())
                await script(self.loop)
                self.loop.stop()

        run(both())
        return self.watcher.taken_at


def adding(*keys: str, then: float = 0.0) -> Callable[[Loop[str]], Awaitable[None]]:
    async def script(loop: Loop[str]) -> None:
        for key in keys:
            loop.add(key)
        await asyncio.sleep(then)

    return script


async def succeed(_: WorkItem[str]) -> Result:
    return DONE


def taking(seconds: float) -> Reconcile:
    async def reconcile(_: WorkItem[str]) -> Result:
        await asyncio.sleep(seconds)
        return DONE

    return reconcile


def raising(*errors: Exception) -> Reconcile:
    """Raise one error after the other, then succeed."""
    left = list(errors)

    async def reconcile(_: WorkItem[str]) -> Result:
        if left:
            raise left.pop(0)
        return DONE

    return reconcile


class TestWork:
    def test_begins_as_soon_as_a_key_is_added(self) -> None:
        async def script(loop: Loop[str]) -> None:
            await asyncio.sleep(5)
            loop.add("a")
            await asyncio.sleep(1)

        assert Story(succeed).play(script) == [(5, "a")]

    def test_begins_when_a_key_is_due(self) -> None:
        async def script(loop: Loop[str]) -> None:
            loop.add_after("a", 3600)
            loop.add_after("b", 60)
            loop.add_after("c", 60)
            await asyncio.sleep(4000)

        assert Story(succeed).play(script) == [(60, "b"), (60, "c"), (3600, "a")]

    def test_on_keys_due_together_begins_together(self) -> None:
        async def script(loop: Loop[str]) -> None:
            loop.add_after("a", 60)
            loop.add_after("b", 60)
            await asyncio.sleep(100)

        assert Story(taking(5)).play(script) == [(60, "a"), (60, "b")]

    def test_goes_on_in_as_many_places_as_there_are_workers(self) -> None:
        story = Story(taking(1))
        assert story.play(adding("a", "b", "c", "d", "e", then=10)) == [
            (0, "a"),
            (0, "b"),
            (1, "c"),
            (1, "d"),
            (2, "e"),
        ]

    def test_on_a_key_never_goes_on_twice_at_once(self) -> None:
        running: Counter[str] = Counter()

        async def reconcile(work: WorkItem[str]) -> Result:
            running[work.key] += 1
            assert running[work.key] == 1
            await asyncio.sleep(2)
            running[work.key] -= 1
            return DONE

        async def script(loop: Loop[str]) -> None:
            for _ in range(5):
                loop.add("a")
                await asyncio.sleep(0.6)
            await asyncio.sleep(10)

        # What came in meanwhile is one more time.
        assert Story(reconcile).play(script) == [(0, "a"), (2, "a"), (4, "a")]

    def test_that_never_waits_does_not_keep_other_tasks_from_running(self) -> None:
        done: list[str] = []

        async def reconcile(work: WorkItem[str]) -> Result:
            done.append(work.key)
            return DONE

        async def script(loop: Loop[str]) -> None:
            for number in range(100):
                loop.add(f"a{number}")
            for _ in range(5):
                await asyncio.sleep(0)
            done.append("other task")
            await asyncio.sleep(1)

        Story(reconcile).play(script)
        assert len(done) == 101
        assert done.index("other task") < 20

    def test_on_a_key_that_was_discarded_does_not_begin(self) -> None:
        async def script(loop: Loop[str]) -> None:
            loop.add_after("a", 5)
            loop.discard("a")
            await asyncio.sleep(10)

        assert Story(succeed).play(script) == []


class TestOutcomes:
    def test_a_result_may_ask_for_another_turn(self) -> None:
        results = [Result(after=30), Result(after=0), DONE]

        async def reconcile(_: WorkItem[str]) -> Result:
            return results.pop(0)

        story = Story(reconcile)
        assert story.play(adding("a", then=100)) == [(0, "a"), (30, "a"), (30, "a")]

    def test_a_failure_is_tried_again_with_growing_delays_and_never_dropped(self) -> None:
        story = Story(raising(*[Unavailable("c", "down")] * 30))
        times = [when for when, _ in story.play(adding("a", then=1000))]
        assert times[:6] == [0, 1, 3, 7, 15, 23]
        assert len(times) == 31

    def test_a_bug_is_contained(self) -> None:
        async def reconcile(work: WorkItem[str]) -> Result:
            if work.key == "a":
                raise ZeroDivisionError
            return DONE

        taken = Story(reconcile).play(adding("a", "b", then=2))
        assert (0, "b") in taken
        assert (1, "a") in taken

    def test_a_reconcile_that_hangs_is_cut_off_and_tried_again(self) -> None:
        story = Story(taking(10**6))
        assert story.play(adding("a", then=150)) == [(0, "a"), (101, "a")]
        assert isinstance(story.watcher.reports[0].error, TimeoutError)

    def test_not_yet_is_tried_after_its_delay(self) -> None:
        story = Story(raising(NotYet("c", "wait")))
        assert story.play(adding("a", then=10)) == [(0, "a"), (3, "a")]

    def test_an_authors_mistake_waits_for_a_change(self) -> None:
        async def script(loop: Loop[str]) -> None:
            loop.add("a")
            await asyncio.sleep(10_000)
            loop.add("a")
            await asyncio.sleep(1)

        story = Story(raising(RefusedError("c", "no")))
        assert story.play(script) == [(0, "a"), (10_000, "a")]

    def test_failures_are_counted_until_a_success(self) -> None:
        failures: list[int] = []
        outcomes: list[Exception | Result] = [KeyError(), Result(after=1), KeyError(), DONE]

        async def reconcile(work: WorkItem[str]) -> Result:
            failures.append(work.failures)
            outcome = outcomes.pop(0) if outcomes else DONE
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        async def script(loop: Loop[str]) -> None:
            loop.add("a")
            await asyncio.sleep(50)
            loop.add("a")
            await asyncio.sleep(1)

        Story(reconcile).play(script)
        assert failures == [0, 1, 1, 2, 0]


class TestWhatIsSaid:
    def test_a_report_says_how_long_it_took(self) -> None:
        story = Story(taking(2), LoopSettings(workers=1, pace=PACE))
        story.play(adding("a", "b", then=10))
        assert [(r.key, r.waited, r.seconds) for r in story.watcher.reports] == [
            ("a", 0, 2),
            ("b", 2, 2),
        ]

    def test_a_mistake_is_told_once_and_again_after_it_was_put_right(self) -> None:
        def mistake(text: str) -> RefusedError:
            return RefusedError("c", text)

        async def script(loop: Loop[str]) -> None:
            for _ in range(5):
                loop.add("a")
                await asyncio.sleep(1)

        script_of_errors = [mistake("x"), mistake("x"), mistake("y"), None, mistake("y")]

        async def reconcile(_: WorkItem[str]) -> Result:
            error = script_of_errors.pop(0)
            if error:
                raise error
            return DONE

        story = Story(reconcile)
        story.play(script)
        assert [(r.outcome.level, r.outcome.event) for r in story.watcher.reports] == [
            (Level.WARNING, True),
            (Level.NOTHING, False),
            (Level.WARNING, True),
            (Level.NOTHING, False),
            (Level.WARNING, True),
        ]

    def test_errors_are_logged_with_what_is_known(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO)
        story = Story(raising(Unavailable("c", "down"), KeyError("oops"), NotYet("c", "wait")))
        story.play(adding("a", then=100))
        said = [
            (r.levelname, r.message, r.__dict__["error"], bool(r.exc_info)) for r in caplog.records
        ]
        assert said == [
            ("WARNING", "reconcile failed", "down", False),
            ("ERROR", "reconcile failed", "'oops'", True),
            ("INFO", "reconcile stopped", "wait", False),
        ]
        assert [r.__dict__["attempt"] for r in caplog.records] == [1, 2, 3]


class TestStopping:
    def test_lets_work_end_and_takes_no_more(self) -> None:
        ended: list[str] = []

        async def reconcile(work: WorkItem[str]) -> Result:
            await asyncio.sleep(5)
            ended.append(work.key)
            return DONE

        story = Story(reconcile)
        story.play(adding("a", "b", "c", then=1))
        assert ended == ["a", "b"]
        assert "c" in story.queue

    def test_does_not_wait_for_longer_than_the_grace(self) -> None:
        story = Story(taking(60))

        async def timed() -> float:
            loop = story.loop
            running = asyncio.create_task(loop.run())
            loop.add("a")
            await asyncio.sleep(1)
            loop.stop()
            await running
            return asyncio.get_running_loop().time()

        assert run(timed()) == 11
        # The key was given back, so nothing is left in work.
        assert story.queue.depth.working == 0

    def test_is_at_once_if_nothing_is_in_work(self) -> None:
        story = Story(succeed)

        async def timed() -> float:
            running = asyncio.create_task(story.loop.run())
            story.loop.add_after("a", 3600)
            await asyncio.sleep(1)
            story.loop.stop()
            await running
            return asyncio.get_running_loop().time()

        assert run(timed()) == 1

    def test_before_the_start_means_not_to_start(self) -> None:
        story = Story(succeed)

        async def stopped() -> None:
            story.loop.stop()
            story.loop.add("a")
            await story.loop.run()

        run(stopped())
        assert story.watcher.taken_at == []


def test_many_keys_of_one_kind_do_not_starve_another() -> None:
    story = Story(taking(1))

    async def script(loop: Loop[str]) -> None:
        for number in range(200):
            loop.add(f"a{number}")
        await asyncio.sleep(10.5)
        loop.add("b")
        await asyncio.sleep(5)

    taken = {key: when for when, key in story.play(script)}
    assert taken["b"] == 11


def test_a_group_that_hangs_leaves_workers_to_others_and_is_served_to_the_end() -> None:
    async def reconcile(work: WorkItem[str]) -> Result:
        await asyncio.sleep(50.0 if work.key.startswith("h") else 1.0)
        return DONE

    watcher = Watcher()
    queue: WorkQueue[str] = WorkQueue(lambda key: key[0], workers=4)
    loop = Loop(queue, reconcile, LoopSettings(workers=4), watcher)

    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(loop.run())
            for number in range(6):
                loop.add(f"h{number}")
            await asyncio.sleep(10)
            loop.add("other")
            await asyncio.sleep(200)
            loop.stop()

    run(both())
    when = {key: at for at, key in watcher.taken_at}
    assert when["other"] == 10.0
    assert [when[f"h{number}"] for number in range(6)] == [0.0, 0.0, 50.0, 50.0, 100.0, 100.0]


def test_what_an_outage_made_fail_is_retried_as_soon_as_it_is_over() -> None:
    async def reconcile(work: WorkItem[str]) -> Result:
        if asyncio.get_running_loop().time() < 100:
            error = ClusterUnavailable if work.key == "outage" else Unavailable
            raise error("code", "down")
        return DONE

    settings = LoopSettings(workers=2, pace=RetryDelays(backoff=Backoff(64.0, 1000.0, spread=0.0)))
    story = Story(reconcile, settings)

    async def script(loop: Loop[str]) -> None:
        loop.add("outage")
        loop.add("else")
        await asyncio.sleep(110)
        loop.retry_after_outage()
        await asyncio.sleep(1000)

    taken = story.play(script)
    assert [at for at, key in taken if key == "outage"] == [0.0, 64.0, 110.0]
    assert [at for at, key in taken if key == "else"] == [0.0, 64.0, 192.0]
