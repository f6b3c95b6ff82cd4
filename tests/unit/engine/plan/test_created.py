"""What others read of a child is what the API server stores, or unknown."""

from typing import Any

import pytest

from kro_gitops.engine.plan.created import certain_parts
from kube_objects.builtins.catalog import catalog
from kube_objects.refs import Kind
from kube_objects.schemas import KindSchema

CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
SECRET = {"apiVersion": "v1", "kind": "Secret"}
POD = {"apiVersion": "v1", "kind": "Pod"}


def stored(**fields: Any) -> dict[str, Any]:
    obj = {"metadata": {"name": "x"}, **fields}
    served = catalog.schema_of(Kind.of(obj["apiVersion"], obj["kind"]))
    assert served is not None
    found = certain_parts(obj, served)
    assert found.pop("metadata") == {"name": "x"}
    return {key: value for key, value in found.items() if key not in ("apiVersion", "kind")}


def test_a_status_is_not_stored_and_the_server_sets_its_own_metadata() -> None:
    left_over = {"uid": "1", "creationTimestamp": None, "generation": 3, "finalizers": ["a/b"]}
    metadata = {"name": "x", **left_over}
    assert stored(**CLAIM, metadata=metadata, status={"phase": "Bound"}) == {}


@pytest.mark.parametrize("value", [None, "", 0, False, {}, []])
def test_an_empty_field_of_a_builtin_kind_may_be_gone(value: Any) -> None:
    assert stored(**POD, spec={"hostNetwork": value, "nodeName": "n"}) == {
        "spec": {"nodeName": "n"}
    }


def test_where_absent_means_something_else_a_zero_is_kept() -> None:
    obj = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 0, "paused": False}}
    assert stored(**obj) == {"spec": {"replicas": 0}}


@pytest.mark.parametrize(
    ("written", "is_kept"), [("1Gi", True), ("1024Mi", False), (1, False), ("x", False)]
)
def test_a_quantity_is_kept_in_its_shortest_form_only(written: Any, is_kept: bool) -> None:
    requests = stored(**CLAIM, spec={"resources": {"requests": {"storage": written}}})["spec"][
        "resources"
    ]["requests"]
    assert (requests["storage"] == written) is is_kept
    assert list(requests) == ["storage"]


@pytest.mark.parametrize(
    ("written", "is_kept"), [("eA==", True), ("", True), ("eA=\n=", False), ("?", False)]
)
def test_bytes_are_kept_as_they_are_encoded_only(written: str, is_kept: bool) -> None:
    assert (stored(**SECRET, data={"k": written})["data"]["k"] == written) is is_kept


def test_a_null_in_a_map_has_its_key_but_no_value() -> None:
    data = stored(apiVersion="v1", kind="ConfigMap", data={"a": None, "b": "", "c": "x"})["data"]
    assert list(data) == ["a", "b", "c"]
    assert (data["b"], data["c"]) == ("", "x")
    assert data["a"] is not None


def test_a_custom_kind_keeps_what_is_empty_but_not_null() -> None:
    spec = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "array"}, "c": {"type": "string"}},
    }
    schema = {"type": "object", "properties": {"spec": spec}}
    served = KindSchema(Kind("example.com", "v1", "Thing"), "things", True, schema)
    obj = {"metadata": {"name": "x"}, "spec": {"a": "", "b": [], "c": None}}
    assert certain_parts(obj, served)["spec"] == {"a": "", "b": []}
