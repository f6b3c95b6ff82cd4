"""Data of which only a part is known: what a cluster would add is named, not guessed."""

import json
from typing import Any

import pytest

from kube_cel.environment import Environment
from kube_cel.program import compile_text
from kube_cel.types import DYN
from kube_cel.values import MissingData, PartialMap, UnknownValue, partial

STRING = {"type": "string"}
DEPLOYMENT = {
    "type": "object",
    "properties": {
        "metadata": {
            "type": "object",
            "properties": {
                "name": STRING,
                "uid": STRING,
                "labels": {"type": "object", "additionalProperties": STRING},
            },
        },
        "spec": {
            "type": "object",
            "properties": {
                "replicas": {"type": "integer"},
                "ports": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"name": STRING, "node": STRING}},
                },
            },
        },
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    },
}
ENV = Environment.kro().extend(schemas={"deployment": DEPLOYMENT}, types={"x": DYN})
KNOWN = {
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {"replicas": 3, "ports": [{"name": "http"}]},
}
DATA = {"deployment": partial(KNOWN, "deployment"), "x": partial(KNOWN, "x")}


def evaluate(text: str) -> Any:
    return compile_text(text, ENV).evaluate(DATA)


def unknown(text: str) -> tuple[str, ...]:
    with pytest.raises(UnknownValue) as caught:
        evaluate(text)
    return caught.value.paths


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("deployment.metadata.name", "web"),
        ("deployment.spec.replicas + 1", 4),
        ("deployment.spec.ports.map(p, p.name)", ["http"]),
        ("deployment.metadata.labels['app']", "web"),
        ("has(deployment.metadata.name)", True),
        ("deployment.metadata.?name.orValue('')", "web"),
        ("'app' in deployment.metadata.labels", True),
        ("x.metadata.name", "web"),
        ("x.spec.ports.size()", 1),
    ],
)
def test_what_is_known_reads_as_usual(text: str, result: Any) -> None:
    assert evaluate(text) == result


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("deployment.metadata.uid", "deployment.metadata.uid"),
        ("deployment.status.ready", "deployment.status"),
        ("has(deployment.status)", "deployment.status"),
        ("has(deployment.status.ready)", "deployment.status"),
        ("deployment.?status.ready.orValue(false)", "deployment.status"),
        ("deployment.spec.ports.map(p, p.node)", "deployment.spec.ports[0].node"),
        ("deployment.metadata.labels['a.b']", 'deployment.metadata.labels["a.b"]'),
        ("'tier' in deployment.metadata.labels", "deployment.metadata.labels.tier"),
        ("x.status.ready", "x.status"),
        ("x[?'status']", "x.status"),
        ("dyn(deployment).status", "deployment.status"),
    ],
)
def test_what_only_the_cluster_knows_is_named(text: str, path: str) -> None:
    assert unknown(text) == (path,)


@pytest.mark.parametrize(
    "text",
    [
        "x.metadata",
        "[x.metadata]",
        "x.metadata.size()",
        "x.metadata.map(k, k)",
        "x.metadata.transformList(k, v, v)",
        "x.metadata == x.metadata",
        "x.metadata == {}",
        "json.marshal(x.metadata)",
        "x.metadata.merge({})",
    ],
)
def test_a_map_as_a_whole_is_not_known(text: str) -> None:
    assert unknown(text) == ("x.metadata",)


def test_a_typed_object_as_a_whole_is_not_known_either() -> None:
    assert unknown("deployment.metadata") == ("deployment.metadata",)
    assert unknown("deployment.metadata.labels.map(k, k)") == ("deployment.metadata.labels",)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("deployment.status.ready || true", True),
        ("false && deployment.status.ready", False),
        ("deployment.spec.replicas > 2 ? 'many' : deployment.metadata.uid", "many"),
        ("['a', 'b'].exists(v, v == 'b' || v == deployment.metadata.uid)", True),
        ("['a', 'b'].all(v, v == 'a' || v == 'c')", False),
    ],
)
def test_an_unknown_does_not_matter_if_the_rest_decides(text: str, result: Any) -> None:
    assert evaluate(text) == result


def test_unknowns_of_both_sides_add_up() -> None:
    assert unknown("deployment.status.ready && deployment.metadata.uid == ''") == (
        "deployment.status",
        "deployment.metadata.uid",
    )


@pytest.mark.parametrize(
    "text", ["deployment.status.ready && 1 / 0 > 0", "1 / 0 > 0 && deployment.status.ready"]
)
def test_an_unknown_wins_over_an_error(text: str) -> None:
    assert unknown(text) == ("deployment.status",)


class TestOpenKeys:
    notes = PartialMap({"team": "a"}, "schema.notes", is_open=lambda key: key.startswith("argocd."))

    def test_only_open_keys_are_unknown(self) -> None:
        with pytest.raises(UnknownValue) as caught:
            compile_text("x['argocd.id']", ENV).evaluate({"x": self.notes})
        assert caught.value.paths == ('schema.notes["argocd.id"]',)

    def test_others_are_absent_as_in_any_map(self) -> None:
        assert compile_text("has(x.owner)", ENV).evaluate({"x": self.notes}) is False
        with pytest.raises(MissingData, match="no such key: owner"):
            compile_text("x.owner", ENV).evaluate({"x": self.notes})

    def test_the_whole_is_still_unknown(self) -> None:
        with pytest.raises(UnknownValue):
            compile_text("x.size()", ENV).evaluate({"x": self.notes})


class TestMaps:
    def test_a_copy_is_made_and_the_original_stays(self) -> None:
        original = {"a": [{"b": 1}]}
        made = partial(original, "o")
        assert type(original["a"][0]) is dict
        assert isinstance(made["a"][0], PartialMap)
        assert made["a"][0].path == "o.a[0]"

    def test_the_known_part_can_be_taken_out(self) -> None:
        assert partial({"a": 1}, "o").known() == {"a": 1}

    def test_nothing_slips_out_unnoticed(self) -> None:
        made = partial({"a": 1}, "o")
        for read in (list, dict, len, bool, json.dumps, lambda m: {**m}, lambda m: m == {"a": 1}):
            with pytest.raises(UnknownValue):
                read(made)

    def test_deep_data_can_be_partial(self) -> None:
        deep: dict[str, Any] = {}
        for _ in range(5_000):
            deep = {"k": deep}
        assert isinstance(partial(deep, "d")["k"], PartialMap)
