"""What an instance itself carries."""

from typing import Any

import pytest

from kro_gitops.engine.applyset import GroupKind, Inventory
from kro_gitops.engine.instance_metadata import (
    has_finalizer,
    inventory_of,
    is_managed,
    managed_metadata,
)
from kro_gitops.engine.served_kind import ServedKind
from kro_gitops.metadata import APPLYSET_GROUP_KINDS, FINALIZER, INVENTORY_HASH, OWNED
from kube_objects.errors import RefusedError
from kube_objects.refs import Kind
from tests.builders import definition, graph, instance, resource

SERVING = ServedKind(Kind("kro.run", "v1", "Kiosk"), "kiosks", "kiosk", "uid-of-definition")
STOCK = Inventory(frozenset({GroupKind("ConfigMap")}), frozenset({"elsewhere"}))


def wanted(inventory: Inventory = STOCK, **metadata: Any) -> dict[str, Any]:
    return managed_metadata(instance(uid="u", **metadata), SERVING, inventory, "v1")


def ours(inventory: Inventory = STOCK) -> dict[str, Any]:
    """Return an instance after the write."""
    found = instance(uid="u")
    found["metadata"].update(wanted(inventory)["metadata"])
    return found


def test_one_write_has_it_all() -> None:
    metadata = wanted()["metadata"]
    assert metadata["finalizers"] == [FINALIZER]
    assert metadata["labels"][OWNED] == "true"
    assert metadata["annotations"][APPLYSET_GROUP_KINDS] == "ConfigMap"
    # An instance that is gone must not be brought back by the write.
    assert metadata["uid"] == "u"
    assert "spec" not in wanted()


def test_a_cluster_scoped_instance_has_no_namespace() -> None:
    everywhere = instance(uid="u")
    del everywhere["metadata"]["namespace"]
    assert "namespace" not in managed_metadata(everywhere, SERVING, STOCK, "v1")["metadata"]


def test_what_carries_everything_is_not_written_again() -> None:
    assert is_managed(ours(), wanted())
    more = ours()
    more["metadata"]["labels"]["team"] = "shop"
    more["metadata"]["finalizers"].append("others.io/x")
    assert is_managed(more, wanted())


@pytest.mark.parametrize("section", ["finalizers", "labels", "annotations"])
def test_what_lacks_anything_is_written(section: str) -> None:
    bare = ours()
    del bare["metadata"][section]
    assert not is_managed(bare, wanted())


def test_another_inventory_is_written() -> None:
    assert not is_managed(ours(Inventory()), wanted(STOCK))


def test_an_inventory_is_read_back() -> None:
    assert inventory_of(ours()) == STOCK
    assert inventory_of(instance()) == Inventory()


def test_without_the_finalizer_an_inventory_must_be_right() -> None:
    torn = ours()
    torn["metadata"]["finalizers"] = []
    assert inventory_of(torn) == STOCK
    torn["metadata"]["annotations"][APPLYSET_GROUP_KINDS] = ""
    with pytest.raises(RefusedError) as refused:
        inventory_of(torn)
    assert refused.value.message.startswith(
        "cannot install finalizer with invalid ApplySet inventory; repair the metadata, or remove "
        "it only after confirming no managed members remain: "
        f"invalid {INVENTORY_HASH} annotation: got "
    )


def test_the_finalizer_is_found() -> None:
    assert has_finalizer(instance(finalizers=["a", FINALIZER]))
    assert not has_finalizer(instance(finalizers=None))


# Which work is the same


def test_a_kind_without_a_graph_has_no_nodes() -> None:
    assert list(SERVING.nodes()) == []
    assert SERVING.crd_name == "kiosks.kro.run"


def test_work_is_the_same_for_the_same_graph() -> None:
    made = graph(definition(resource()))
    one = ServedKind(SERVING.kind, "kiosks", "kiosk", "u", 1, made)
    assert one.is_same_work(ServedKind(SERVING.kind, "kiosks", "kiosk", "u", 2, made))
    assert not one.is_same_work(None)
    assert not one.is_same_work(ServedKind(SERVING.kind, "kiosks", "kiosk", "new", 1, made))
    assert not one.is_same_work(ServedKind(SERVING.kind, "kiosks", "kiosk", "u", problem="x"))
