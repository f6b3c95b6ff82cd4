"""What is to be looked at, and when."""

from datetime import UTC, datetime, timedelta

from kube_sandbox.controllers.queue import WorkQueue

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
A, B = ("pods", "n", "a"), ("pods", "n", "b")


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_what_is_noted_first_is_first_and_stands_there_once() -> None:
    agenda = WorkQueue()
    for each in (A, B, A):
        agenda.wake(each)
    assert (agenda.take(), agenda.take(), bool(agenda)) == (A, B, False)


def test_what_is_due_twice_is_looked_at_once_at_the_earlier_time() -> None:
    agenda = WorkQueue()
    agenda.add_after(A, NOW, 10)
    agenda.add_after(A, NOW, 5)
    agenda.add_after(A, NOW, 7)
    assert agenda.wait(NOW) == 5
    agenda.move_due(after(5))
    assert agenda.take() == A
    agenda.move_due(after(20))
    assert not agenda
    assert agenda.wait(after(20)) is None


def test_pauses_double_until_it_goes_well() -> None:
    agenda = WorkQueue()
    assert [agenda.refused(A) for _ in range(12)] == [
        *(1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
        *(1000, 1000),
    ]
    assert agenda.refused(B) == 1
    agenda.succeeded(A)
    assert agenda.refused(A) == 1
