"""What a reconcile notes, in an order that does not depend on who is done first."""

from kro_gitops.source.accounts import Account, Fault
from kube_objects.problems import Origin


def fault(file: str, line: int) -> Fault:
    return Fault("invalid", "it is wrong", origin=Origin(file, line, 1))


def test_what_is_noted_side_by_side_is_put_into_the_order_of_files() -> None:
    account = Account()
    with account.in_order():
        account.failures += [fault("b.yaml", 1), fault("a.yaml", 9), fault("a.yaml", 2)]
        account.conflicts += ["y", "x"]
    assert [str(each.origin) for each in account.failures] == [
        "a.yaml:2:1",
        "a.yaml:9:1",
        "b.yaml:1:1",
    ]
    assert account.conflicts == ["x", "y"]


def test_what_was_noted_before_stays_where_it_is() -> None:
    account = Account(failures=[fault("z.yaml", 1)])
    with account.in_order():
        account.failures += [fault("b.yaml", 1), fault("a.yaml", 1)]
    files = [each.origin.file for each in account.failures if each.origin]
    assert files == ["z.yaml", "a.yaml", "b.yaml"]
