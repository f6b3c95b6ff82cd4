from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kro_gitops.control.workqueue import Depth, WorkItem, WorkQueue


def queue() -> WorkQueue[str]:
    """Return a queue in which the first letter of a key is its group."""
    return WorkQueue(lambda key: key[0])


def added(*keys: str) -> WorkQueue[str]:
    found = queue()
    for key in keys:
        found.add(key, 0)
    return found


def take(found: WorkQueue[str], now: float = 0) -> str | None:
    work = found.take(now)
    return work.key if work else None


def take_all(found: WorkQueue[str], now: float = 0) -> list[str]:
    taken = []
    while (key := take(found, now)) is not None:
        taken.append(key)
    return taken


class TestOneKey:
    def test_is_taken_once_however_often_it_was_added(self) -> None:
        assert take_all(added("a", "a", "a")) == ["a"]

    def test_is_not_taken_while_it_is_in_work(self) -> None:
        found = added("a")
        take(found)
        found.add("a", 1)
        found.add("a", 1)
        assert take(found, 1) is None

    def test_added_while_in_work_is_taken_once_more(self) -> None:
        found = added("a")
        take(found)
        found.add("a", 1)
        found.add("a", 1)
        found.done("a", 2)
        assert take(found, 2) == "a"
        found.done("a", 3)
        assert take(found, 3) is None
        assert len(found) == 0

    def test_that_is_done_leaves_nothing_behind(self) -> None:
        found = added("a")
        take(found)
        assert "a" in found
        found.done("a", 1)
        assert "a" not in found
        assert found.depth == Depth(0, 0, 0)

    @pytest.mark.parametrize("act", ["done", "failed", "again_at", "succeeded"])
    def test_must_be_in_work_to_be_given_back(self, act: str) -> None:
        found = added("a")
        arguments = ("a",) if act in ("failed", "succeeded") else ("a", 1.0)
        with pytest.raises(ValueError, match="a is not in work"):
            getattr(found, act)(*arguments)

    def test_says_how_long_it_was_due(self) -> None:
        found = queue()
        found.add_at("a", due=5, now=0)
        assert found.take(7) == WorkItem("a", failures=0, waited=2)


class TestLater:
    def test_is_when_a_key_is_taken_and_not_before(self) -> None:
        found = queue()
        found.add_at("a", due=5, now=0)
        assert found.next_due() == 5
        assert take(found, 4.9) is None
        assert take(found, 5) == "a"
        assert found.next_due() is None

    @pytest.mark.parametrize(
        ("dues", "first"), [((5, 9), 5), ((9, 5), 5), ((5, 5), 5)], ids=["kept", "moved", "same"]
    )
    def test_the_sooner_of_two_times_counts(self, dues: tuple[int, int], first: int) -> None:
        found = queue()
        for due in dues:
            found.add_at("a", due, 0)
        assert found.next_due() == first
        assert take(found, first) == "a"
        found.done("a", first)
        assert found.next_due() is None
        assert take(found, 100) is None

    def test_becomes_now_if_the_key_is_added(self) -> None:
        found = queue()
        found.add_at("a", 100, 0)
        found.add("a", 1)
        assert take(found, 1) == "a"

    def test_does_not_put_off_a_key_that_is_due(self) -> None:
        found = added("a")
        found.add_at("a", 100, 0)
        assert take(found) == "a"

    def test_can_be_asked_for_while_in_work(self) -> None:
        found = added("a")
        take(found)
        found.again_at("a", 9)
        found.again_at("a", 12)
        found.done("a", 1)
        assert found.next_due() == 9
        assert take(found, 8) is None
        assert take(found, 9) == "a"

    def test_asked_for_while_in_work_gives_way_to_a_key_that_is_added(self) -> None:
        found = added("a")
        take(found)
        found.again_at("a", 9)
        found.add("a", 1)
        found.done("a", 2)
        assert take(found, 2) == "a"

    def test_keys_are_taken_in_the_order_they_are_due(self) -> None:
        found = queue()
        for key, due in (("a1", 3), ("a2", 1), ("a3", 2)):
            found.add_at(key, due, 0)
        assert take_all(found, 5) == ["a2", "a3", "a1"]


class TestFailures:
    def test_are_counted_for_a_key_that_is_tried_again(self) -> None:
        found = added("a", "b")
        take(found)
        assert found.failed("a") == 1
        found.again_at("a", 0)
        found.done("a", 0)
        assert take(found) == "b"
        work = found.take(0)
        assert work is not None
        assert (work.key, work.failures) == ("a", 1)
        assert found.failed("a") == 2

    def test_are_forgotten_with_a_success(self) -> None:
        found = added("a")
        take(found)
        found.failed("a")
        found.succeeded("a")
        found.again_at("a", 0)
        found.done("a", 0)
        assert found.take(0) == WorkItem("a", 0, 0)

    def test_are_forgotten_when_nobody_wants_the_key_again(self) -> None:
        found = added("a")
        take(found)
        found.failed("a")
        found.done("a", 0)
        assert len(found) == 0


class TestGroups:
    def test_take_turns(self) -> None:
        found = added("a1", "a2", "a3", "a4", "b1", "b2", "c1")
        taken = []
        while (key := take(found)) is not None:
            taken.append(key)
            found.done(key, 0)
        assert taken == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]

    def test_that_are_slow_do_not_keep_others_from_workers_that_get_free(self) -> None:
        found = added(*(f"a{number}" for number in range(100)))
        slow = [take(found) or "" for _ in range(8)]
        for key in ("b1", "b2", "b3"):
            found.add(key, 1)
        # Each worker that gets free serves the group that has the least in work.
        served = []
        for key in slow[:4]:
            found.done(key, 1)
            served.append(take(found, 1))
        assert served[:3] == ["b1", "b2", "b3"]

    def test_within_a_group_the_first_comes_first(self) -> None:
        assert take_all(added("a3", "a1", "a2")) == ["a3", "a1", "a2"]

    def test_have_parts_that_take_turns(self) -> None:
        found: WorkQueue[str] = WorkQueue(lambda key: key[0], part_of=lambda key: key[1])
        for added_key in ("ax1", "ax2", "ax3", "ay1", "ay2", "bx1"):
            found.add(added_key, 0)
        found.discard("ay2")
        taken = []
        while (key := take(found)) is not None:
            taken.append(key)
            found.done(key, 0)
        assert taken == ["ax1", "bx1", "ay1", "ax2", "ax3"]

    def test_that_come_and_go_do_not_jump_the_queue(self) -> None:
        found = added("a1", "a2", "a3", "b1")
        taken = []
        for _ in range(6):
            key = take(found)
            assert key is not None
            taken.append(key[0])
            found.done(key, 0)
            if key == "b1":
                found.add("b1", 0)  # always back at once
        assert Counter(taken) == {"a": 3, "b": 3}


class TestDiscarding:
    def test_drops_a_key_that_is_due(self) -> None:
        found = added("a1", "a2")
        found.discard("a1")
        assert take_all(found) == ["a2"]

    def test_drops_a_key_that_waits(self) -> None:
        found = queue()
        found.add_at("a", 5, 0)
        found.discard("a")
        assert found.next_due() is None
        assert len(found) == 0

    def test_lets_work_end_and_not_begin_again(self) -> None:
        found = added("a")
        take(found)
        found.add("a", 0)
        found.discard("a")
        found.done("a", 1)
        assert take(found, 1) is None
        assert len(found) == 0

    def test_of_an_unknown_key_is_nothing(self) -> None:
        queue().discard("a")


def test_depth_says_how_much_is_where() -> None:
    found = added("a", "b")
    found.add_at("c", 9, 0)
    take(found)
    assert found.depth == Depth(ready=1, waiting=1, working=1)
    assert len(found) == 3


def test_keys_put_off_again_and_again_do_not_pile_up() -> None:
    found = queue()
    found.add_at("z", 5, 0)  # due before all others, so theirs are never looked at
    for number in range(10_000):
        now = number / 10_000
        found.add("a", now)
        take(found, now)
        found.again_at("a", now + 36_000)
        found.done("a", now)
    assert len(found._later) + len(found._next) < 1000


operations = st.lists(
    st.tuples(
        st.sampled_from(("add", "add_at", "take", "done", "again_at", "discard", "pass")),
        st.sampled_from(("a1", "a2", "b1", "b2", "c1")),
        st.integers(0, 5),
    ),
    max_size=60,
)


class Model:
    """What the queue promises, as plainly as possible."""

    def __init__(self) -> None:
        self.now = 0.0
        self.wanted: dict[str, float] = {}
        self.working: set[str] = set()

    def want(self, key: str, due: float) -> None:
        self.wanted[key] = min(due, self.wanted.get(key, due))

    @property
    def takable(self) -> set[str]:
        return {k for k, due in self.wanted.items() if due <= self.now and k not in self.working}


@settings(max_examples=200)
@given(operations)
def test_whatever_happens_a_key_is_taken_when_it_is_due_and_never_twice_at_once(
    script: list[tuple[str, str, int]],
) -> None:
    found, model = queue(), Model()
    for operation, key, number in script:
        apply(operation, key, number, found, model)
        assert len(found) == len(set(model.wanted) | model.working)
        assert found.depth.working == len(model.working)
    # In the end everything wanted is taken.
    model.now += 100
    for key in sorted(model.working):
        found.done(key, model.now)
    model.working.clear()
    assert sorted(take_all(found, model.now)) == sorted(model.wanted)


def apply(operation: str, key: str, number: int, found: WorkQueue[str], model: Model) -> None:
    match operation:
        case "add":
            found.add(key, model.now)
            model.want(key, model.now)
        case "add_at":
            found.add_at(key, model.now + number, model.now)
            model.want(key, model.now + number)
        case "take":
            taken = take(found, model.now)
            assert (taken in model.takable) if taken else not model.takable
            if taken:
                del model.wanted[taken]
                model.working.add(taken)
        case "done" if key in model.working:
            found.done(key, model.now)
            model.working.remove(key)
        case "again_at" if key in model.working:
            found.again_at(key, model.now + number)
            model.want(key, model.now + number)
        case "discard":
            found.discard(key)
            model.wanted.pop(key, None)
        case "pass":
            model.now += number
        case _:
            pass


def test_keys_need_not_be_grouped() -> None:
    queue: WorkQueue[str] = WorkQueue(lambda _: None)
    queue.add("a", 0.0)

    work = queue.take(0.0)

    assert work is not None
    assert work.key == "a"


class TestShares:
    def test_one_group_gets_at_most_half_of_the_workers(self) -> None:
        found: WorkQueue[str] = WorkQueue(lambda key: key[0], workers=8)
        for number in range(20):
            found.add(f"a{number}", 0)
        assert len(take_all(found)) == 4

    def test_another_group_finds_a_free_worker_though_nothing_is_given_back(self) -> None:
        found: WorkQueue[str] = WorkQueue(lambda key: key[0], workers=8)
        for group in "abc":
            for number in range(20):
                found.add(f"{group}{number}", 0)
            take_all(found)
        found.add("d1", 1)
        assert take(found, 1) == "d1"

    def test_what_is_given_back_is_taken_by_those_who_wait(self) -> None:
        found: WorkQueue[str] = WorkQueue(lambda key: key[0], workers=2)
        found.add("a1", 0)
        found.add("a2", 0)
        assert take_all(found) == ["a1"]
        found.done("a1", 1)
        assert take_all(found, 1) == ["a2"]

    def test_a_single_worker_serves_all(self) -> None:
        found: WorkQueue[str] = WorkQueue(lambda key: key[0], workers=1)
        for key in ("a1", "a2", "b1"):
            found.add(key, 0)
        taken = []
        while (work := found.take(0)) is not None:
            taken.append(work.key)
            found.done(work.key, 0)
        assert taken == ["a1", "b1", "a2"]
