"""
Which fields of an object are ours; did somebody take one away?

The entries are what a real API server recorded for these very objects.
"""

import json
from typing import Any

import pytest

from kube_objects.managed_fields import (
    CachedObject,
    other_managers,
    owns_all_fields,
    pack_owned_fields,
)

OURS = "kro.run/applyset"


def metadata(**more: Any) -> dict[str, Any]:
    return {"name": "x", "namespace": "default", **more}


def held(fields: Any, applied: dict[str, Any]) -> bool:
    return owns_all_fields(pack_owned_fields(managed(entry(OURS, fieldsV1=fields)), OURS), applied)


def managed(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"managedFields": list(entries)}}


def entry(manager: str, operation: str = "Apply", **more: Any) -> dict[str, Any]:
    return {"manager": manager, "operation": operation, "fieldsV1": {"f:a": {}}, **more}


CONFIG_MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": metadata(labels={"l": "1"}, annotations={"n": "2"}),
    "data": {"x": "1"},
}
ABOUT_CONFIG_MAP: dict[str, Any] = {"f:annotations": {"f:n": {}}, "f:labels": {"f:l": {}}}

UDP = 'k:{"port":53,"protocol":"UDP"}'
PORTS: dict[str, Any] = {
    'k:{"port":53,"protocol":"TCP"}': {".": {}, "f:name": {}, "f:port": {}},
    UDP: {".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}},
}
SERVICE = {
    "metadata": metadata(),
    "spec": {
        "selector": {"app": "x"},
        # The first leaves its protocol to the default, which is part of its key.
        "ports": [{"name": "dns", "port": 53}, {"name": "udp", "port": 53, "protocol": "UDP"}],
    },
}

CONTAINER = {
    ".": {},
    "f:args": {},
    "f:env": {
        'k:{"name":"A"}': {".": {}, "f:name": {}, "f:value": {}},
        'k:{"name":"B"}': {".": {}, "f:name": {}, "f:value": {}},
    },
    "f:image": {},
    "f:name": {},
    "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}},
    "f:resources": {"f:limits": {"f:cpu": {}}},
    "f:securityContext": {"f:capabilities": {}},
}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": metadata(),
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": {"app": "x"}},
        "template": {
            "metadata": {"labels": {"app": "x"}},
            "spec": {
                "volumes": [{"name": "v", "emptyDir": {}}],
                "tolerations": [{"key": "k", "operator": "Exists"}],
                "containers": [
                    {
                        "name": "c",
                        "image": "nginx",
                        "args": ["a", "b"],
                        "resources": {"limits": {"cpu": "1000m"}},
                        "securityContext": {"capabilities": {}},
                        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                        "ports": [{"containerPort": 80}],
                    }
                ],
            },
        },
    },
}


def deployment(container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """Return what was recorded of the deployment."""
    pods = {
        "f:containers": {'k:{"name":"c"}': CONTAINER if container is None else container},
        "f:tolerations": {},
        "f:volumes": {'k:{"name":"v"}': {".": {}, "f:emptyDir": {}, "f:name": {}}},
    }
    template = {"f:metadata": {"f:labels": {"f:app": {}}}, "f:spec": pods}
    return {"f:spec": {"f:replicas": {}, "f:selector": {}, "f:template": template, **spec}}


def without(fields: dict[str, Any], *path: str) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(fields))
    holder = copy
    for step in path[:-1]:
        holder = holder[step]
    del holder[path[-1]]
    return copy


@pytest.mark.parametrize(
    ("fields", "applied"),
    [
        ({"f:data": {"f:x": {}}, "f:metadata": ABOUT_CONFIG_MAP}, CONFIG_MAP),
        ({"f:spec": {"f:ports": PORTS, "f:selector": {}}}, SERVICE),
        (deployment(), DEPLOYMENT),
        # Lists and objects that are one field to the server.
        ({"f:rules": {}}, {"metadata": metadata(), "rules": [{"verbs": ["get"]}]}),
        (
            {"f:spec": {"f:accessModes": {}, "f:resources": {"f:requests": {"f:storage": {}}}}},
            {
                "metadata": metadata(),
                "spec": {"accessModes": ["RWO"], "resources": {"requests": {"storage": "1Gi"}}},
            },
        ),
        # Nothing in them, but recorded; and the other way round.
        ({"f:data": {}, "f:metadata": {"f:labels": {}}}, {"metadata": metadata(), "data": {}}),
        ({"f:metadata": {"f:labels": {}}}, {"metadata": metadata(labels={}), "data": {}}),
        # Null is recorded as if it were a value.
        (
            {"f:data": {"f:x": {}, "f:y": {}}},
            {"metadata": metadata(), "data": {"x": None, "y": "1"}},
        ),
        # What names an object, and its status, are not recorded.
        (
            {"f:spec": {"f:replicas": {}}},
            {
                "kind": "X",
                "metadata": metadata(uid="u"),
                "spec": {"replicas": 1},
                "status": {"a": 1},
            },
        ),
    ],
)
def test_what_was_applied_is_ours(fields: dict[str, Any], applied: dict[str, Any]) -> None:
    assert held(fields, applied)


@pytest.mark.parametrize(
    ("fields", "applied"),
    [
        # A value changed; then the only label removed.
        ({"f:metadata": ABOUT_CONFIG_MAP}, CONFIG_MAP),
        ({"f:data": {"f:x": {}}, "f:metadata": {"f:annotations": {"f:n": {}}}}, CONFIG_MAP),
        ({"f:spec": {"f:ports": PORTS}}, SERVICE),
        (
            {"f:spec": {"f:ports": without(PORTS, UDP), "f:selector": {}}},
            SERVICE,
        ),
        (without(deployment(), "f:spec", "f:replicas"), DEPLOYMENT),
        (deployment(without(CONTAINER, "f:image")), DEPLOYMENT),
        (deployment(without(CONTAINER, "f:args")), DEPLOYMENT),
        (deployment(without(CONTAINER, "f:env", 'k:{"name":"B"}')), DEPLOYMENT),
        (deployment(without(CONTAINER, "f:env", 'k:{"name":"A"}', "f:value")), DEPLOYMENT),
        (deployment(without(CONTAINER, "f:resources")), DEPLOYMENT),
    ],
)
def test_what_somebody_took_is_missed(fields: dict[str, Any], applied: dict[str, Any]) -> None:
    assert not held(fields, applied)


def test_an_object_of_nobody_is_not_ours() -> None:
    assert not owns_all_fields(b"", CONFIG_MAP)
    assert not held({}, CONFIG_MAP)


OWNED = metadata(finalizers=["a.io/x", "a.io/y"], ownerReferences=[{"name": "a", "uid": "1111"}])
ABOUT_OWNED: dict[str, Any] = {
    "f:finalizers": {'v:"a.io/x"': {}, 'v:"a.io/y"': {}},
    "f:ownerReferences": {'k:{"uid":"1111"}': {}},
}


def test_sets_are_compared_by_their_size_and_owners_by_their_uid() -> None:
    applied = {"metadata": OWNED}
    assert held({"f:metadata": ABOUT_OWNED}, applied)
    assert not held({"f:metadata": without(ABOUT_OWNED, "f:finalizers", 'v:"a.io/y"')}, applied)
    assert not held({"f:metadata": without(ABOUT_OWNED, "f:ownerReferences")}, applied)
    twice = {"metadata": metadata(finalizers=["a.io/x", "a.io/x"])}
    assert held({"f:metadata": {"f:finalizers": {'v:"a.io/x"': {}}}}, twice)


def test_items_of_one_key_may_differ_in_another() -> None:
    both = [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80, "protocol": "UDP"}]
    applied = {"metadata": metadata(), "spec": {"ports": both}}
    item: dict[str, Any] = {".": {}, "f:containerPort": {}, "f:protocol": {}}
    tcp, udp = (f'k:{{"containerPort":80,"protocol":"{name}"}}' for name in ("TCP", "UDP"))
    assert held({"f:spec": {"f:ports": {tcp: item, udp: item}}}, applied)
    assert not held({"f:spec": {"f:ports": {tcp: item}}}, applied)


# Whose they are


def test_our_entry_is_the_one_we_applied() -> None:
    obj = managed(
        entry("kubectl"),
        entry(OURS, "Update", fieldsV1={"f:b": {}}),
        entry(OURS, subresource="status", fieldsV1={"f:status": {}}),
        entry(OURS),
    )
    ours = pack_owned_fields(obj, OURS)
    assert owns_all_fields(ours, {"a": 1})
    assert not owns_all_fields(ours, {"b": 1})
    assert pack_owned_fields(managed(entry("kubectl")), OURS) == b""
    assert pack_owned_fields({"metadata": {}}, OURS) == b""


def test_others_are_those_who_wrote_more_than_a_status() -> None:
    obj = managed(
        entry(OURS),
        entry("kubectl", "Update"),
        entry("kubelet", "Update", subresource="status"),
        entry("kubectl"),
        {"operation": "Update"},
    )
    assert other_managers(obj, [OURS]) == ("kubectl", "unknown")
    assert other_managers({"metadata": {"managedFields": None}}, [OURS]) == ()


def test_what_is_kept_is_an_object_like_any_other() -> None:
    kept = CachedObject({"metadata": {"name": "x"}}, b"{}")
    assert kept == {"metadata": {"name": "x"}}
    assert kept.owned == b"{}"
