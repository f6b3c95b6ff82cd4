"""What rows and trees show, from objects."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from kro_gitops.engine.applyset import Inventory
from kro_gitops.engine.labels import Position, instance_labels, node_labels, order_annotation
from kro_gitops.errors import UserError
from kro_gitops.inspect.kind_lookup import Offer, find_offer, unknown_kind
from kro_gitops.inspect.views.instances import (
    DEEPEST,
    age,
    by_kind_made,
    definition_row,
    grow,
    in_order,
    outermost,
    revision_row,
    summary,
    written,
)
from kro_gitops.kube.api import Resource
from kro_gitops.tracking.health import Health
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.builders import definition, resource

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
KIOSK = Kind("kro.run", "v1", "Kiosk")


def condition(type_: str, status: str, reason: str = "", message: str = "") -> dict[str, Any]:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": 1,
    }


def instance(name: str = "corner", **status: Any) -> KubeObject:
    ref = ObjectRef(KIOSK, "town", name)
    metadata = {
        "name": name,
        "namespace": "town",
        "uid": f"uid-{name}",
        "generation": 1,
        "creationTimestamp": "2026-03-01T11:55:00Z",
        "annotations": Inventory().annotations(ref, "test"),
    }
    return {"apiVersion": "kro.run/v1", "kind": "Kiosk", "metadata": metadata, "status": status}


def ready(name: str = "corner") -> KubeObject:
    return instance(name, state="ACTIVE", conditions=[condition("Ready", "True", "Ready")])


def child(
    parent: KubeObject, node: str, made: KubeObject, wave: int = 1, at: Position | None = None
) -> KubeObject:
    labels = instance_labels(ObjectRef.of(parent), parent["metadata"]["uid"], "test")
    metadata = {
        **made["metadata"],
        "labels": {**labels, **node_labels(node, at)},
        "annotations": {**made["metadata"].get("annotations", {}), **order_annotation(wave)},
    }
    return {**made, "metadata": metadata}


def config_map(name: str) -> KubeObject:
    metadata = {"name": name, "namespace": "town", "uid": f"uid-{name}"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (310, "5m10s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (4 * 3600 + 300, "4h5m"),
        (47 * 3600, "47h"),
        (48 * 3600, "2d"),
        (5 * 86400 + 7200, "5d2h"),
        (8 * 86400, "8d"),
        (729 * 86400, "729d"),
        (730 * 86400, "2y"),
        (800 * 86400, "2y70d"),
        (3000 * 86400, "8y"),
    ],
)
def test_ages_are_printed_as_kubectl_prints_them(seconds: int, text: str) -> None:
    assert age(NOW - timedelta(seconds=seconds), NOW) == text


def test_an_unknown_age_says_so() -> None:
    assert age(None, NOW) == "<unknown>"


def test_a_definition_says_what_it_makes_and_why_it_is_not_ready() -> None:
    message = "kro says\nthis on two lines"
    status = {
        "state": "Inactive",
        "lastIssuedRevision": 3,
        "conditions": [
            condition("GraphAccepted", "False", "InvalidResourceGraph", message),
            condition("Ready", "False", "InvalidResourceGraph", message),
        ],
    }
    made = definition(group="example.com")
    made["metadata"]["generation"] = 1
    row = definition_row({**made, "status": status})
    assert (row.makes, row.revision) == (Kind("example.com", "v1", "Kiosk"), 3)
    assert (row.summary.state, row.summary.ready) == ("Inactive", "False")
    assert row.summary.message == "kro says …"
    assert row.summary.verdict.health is Health.DEGRADED


def test_a_definition_that_says_nothing_is_of_kros_group() -> None:
    row = definition_row(definition())
    assert row.makes.group == "kro.run"
    assert (row.revision, row.summary.ready, row.summary.state) == (None, "-", "-")


def test_a_revision_names_its_definition() -> None:
    made = {
        "apiVersion": "internal.kro.run/v1alpha1",
        "kind": "GraphRevision",
        "metadata": {"name": "kiosk-r00002", "labels": {"kro.run/graph-revision-hash": "abc"}},
        "spec": {"revision": 2, "snapshot": {"name": "kiosk"}},
    }
    row = revision_row(made)
    assert (row.definition, row.number, row.hash) == ("kiosk", 2, "abc")


def deleted(obj: KubeObject) -> KubeObject:
    return {**obj, "metadata": {**obj["metadata"], "deletionTimestamp": "2026-03-01T11:59:00Z"}}


@pytest.mark.parametrize(
    ("obj", "shown"),
    [
        (ready(), ("ACTIVE", "True", "", "")),
        (instance(), ("-", "-", "Progressing", "not picked up yet")),
        (
            instance(state="ERROR", conditions=[condition("Ready", "False", "NotReady", "no")]),
            ("ERROR", "False", "NotReady", "no"),
        ),
        (deleted(ready()), ("ACTIVE", "True", "Deleting", "waiting to be removed")),
        (instance(state="ACTIVE", conditions=[condition("Mine", "True")]), ("ACTIVE", "-", "", "")),
    ],
    ids=["ready", "new", "failed", "going", "author's conditions"],
)
def test_an_instance_in_a_row(obj: KubeObject, shown: tuple[str, ...]) -> None:
    row = summary(obj)
    assert (row.state, row.ready, row.reason, row.message) == shown


def test_rows_are_sorted_by_kind_namespace_and_name() -> None:
    listed = [ready("b"), config_map("z"), ready("a")]
    assert [each["metadata"]["name"] for each in in_order(listed)] == ["z", "a", "b"]


def test_a_tree_is_in_the_order_of_application() -> None:
    root = ready()
    children = [
        child(root, "late", config_map("a"), wave=2),
        *(
            child(root, "many", config_map(f"m-{index}"), at=Position(index, 12))
            for index in (10, 9)
        ),
        child(root, "early", config_map("z"), wave=1),
    ]
    tree = grow(root, {"uid-corner": children}, by_kind_made([definition()]))
    assert [branch.node for branch in tree.branches] == ["early", "many[9]", "many[10]", "late"]
    assert all(branch.is_healthy for branch in tree.walk())


def test_nodes_without_an_object_are_told_with_a_reason() -> None:
    external = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "password"}}
    made = definition(
        resource("there"),
        resource("later"),
        resource("maybe", includeWhen=["${false}"]),
        resource("each", forEach=[{"x": "${[]}"}]),
        {"id": "outside", "externalRef": external},
    )
    root = ready()
    family = {"uid-corner": [child(root, "there", config_map("x"))]}
    definitions = by_kind_made([made])
    tree = grow(root, family, definitions)
    assert [(each.node, each.what, each.why) for each in tree.absent] == [
        ("later", "ConfigMap", "not created yet"),
        ("maybe", "ConfigMap", "not included, or not yet"),
        ("each", "ConfigMap", "no items"),
        ("outside", "Secret/password", "external reference"),
    ]
    assert grow(deleted(root), family, definitions).absent == ()


def test_a_circle_of_instances_ends() -> None:
    one, two = ready("one"), ready("two")
    family = {"uid-one": [child(one, "next", two)], "uid-two": [child(two, "next", one)]}
    tree = grow(one, family, {})
    assert [branch.ref.name for branch in tree.walk()] == ["one", "two", "one"]
    assert [branch.note for branch in tree.walk()][-1] == "shown above"
    assert outermost([one, two], family) == [one, two]


def test_a_tree_has_a_bottom() -> None:
    chain = [ready(f"n-{index}") for index in range(DEEPEST + 3)]
    family = {
        above["metadata"]["uid"]: [child(above, "next", below)] for above, below in pairwise(chain)
    }
    tree = grow(chain[0], family, {})
    assert len(list(tree.walk())) == DEEPEST + 1
    assert [branch.note for branch in tree.walk()][-1].endswith("too deep")


def test_instances_within_others_are_not_drawn_twice() -> None:
    outer, inner, other = ready("outer"), ready("inner"), ready("other")
    family = {"uid-outer": [child(outer, "web", inner)], "uid-inner": [], "uid-other": []}
    assert outermost([inner, other, outer], family) == [other, outer]
    assert outermost([inner], {"uid-inner": []}) == [inner]


def test_a_tree_as_data() -> None:
    root = ready()
    tree = grow(root, {"uid-corner": [child(root, "cm", config_map("x"))]}, {})
    found = tree.to_json()
    assert (found["kind"], found["health"], found["created"]) == (
        "Kiosk",
        "Healthy",
        "2026-03-01T11:55:00Z",
    )
    assert [(each["node"], each["name"]) for each in found["children"]] == [("cm", "x")]


@pytest.mark.parametrize(
    ("annotations", "text"),
    [
        ({"gitops.kro.run/path": "a.yaml:3"}, "a.yaml:3"),
        (
            {
                "gitops.kro.run/path": "a.yaml",
                "gitops.kro.run/source": "ops/shop",
                "gitops.kro.run/revision": "0123456789abcdef",
            },
            "a.yaml of ops/shop at 0123456789ab",
        ),
        ({"gitops.kro.run/source": "ops/shop"}, "a file of ops/shop"),
    ],
)
def test_where_an_object_is_written(annotations: dict[str, str], text: str) -> None:
    assert str(written({"metadata": {"annotations": annotations}})) == text


def test_an_object_that_nobody_wrote_down() -> None:
    assert written(ready()) is None


OFFERS = [
    Offer(Resource(Kind("kro.run", "v1", "WebApp"), "webapps", namespaced=True), ("wa",)),
    Offer(Resource(Kind("kro.run", "v1", "Shop"), "shops", namespaced=True)),
    Offer(Resource(Kind("example.com", "v1", "Shop"), "shops", namespaced=True)),
    Offer(Resource(Kind("", "v1", "Pod"), "pods", namespaced=True)),
]


@pytest.mark.parametrize(
    ("word", "name"),
    [
        *((word, "webapps.kro.run") for word in ("webapp", "WebApp", "webapps", "wa", "WA")),
        *((word, "webapps.kro.run") for word in ("webapps.kro.run", "webapp.v1.kro.run")),
        ("shop.example.com", "shops.example.com"),
        ("pod", "pods"),
    ],
)
def test_a_kind_has_several_names(word: str, name: str) -> None:
    found = find_offer(word, OFFERS)
    assert found is not None
    assert found.full_name == name


@pytest.mark.parametrize("word", ["", "web", "webapps.example.com", "webapps.v2.kro.run"])
def test_other_words_name_nothing(word: str) -> None:
    assert find_offer(word, OFFERS) is None


def test_a_word_that_means_several_kinds_is_refused() -> None:
    with pytest.raises(UserError, match="'shop' means several kinds") as caught:
        find_offer("shop", OFFERS)
    assert caught.value.hint == "say shops.example.com or shops.kro.run"


def test_an_unknown_kind_is_told_with_those_there_are() -> None:
    assert unknown_kind("x", OFFERS[:1]).hint == "definitions make: webapps.kro.run"
    assert unknown_kind("x", []).hint == "no definition makes any kind yet"
