"""What sources may have together: no tenant can use the memory of all."""

import pytest

from kro_gitops.source.controllers.read_budget import ReadBudget
from kro_gitops.source.files.budget import NOTHING, Amount
from kube_objects.errors import RefusedError

TOTAL = Amount(documents=1_000, size=1_000_000)


def test_one_namespace_gets_half() -> None:
    budget = ReadBudget(TOTAL)
    budget.reserve("a/one", Amount(300, 1))
    budget.reserve("a/two", Amount(200, 1))
    with pytest.raises(
        RefusedError, match="namespace a would have 501 documents, and may have 500"
    ):
        budget.reserve("a/three", Amount(1, 1))


def test_bytes_are_limited_as_documents_are() -> None:
    budget = ReadBudget(TOTAL)
    with pytest.raises(RefusedError, match="would have 500,001 bytes, and may have 500,000 of the"):
        budget.reserve("a/one", Amount(1, 500_001))


def test_another_namespace_always_finds_room() -> None:
    budget = ReadBudget(TOTAL)
    for namespace, share in (("a", 500), ("b", 250), ("c", 125), ("d", 62)):
        budget.reserve(f"{namespace}/one", Amount(share, 1))
        with pytest.raises(RefusedError):
            budget.reserve(f"{namespace}/two", Amount(1, 1))
    budget.reserve("e/one", Amount(31, 1))


def test_a_source_may_shrink_though_its_namespace_has_too_much_by_now() -> None:
    budget = ReadBudget(TOTAL)
    budget.reserve("a/one", Amount(500, 1))
    budget.reserve("b/one", Amount(250, 1))
    budget.reserve("a/one", Amount(499, 1))
    with pytest.raises(RefusedError):
        budget.reserve("a/one", Amount(500, 1))


def test_what_is_rejected_changes_nothing() -> None:
    seen: dict[str, Amount] = {}
    budget = ReadBudget(TOTAL, seen.__setitem__)
    budget.reserve("a/one", Amount(10, 1))
    with pytest.raises(RefusedError):
        budget.reserve("a/one", Amount(900, 1))
    assert seen == {"a/one": Amount(10, 1)}
    budget.reserve("a/two", Amount(490, 1))


def test_a_source_that_is_gone_leaves_its_share_to_others() -> None:
    seen: dict[str, Amount] = {}
    budget = ReadBudget(TOTAL, seen.__setitem__)
    budget.reserve("a/one", Amount(500, 1))
    budget.release("a/one")
    budget.reserve("a/two", Amount(500, 1))
    assert seen == {"a/one": NOTHING, "a/two": Amount(500, 1)}


def test_without_limits_everything_fits() -> None:
    ReadBudget().reserve("a/one", Amount(10**9, 10**15))
