"""Hashes and names below were computed by kro v0.9.4."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kro_gitops.engine.revision import (
    expired_numbers,
    next_number,
    revision_name,
    revision_object,
    spec_hash,
)

DEPLOYMENT: dict[str, Any] = {
    "id": "deployment",
    "template": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "${schema.spec.name}"},
        "spec": {"replicas": 3, "weight": 2.50},
    },
    "readyWhen": [
        "${deployment.status.readyReplicas > 0}",
        "${deployment.status.replicas > 0 && true}",
    ],
}
CONFIG = {
    "id": "config",
    "externalRef": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}},
}
PODS: dict[str, Any] = {
    "id": "pods",
    "template": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p-${zone}"}},
    "forEach": [{"zone": "${schema.spec.zones}"}, {"tier": "${schema.spec.tiers}"}],
    "includeWhen": ["${schema.spec.name != '<none>'}"],
}
SCHEMA: dict[str, Any] = {
    "kind": "Shop",
    "apiVersion": "v1alpha1",
    "spec": {"name": "string", "replicas": "integer | default=3"},
    "status": {"ready": "${deployment.status.readyReplicas}"},
}
SHOP = {"schema": SCHEMA, "resources": [DEPLOYMENT, CONFIG, PODS]}
SHOP_HASH = "8b2499abb88ecf6a"

FULL_SCHEMA = {
    "schema": {
        "kind": "Shop",
        "apiVersion": "v1",
        "group": "shops.example.com",
        "scope": "Cluster",
        "types": {"A": {"b": "string"}},
        "additionalPrinterColumns": [
            {"name": "N", "type": "string", "jsonPath": ".spec.n", "priority": 1}
        ],
        "shortNames": ["sh"],
        "categories": ["all"],
        "metadata": {"labels": {"team": "a"}, "annotations": {}},
    }
}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(SHOP, SHOP_HASH, id="templates, external references, collections"),
        pytest.param(FULL_SCHEMA, "3f6ec6305dd453d7", id="everything a schema can have"),
        pytest.param({}, "08f44b07b5901a25", id="nothing"),
    ],
)
def test_the_hash_is_kros(spec: dict[str, Any], expected: str) -> None:
    assert spec_hash(spec) == expected


def changed(**schema: Any) -> dict[str, Any]:
    return {**SHOP, "schema": {**SCHEMA, **schema}}


def with_resources(*resources: dict[str, Any]) -> dict[str, Any]:
    return {**SHOP, "resources": list(resources)}


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(with_resources(PODS, CONFIG, DEPLOYMENT), id="another order of resources"),
        pytest.param(
            with_resources(
                {**DEPLOYMENT, "readyWhen": DEPLOYMENT["readyWhen"][::-1]}, CONFIG, PODS
            ),
            id="another order of conditions",
        ),
        pytest.param(
            with_resources(dict(reversed(DEPLOYMENT.items())), CONFIG, PODS),
            id="another order of fields",
        ),
        pytest.param(
            with_resources({**DEPLOYMENT, "includeWhen": [], "forEach": []}, CONFIG, PODS),
            id="empty lists instead of none",
        ),
        pytest.param(changed(group="kro.run", scope="Namespaced"), id="defaults written out"),
        pytest.param(changed(types=None, shortNames=[]), id="null instead of nothing"),
        pytest.param(changed(unknown="x"), id="fields the API does not have"),
    ],
)
def test_what_means_the_same_has_the_same_hash(spec: dict[str, Any]) -> None:
    assert spec_hash(spec) == SHOP_HASH


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(
            with_resources(DEPLOYMENT, CONFIG, {**PODS, "forEach": PODS["forEach"][::-1]}),
            id="another order of dimensions",
        ),
        pytest.param(with_resources(DEPLOYMENT, CONFIG), id="a resource less"),
        pytest.param(changed(status={}), id="an empty block instead of a full one"),
        pytest.param(changed(scope="Cluster"), id="another scope"),
        pytest.param(changed(metadata={}), id="metadata, though empty"),
    ],
)
def test_what_means_something_else_has_another_hash(spec: dict[str, Any]) -> None:
    assert spec_hash(spec) != SHOP_HASH


def test_numbers_in_free_blocks_are_compared_by_value() -> None:
    whole = deepcopy(DEPLOYMENT)
    whole["template"]["spec"]["replicas"] = 3.0
    assert spec_hash(with_resources(whole, CONFIG, PODS)) == SHOP_HASH


@pytest.mark.parametrize("spec", [{"schema": 3, "resources": "x"}, {"resources": [None, 1]}])
def test_a_malformed_spec_has_a_hash_too(spec: dict[str, Any]) -> None:
    assert len(spec_hash(spec)) == 16


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@settings(max_examples=200)
@given(st.lists(json_values, max_size=4), st.randoms())
def test_no_order_of_resources_changes_the_hash(templates: list[Any], random: Any) -> None:
    resources = [{"id": f"r{i}", "template": each} for i, each in enumerate(templates)]
    shuffled = resources[:]
    random.shuffle(shuffled)
    assert spec_hash({"resources": shuffled}) == spec_hash({"resources": resources})


@pytest.mark.parametrize(
    ("definition", "number", "name"),
    [
        pytest.param("shop", 7, "shop-r00007", id="padded"),
        pytest.param("shop", 123456, "shop-r123456", id="more digits than padding"),
        pytest.param("a" * 246, 1, "a" * 246 + "-r00001", id="just fits"),
        pytest.param("a" * 247, 1, "a" * 237 + "-r00001-ee12716e", id="too long: cut, with a hash"),
        pytest.param(
            "a" * 200 + "." * 53, 123456, "a" * 200 + "-r123456-2a87d969", id="no dot at the cut"
        ),
        pytest.param("." * 253, 1, "gr-r00001-02542d41", id="nothing left"),
    ],
)
def test_names_are_kros(definition: str, number: int, name: str) -> None:
    assert revision_name(definition, number) == name
    assert len(name) <= 253


@pytest.mark.parametrize(
    ("last_issued", "live", "number"),
    [
        pytest.param(0, [], 1, id="the first"),
        pytest.param(0, [3, 1], 4, id="after what is there"),
        pytest.param(9, [3], 10, id="after what was there once"),
    ],
)
def test_numbers_are_never_used_twice(last_issued: int, live: list[int], number: int) -> None:
    assert next_number(last_issued, live) == number


@pytest.mark.parametrize(
    ("live", "keep", "gone"),
    [
        pytest.param([3, 1, 2], 2, [1], id="the oldest goes"),
        pytest.param([1, 2], 2, [], id="as many as are kept"),
        pytest.param([1], 5, [], id="fewer than are kept"),
        pytest.param([1, 2, 3], 0, [], id="none is ever deleted"),
        pytest.param([1, 2, 3], -1, [], id="below zero likewise"),
        pytest.param([], 3, [], id="nothing there"),
    ],
)
def test_the_newest_revisions_are_kept(live: list[int], keep: int, gone: list[int]) -> None:
    assert expired_numbers(live, keep) == gone


def test_a_revision_keeps_the_spec_and_goes_with_its_definition() -> None:
    definition = {"metadata": {"name": "shop", "uid": "u-1", "generation": 4}, "spec": SHOP}
    assert revision_object(definition, 2, "v0.9.4") == {
        "apiVersion": "internal.kro.run/v1alpha1",
        "kind": "GraphRevision",
        "metadata": {
            "name": "shop-r00002",
            "labels": {
                "kro.run/owned": "true",
                "kro.run/kro-version": "v0.9.4",
                "kro.run/resource-graph-definition-name": "shop",
                "kro.run/graph-revision-hash": SHOP_HASH,
            },
            "ownerReferences": [
                {
                    "apiVersion": "kro.run/v1alpha1",
                    "kind": "ResourceGraphDefinition",
                    "name": "shop",
                    "uid": "u-1",
                    "controller": True,
                }
            ],
        },
        "spec": {"revision": 2, "snapshot": {"name": "shop", "generation": 4, "spec": SHOP}},
    }
