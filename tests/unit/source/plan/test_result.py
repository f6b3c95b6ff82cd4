"""The result of a sync, in an order that does not depend on which part finishes first."""

from kro_gitops.source.plan.result import Fault, SyncResult
from kube_objects.problems import Origin


def fault(file: str, line: int) -> Fault:
    return Fault("invalid", "it is wrong", origin=Origin(file, line, 1))


def test_results_of_concurrent_work_are_put_into_the_order_of_files() -> None:
    result = SyncResult(
        failures=(fault("b.yaml", 1), fault("a.yaml", 9), fault("a.yaml", 2)),
        conflicts=("y", "x"),
    ).in_order()
    assert [str(each.origin) for each in result.failures] == [
        "a.yaml:2:1",
        "a.yaml:9:1",
        "b.yaml:1:1",
    ]
    assert result.conflicts == ("x", "y")


def test_what_was_noted_before_stays_where_it_is() -> None:
    before = SyncResult(failures=(fault("z.yaml", 1),))
    later = SyncResult(failures=(fault("b.yaml", 1), fault("a.yaml", 1)))
    result = before + later.in_order()
    files = [each.origin.file for each in result.failures if each.origin]
    assert files == ["z.yaml", "a.yaml", "b.yaml"]


def test_counts_and_flags_add_up() -> None:
    total = SyncResult(created=1, is_cut_short=True) + SyncResult(created=2, is_cut_short=True)
    assert (total.created, total.is_cut_short) == (3, True)
    assert (SyncResult(waiting=("a",)) + SyncResult(waiting=("b",))).waiting == ("a", "b")
    assert SyncResult() + SyncResult() == SyncResult()
