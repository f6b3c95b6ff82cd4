"""Server-side apply and managed fields, one rule a test; all of it was seen at a real server."""

from typing import Any

import pytest

from kube_objects.builtins.catalog import catalog
from kube_objects.refs import Kind, KubeObject
from kube_sandbox.api_errors import StatusError
from kube_sandbox.managedfields.manager import (
    Types,
    Write,
    applied,
    restore_unchanged_times,
    updated,
)

FIRST, LATER = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
GROUP = "example.com"


def types_of(group: str, kind: str) -> Types:
    found = catalog.find(Kind(group, "v1", kind))
    assert found is not None
    return Types.of(found.schema)


CONFIG_MAP = types_of("", "ConfigMap")
SERVICE = types_of("", "Service")
DEPLOYMENT = types_of("apps", "Deployment")


def config(**fields: Any) -> KubeObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, **fields}


def by(manager: str, time: str = FIRST, **more: Any) -> Write:
    return Write(manager, time, **{"api_version": "v1", **more})


def apply(
    live: KubeObject | None, manager: str, *, force: bool = False, time: str = FIRST, **fields: Any
) -> KubeObject:
    return applied(live, config(**fields), CONFIG_MAP, by(manager, time), force=force)


def stored(obj: KubeObject) -> KubeObject:
    return {**obj, "metadata": {"uid": "1", "namespace": "n", **obj["metadata"]}}


def owned(obj: KubeObject) -> dict[str, Any]:
    entries = obj["metadata"].get("managedFields", ())
    return {f"{each['manager']} {each['operation']}": each["fieldsV1"] for each in entries}


def refusal(live: KubeObject | None, manager: str, **more: Any) -> StatusError:
    with pytest.raises(StatusError) as caught:
        apply(live, manager, **more)
    return caught.value


def test_apply_creates() -> None:
    assert apply(None, "a", data={"k": "1"}) == config(
        metadata={
            "name": "x",
            "managedFields": [
                {
                    "manager": "a",
                    "operation": "Apply",
                    "apiVersion": "v1",
                    "time": FIRST,
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:data": {"f:k": {}}},
                }
            ],
        },
        data={"k": "1"},
    )


def test_who_applies_nothing_owns_nothing() -> None:
    assert "managedFields" not in apply(None, "a")["metadata"]


def test_applying_the_same_changes_nothing() -> None:
    live = stored(apply(None, "a", data={"k": "1"}))
    assert apply(live, "a", data={"k": "1"}, time=LATER) == live


def test_who_applies_what_is_there_owns_it_too_since_no_time() -> None:
    live = apply(stored(apply(None, "a", data={"k": "1"})), "b", data={"k": "1"}, time=LATER)
    entries = live["metadata"]["managedFields"]
    assert [(each["manager"], each.get("time")) for each in entries] == [("b", None), ("a", FIRST)]


def test_a_conflict_is_told() -> None:
    live = stored(apply(None, "a", data={"k": "1"}))
    found = refusal(live, "b", data={"k": "2"})
    assert found.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'Apply failed with 1 conflict: conflict with "a": .data.k',
        "reason": "Conflict",
        "details": {
            "causes": [
                {
                    "reason": "FieldManagerConflict",
                    "message": 'conflict with "a"',
                    "field": ".data.k",
                }
            ]
        },
        "code": 409,
    }


def test_conflicts_with_several_are_told_by_manager() -> None:
    live = stored(apply(None, "a", data={"k": "1", "l": "1"}))
    live = updated(live, {**live, "data": {"k": "1", "l": "2"}}, CONFIG_MAP, by("u"))
    live = apply(live, "c", data={"k": "1"})
    assert refusal(live, "b", data={"k": "2", "l": "3"}).message == (
        "Apply failed with 3 conflicts: "
        'conflicts with "a":\n- .data.k\n'
        'conflicts with "c":\n- .data.k\n'
        'conflicts with "u" using v1:\n- .data.l'
    )


def test_a_conflict_with_a_subresource_says_so() -> None:
    live = stored(apply(None, "a", data={"k": "1"}))
    live = updated(live, {**live, "data": {"k": "2"}}, CONFIG_MAP, by("u", subresource="status"))
    assert refusal(live, "b", data={"k": "3"}).message == (
        "Apply failed with 1 conflict: "
        'conflict with "u" with subresource "status" using v1: .data.k'
    )


def test_force_takes_fields_from_others() -> None:
    live = stored(apply(None, "a", data={"k": "1", "l": "1"}))
    found = apply(live, "b", data={"k": "2"}, force=True, time=LATER)
    assert found["data"] == {"k": "2", "l": "1"}
    assert owned(found) == {
        "a Apply": {"f:data": {"f:l": {}}},
        "b Apply": {"f:data": {"f:k": {}}},
    }


def test_what_is_no_longer_applied_goes() -> None:
    live = stored(apply(None, "a", data={"k": "1", "l": "1"}))
    assert apply(live, "a", data={"k": "1"})["data"] == {"k": "1"}


def test_what_somebody_else_owns_stays() -> None:
    live = stored(apply(None, "a", data={"k": "1", "l": "1"}))
    live = apply(live, "b", data={"l": "1"})
    found = apply(live, "a", data={"k": "1"})
    assert found["data"] == {"k": "1", "l": "1"}
    assert owned(found)["a Apply"] == {"f:data": {"f:k": {}}}


def test_an_update_owns_what_it_changes_and_takes_what_it_removes() -> None:
    live = stored(apply(None, "a", data={"k": "1", "l": "1", "m": "1"}))
    found = updated(live, {**live, "data": {"k": "2", "l": "1"}}, CONFIG_MAP, by("u", LATER))
    assert owned(found) == {
        "a Apply": {"f:data": {"f:l": {}}},
        "u Update": {"f:data": {"f:k": {}}},
    }


def test_an_update_of_nothing_leaves_everything() -> None:
    live = stored(apply(None, "a", data={"k": "1"}))
    assert updated(live, {**live}, CONFIG_MAP, by("u", LATER)) == live


def test_a_create_owns_all_but_what_is_there_from_the_start() -> None:
    new = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "x", "generateName": "y"},
        "spec": {
            "strategy": {"type": "Recreate"},
            "template": {"spec": {"containers": [{"name": "a", "resources": {}}]}},
        },
        "status": {"replicas": 1},
    }
    write = by("u", api_version="apps/v1", reset=(("status",),))
    assert owned(updated(None, new, DEPLOYMENT, write)) == {
        "u Update": {
            "f:metadata": {"f:generateName": {}},
            "f:spec": {
                "f:strategy": {"f:type": {}},
                "f:template": {
                    "f:spec": {
                        "f:containers": {
                            'k:{"name":"a"}': {".": {}, "f:name": {}, "f:resources": {}}
                        }
                    }
                },
            },
        }
    }


@pytest.mark.parametrize("entries", [[], [{}]])
def test_managed_fields_are_cleared_by_an_update(entries: list[Any]) -> None:
    live = stored(apply(None, "a", data={"k": "1"}))
    new = {**live, "metadata": {**live["metadata"], "managedFields": entries}}
    assert "managedFields" not in updated(live, new, CONFIG_MAP, by("u"))["metadata"]


def test_what_was_there_before_the_first_apply_has_an_owner() -> None:
    live = stored(config(data={"k": "1", "l": "1"}))
    assert refusal(live, "a", data={"k": "2"}).message == (
        'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.k'
    )
    found = apply(live, "a", data={"k": "2"}, force=True)
    assert owned(found) == {
        "a Apply": {"f:data": {"f:k": {}}},
        "before-first-apply Update": {"f:data": {".": {}, "f:l": {}}},
    }


def test_managed_fields_cannot_be_applied() -> None:
    refused: tuple[list[Any], ...] = ([], [{}])
    for entries in refused:
        found = refusal(None, "a", metadata={"name": "x", "managedFields": entries})
        assert (found.code, found.message) == (400, "metadata.managedFields must be nil")
    assert apply(None, "a", metadata={"name": "x", "managedFields": None})


def test_only_its_own_kind_can_be_applied() -> None:
    for change in ({"kind": "Foo"}, {"apiVersion": "apps/v1"}):
        sent = config(**change)
        with pytest.raises(StatusError) as caught:
            applied(None, sent, CONFIG_MAP, by("a", kind="ConfigMap"), force=False)
        version = sent["apiVersion"] if "/" in sent["apiVersion"] else "/v1"
        assert caught.value.code == 400
        assert caught.value.message == f"invalid object type: {version}, Kind={sent['kind']}"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"data": {"k": 1}},
            ".data.k: expected string, got &value.valueUnstructured{Value:1}",
        ),
        ({"data": ["k"]}, ".data: expected map, got &{[k]}"),
        ({"immutable": "k"}, ".immutable: expected boolean, got &{k}"),
        ({"unknown": 1}, ".unknown: field not declared in schema"),
    ],
)
def test_wrong_types_are_told(fields: dict[str, Any], message: str) -> None:
    found = refusal(None, "a", **fields)
    text = f"failed to create typed patch object (/x; /v1, Kind=ConfigMap): {message}"
    assert (found.code, found.reason, found.message) == (500, "", text)


def service(*ports: Any) -> KubeObject:
    head = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}}
    return {**head, "spec": {"ports": list(ports)}}


@pytest.mark.parametrize(
    ("ports", "message"),
    [
        (
            [{"port": 80}, {"port": 80, "protocol": "TCP"}],
            '.spec.ports: duplicate entries for key [port=80,protocol="TCP"]',
        ),
        ([None], ".spec.ports: element 0: associative list with keys may not have a null element"),
        (
            [{"port": "a"}],
            '.spec.ports[port="a",protocol="TCP"].port: '
            "expected numeric (int or float), got string",
        ),
    ],
)
def test_wrong_items_are_told(ports: list[Any], message: str) -> None:
    with pytest.raises(StatusError) as caught:
        applied(None, service(*ports), SERVICE, by("a"), force=False)
    assert caught.value.message.endswith(f"Kind=Service): {message}")


def test_a_key_that_is_missing_in_a_built_in_kind_is_left_to_its_checks() -> None:
    found = applied(None, service({"name": "a"}), SERVICE, by("a"), force=False)
    assert list(owned(found)["a Apply"]["f:spec"]["f:ports"]) == ['k:{"port":0,"protocol":"TCP"}']


TEXT = {"type": "string"}
ITEM = {"type": "object", "properties": {"n": TEXT, "v": TEXT}, "required": ["n"]}


def custom(**fields: Any) -> Types:
    spec = {"type": "object", "properties": fields}
    return Types.of({"type": "object", "properties": {"spec": spec}}, custom=True)


def thing(**spec: Any) -> KubeObject:
    head = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": "x"}}
    return {**head, "spec": spec}


THINGS = f"{GROUP}/v1"


def test_a_key_that_is_missing_in_a_custom_kind_is_told() -> None:
    kinds = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"]}
    types = custom(k={"type": "array", "items": ITEM, **kinds})
    with pytest.raises(StatusError) as caught:
        applied(None, thing(k=[{"v": "2"}]), types, by("a", api_version=THINGS), force=False)
    assert caught.value.message == (
        "failed to create typed patch object (/x; example.com/v1, Kind=Thing): .spec.k: element 0: "
        'associative list with keys has an element that omits all key fields ["n"] '
        "(and doesn't have default values for any key fields)"
    )


def test_what_became_atomic_is_owned_as_a_whole() -> None:
    parts = {"type": "object", "properties": {"a": TEXT, "b": TEXT}}
    before = custom(m=parts, text=TEXT)
    after = custom(m={**parts, "x-kubernetes-map-type": "atomic"}, text=TEXT)
    write = by("a", api_version=THINGS)
    live = stored(applied(None, thing(m={"a": "1"}), before, write, force=False))
    assert owned(live) == {"a Apply": {"f:spec": {"f:m": {"f:a": {}}}}}
    new = {**live, "spec": {**live["spec"], "text": "x"}}
    found = updated(live, new, after, by("u", api_version=THINGS))
    assert owned(found) == {
        "a Apply": {"f:spec": {"f:m": {}}},
        "u Update": {"f:spec": {"f:text": {}}},
    }


def test_an_object_that_fits_its_schema_no_longer_cannot_be_applied() -> None:
    write = by("a", api_version=THINGS)
    live = stored(applied(None, thing(text="q"), custom(text=TEXT), write, force=False))
    types = custom(text={"type": "integer"})
    with pytest.raises(StatusError) as caught:
        applied(live, thing(text=5), types, write, force=True)
    assert caught.value.message == (
        "failed to create typed live object (n/x; example.com/v1, Kind=Thing): "
        ".spec.text: expected numeric (int or float), got string"
    )
    new = {**live, "spec": {"text": 7}}
    assert "managedFields" not in updated(live, new, types, write)["metadata"]


def test_versions_of_a_custom_kind_that_are_gone_are_in_the_way() -> None:
    types = custom(text=TEXT)
    old = by("a", api_version=f"{GROUP}/v0")
    sent = {**thing(text="1"), "apiVersion": f"{GROUP}/v0"}
    live = stored({**applied(None, sent, types, old, force=False), "apiVersion": THINGS})
    with pytest.raises(StatusError) as caught:
        applied(live, thing(text="1"), types, by("b", api_version=THINGS), force=False)
    assert caught.value.message == (
        "request to convert CR to an invalid group/version: example.com/v0"
    )
    known = by("b", api_version=THINGS, others={f"{GROUP}/v0": types})
    found = applied(live, thing(text="1"), types, known, force=False)
    assert {each["apiVersion"] for each in found["metadata"]["managedFields"]} == {
        f"{GROUP}/v0",
        THINGS,
    }


def test_versions_of_a_built_in_kind_that_are_gone_are_forgotten() -> None:
    live = stored(apply(None, "a", data={"k": "1"}))
    entry = {**live["metadata"]["managedFields"][0], "apiVersion": "v0", "manager": "old"}
    live["metadata"]["managedFields"].append(entry)
    assert list(owned(apply(live, "b", data={"l": "1"}))) == ["a Apply", "b Apply"]


def test_times_stay_where_nothing_else_differs() -> None:
    live = stored(apply(None, "a", data={"k": "1"}))
    entry = live["metadata"]["managedFields"][0]
    later = [{**entry, "time": LATER}]
    same = {**live, "metadata": {**live["metadata"], "managedFields": later}}
    assert restore_unchanged_times(live, same) == live
    changed = {**same, "data": {"k": "2"}}
    assert restore_unchanged_times(live, changed) == changed
    other = {**same, "metadata": {**same["metadata"], "managedFields": [{**entry, "manager": "b"}]}}
    assert restore_unchanged_times(live, other) == other


def test_metadata_of_another_type_are_told() -> None:
    found = refusal(None, "a", metadata="x")
    assert found.message == (
        "failed to create typed patch object (/; /v1, Kind=ConfigMap): "
        ".metadata: expected map, got &{x}"
    )


def test_what_is_applied_shares_nothing_with_the_live_object() -> None:
    live = stored(apply(None, "a", data={"k": "1"}))
    found = apply(live, "b", metadata={"name": "x", "labels": {"l": "1"}})
    found["data"]["k"] = "changed"
    found["metadata"]["name"] = "changed"
    assert (live["data"]["k"], live["metadata"]["name"]) == ("1", "x")


def test_true_is_not_one() -> None:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    types = custom(free=anything)
    live = stored(thing(free={"a": {"b": 1}}))
    live["metadata"]["managedFields"] = [
        {
            "manager": "m",
            "operation": "Update",
            "apiVersion": THINGS,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:free": {"f:a": {"f:b": {}}}}},
        }
    ]
    new = {**live, "spec": {"free": {"a": {"b": True}}}}
    found = updated(live, new, types, by("u", api_version=THINGS))
    assert list(owned(found)) == ["u Update"]


def test_references_by_name_alone_may_have_none() -> None:
    spec: KubeObject = {"template": {"spec": {"imagePullSecrets": [{}]}}}
    sent = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": spec}
    found = applied(None, sent, DEPLOYMENT, by("a", api_version="apps/v1"), force=False)
    pod = owned(found)["a Apply"]["f:spec"]["f:template"]["f:spec"]
    assert pod == {"f:imagePullSecrets": {'k:{"name":""}': {}}}
