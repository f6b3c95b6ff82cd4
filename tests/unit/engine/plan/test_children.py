"""What a child carries, and whether a live one is still what was applied."""

from typing import Any

from kro_gitops.engine.labels import Position
from kro_gitops.engine.plan.children import Family, Rules, digest, is_current, is_same_desire
from kro_gitops.metadata import APPLY_ORDER, COLLECTION_SIZE, DESIRED_HASH, NODE_ID
from kube_objects.managed_fields import CachedObject
from tests.builders import config_map, instance
from tests.small_cluster import SmallCluster


def family() -> Family:
    return Family(instance(uid="uid-1"), Rules())


def body(**data: Any) -> dict[str, Any]:
    found = config_map("cm", **data)
    found["metadata"]["namespace"] = "town"
    return found


def hash_of(child: dict[str, Any]) -> str:
    found: str = child["metadata"]["labels"][DESIRED_HASH]
    return found


def test_a_child_carries_its_place_in_the_graph() -> None:
    child = family().child(body(), "cm", 2, Position(0, 3))
    assert child["metadata"]["annotations"][APPLY_ORDER] == "2"
    assert child["metadata"]["labels"][NODE_ID] == "cm"
    assert child["metadata"]["labels"][COLLECTION_SIZE] == "3"


def test_what_a_template_has_stays_but_not_in_kros_place() -> None:
    template = body()
    template["metadata"]["labels"] = {"mine": "1", "app.kubernetes.io/managed-by": "me"}
    labels = family().child(template, "cm", 1)["metadata"]["labels"]
    assert labels["mine"] == "1"
    assert labels["app.kubernetes.io/managed-by"] == "kro"


def test_the_hash_says_whether_the_same_is_desired() -> None:
    first, same = family().child(body(a="1"), "cm", 1), family().child(body(a="1"), "cm", 1)
    other = family().child(body(a="2"), "cm", 1)
    assert hash_of(first) == hash_of(same) != hash_of(other)
    assert is_same_desire(first, same)
    assert not is_same_desire(first, other)


def test_the_order_of_keys_is_no_difference() -> None:
    assert digest({"a": 1, "b": [1, 2]}) == digest({"b": [1, 2], "a": 1})
    assert digest({"b": [1, 2]}) != digest({"b": [2, 1]})


def test_numbers_of_any_size_have_a_hash() -> None:
    assert digest({"a": 2**70}) != digest({"a": 2**71})


def test_a_child_is_current_while_hash_and_fields_are_ours() -> None:
    desired = family().child(body(a="1"), "cm", 1)
    live = SmallCluster().apply(desired)
    assert is_current(live, desired)
    assert not is_current(live, family().child(body(a="2"), "cm", 1))
    assert not is_current(CachedObject(live, b""), desired)
    # Seen by somebody who did not keep whose fields they are: nothing can be said.
    assert not is_current(dict(live), desired)


def test_a_child_somebody_took_the_hash_from_is_not_current() -> None:
    desired = family().child(body(a="1"), "cm", 1)
    cluster = SmallCluster()
    live = cluster.apply(desired)
    bare = {**live, "metadata": {**live["metadata"], "labels": {}}}
    assert not is_current(CachedObject(bare, live.owned), desired)
