"""What a change may delete at once, and what an approval covers."""

import pytest

from kro_gitops.engine.plan.prune_limit import Held, Leaving, PruneLimit, approves, losses, named
from kube_objects.refs import Kind, ObjectRef

LIMIT = PruneLimit(30.0, 5)
SERVICE = Kind("", "v1", "Service")


def leaving(lost: int, total: int, node: str = "svc") -> Leaving:
    refs = tuple(ObjectRef(SERVICE, "town", f"s{number}") for number in range(lost))
    return Leaving(refs, {node: lost}, {node: total})


@pytest.mark.parametrize(
    ("parts", "count"),
    [
        ([leaving(1, 1)] * 13, 13),  # a resource of thirteen instances
        ([leaving(8, 30)], 0),  # a list that shrinks by less than 30 %
        ([leaving(10, 30)], 10),
        ([leaving(1, 1, "svc"), leaving(2, 100, "items")], 1),
        ([Leaving()], 0),
    ],
)
def test_only_nodes_that_lose_a_large_share_count(parts: list[Leaving], count: int) -> None:
    assert losses(parts, LIMIT) == count


def test_what_is_held_is_read_back_as_it_was_written() -> None:
    held = Held(("Service town/a", "Service town/b"), 13, "shop-r00002", 4, 13)
    assert Held.parse(held.to_text()) == held
    assert Held.parse(held.to_text()).token == held.token  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ["", "x", "[]", "{}", '{"children":[1],"total":1}', "null"])
def test_an_annotation_that_another_client_wrote_holds_nothing(text: str) -> None:
    assert Held.parse(text) is None


def test_a_token_is_of_these_children_this_time() -> None:
    tokens = {
        Held(children, 13, revision, generation).token
        for children in (("a",), ("a", "b"))
        for revision in ("shop-r00001", "shop-r00002")
        for generation in (1, 2)
    }
    assert len(tokens) == 8
    assert Held(("b", "a"), 2, "r", 1).token == Held(("a", "b"), 9, "r", 1).token


@pytest.mark.parametrize(
    ("value", "is_approved"),
    [
        ("0123456", True),
        ("main@sha1:0123456789", True),
        ("012345", False),  # six digits are not enough
        ("0123457", False),
        ("", False),
        ("main", False),
    ],
)
def test_a_commit_is_approved_by_seven_digits(value: str, *, is_approved: bool) -> None:
    assert approves(value, "main@sha1:0123456789abcdef") is is_approved
    assert not approves(value, "")


def test_three_children_are_named() -> None:
    assert named(["d", "a", "c", "b"]) == "a, b, c, and 1 more"
