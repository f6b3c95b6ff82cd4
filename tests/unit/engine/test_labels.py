import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kro_gitops.engine.labels import (
    Position,
    apply_order,
    definition_labels,
    instance_labels,
    is_kro_owned,
    is_label_value,
    label_value,
    node_labels,
    order_annotation,
    version_label,
)
from kube_objects.refs import Kind, ObjectRef

SHOP = Kind("shops.example.com", "v2", "Shop")
NAMESPACED = ObjectRef(SHOP, "town", "corner")


def test_a_crd_and_its_instances_say_whose_they_are() -> None:
    assert definition_labels("shop", "u-1", "v0.9.4") == {
        "kro.run/owned": "true",
        "kro.run/kro-version": "v0.9.4",
        "kro.run/resource-graph-definition-id": "u-1",
        "kro.run/resource-graph-definition-name": "shop",
    }


def test_children_say_which_instance_they_belong_to() -> None:
    assert instance_labels(NAMESPACED, "u-1", "v0.9.4") == {
        "kro.run/owned": "true",
        "kro.run/kro-version": "v0.9.4",
        "app.kubernetes.io/managed-by": "kro",
        "kro.run/instance-id": "u-1",
        "kro.run/instance-name": "corner",
        "kro.run/instance-namespace": "town",
        "kro.run/instance-group": "shops.example.com",
        "kro.run/instance-version": "v2",
        "kro.run/instance-kind": "Shop",
    }


def test_children_of_a_cluster_scoped_instance_name_no_namespace() -> None:
    labels = instance_labels(ObjectRef(SHOP, "", "corner"), "u-1", "v0.9.4")
    assert "kro.run/instance-namespace" not in labels


@pytest.mark.parametrize(
    ("position", "labels"),
    [
        pytest.param(None, {"kro.run/node-id": "pods"}, id="one object"),
        pytest.param(
            Position(0, 3),
            {
                "kro.run/node-id": "pods",
                "kro.run/collection-index": "0",
                "kro.run/collection-size": "3",
            },
            id="an item of a collection",
        ),
    ],
)
def test_children_say_which_node_they_are(position: Position, labels: dict[str, str]) -> None:
    assert node_labels("pods", position) == labels


@pytest.mark.parametrize(
    ("version", "label"),
    [
        ("v0.9.4", "v0.9.4"),
        ("devel", "devel"),
        ("v0.9.4+dirty", "v0.9.4-dirty"),
        ("", ""),
    ],
)
def test_versions_become_labels(version: str, label: str) -> None:
    assert version_label(version) == label


@pytest.mark.parametrize(
    "text",
    ["", "a", "A-b_c.9", "a" * 63],
)
def test_what_fits_into_a_label_stays(text: str) -> None:
    assert label_value(text) == text


@pytest.mark.parametrize(
    ("text", "stem"),
    [
        pytest.param("a" * 64, "a" * 52, id="a character too long"),
        pytest.param("a" * 40 + "." * 30, "a" * 40, id="no dot before the hash"),
        pytest.param("a/b:c", "a-b-c", id="characters that no label has"),
    ],
)
def test_what_does_not_fit_is_cut_and_ends_in_a_hash(text: str, stem: str) -> None:
    assert re.fullmatch(f"{stem}-[0-9a-f]{{10}}", label_value(text))


def test_long_values_that_differ_at_the_end_stay_apart() -> None:
    assert label_value("a" * 200 + "b") != label_value("a" * 200 + "c")


@settings(max_examples=200)
@given(st.text(max_size=100) | st.text(alphabet="ab.-_", max_size=253))
def test_whatever_the_text_its_label_value_is_legal(text: str) -> None:
    assert is_label_value(label_value(text))


@pytest.mark.parametrize("text", ["-a", "a-", "a b", "é", "a" * 64, "a\n"])
def test_what_no_server_accepts_is_no_label_value(text: str) -> None:
    assert not is_label_value(text)


@pytest.mark.parametrize(
    ("labels", "owned"),
    [
        pytest.param({"kro.run/owned": "true"}, True, id="owned"),
        pytest.param({"kro.run/owned": "TRUE"}, False, id="only this spelling counts"),
        pytest.param(
            {"kro.run/owned": "false", "app.kubernetes.io/managed-by": "kro"},
            False,
            id="the first label decides",
        ),
        pytest.param({"app.kubernetes.io/managed-by": "kro"}, True, id="of an older version"),
        pytest.param({"app.kubernetes.io/managed-by": "Helm"}, False, id="somebody else's"),
        pytest.param({}, False, id="nobody's"),
    ],
)
def test_whose_an_object_is(labels: dict[str, str], owned: bool) -> None:
    assert is_kro_owned(labels) is owned


@pytest.mark.parametrize(
    ("written", "wave"),
    [("3", 3), ("0", 0), ("-1", 0), ("x", 0), ("", 0), ("1" * 30, 0), ("٣", 0)],
)
def test_a_childs_wave_is_read_or_zero(written: str, wave: int) -> None:
    assert apply_order({"internal.kro.run/apply-order": written}) == wave


def test_a_child_without_a_wave_goes_last() -> None:
    assert apply_order({}) == 0
    assert apply_order(order_annotation(12)) == 12
