"""
Workloads that were sent to a real API server, and what it made of them.

`tools/recording/workloads.py` recorded them; each is taken by our strategies in the order in which
the verbs ask them.
"""

import json
import zlib
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sandbox_testing.gate import Gate

from kube_objects.refs import Kind, KubeObject
from kube_sandbox import api_errors
from kube_sandbox.registry import object_meta
from kube_sandbox.registry.builtin.go_codec.round_trip import GoRoundTrip, round_trip_of
from kube_sandbox.registry.builtin.workload_strategies import WORKLOADS
from kube_sandbox.registry.strategy import RequestContext

UID = "00000000-0000-4000-8000-000000000000"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
RECORDED: list[dict[str, Any]] = json.loads(
    zlib.decompress((Path(__file__).parent / "data" / "workloads.json.zlib").read_bytes())
)
PRIORITIES = {"system-node-critical": 2000001000, "system-cluster-critical": 2000000000}
GATE = Gate(
    *(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "preemptionPolicy": "PreemptLowerPriority",
        }
        for name, value in PRIORITIES.items()
    )
)
OCCASION = RequestContext(NOW)
SUBRESOURCES = {"~": "", "s": "status", "e": "ephemeralcontainers", "r": "resize"}


def kind_of(obj: KubeObject) -> Kind:
    group, _, version = obj["apiVersion"].rpartition("/")
    return Kind(group, version, obj["kind"])


def form_of(obj: KubeObject) -> GoRoundTrip:
    form = round_trip_of(kind_of(obj))
    assert form is not None
    return form


def created(line: dict[str, Any], obj: KubeObject) -> list[str]:
    """Take a new object; return warnings."""
    strategy = WORKLOADS[line["bucket"]]
    obj["metadata"] |= {
        "namespace": "recorded",
        "uid": UID,
        "creationTimestamp": NOW.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    GATE.change(obj)
    strategy.prepare_create(obj, OCCASION)
    errors = strategy.validate_create(obj, OCCASION) or object_meta.common_create(obj, True)
    if errors:
        raise refusal(obj, errors)
    return strategy.warnings(obj, None) + GATE.admit(obj)


def updated(line: dict[str, Any], obj: KubeObject) -> list[str]:
    """Take a changed object; return warnings."""
    strategy, live = WORKLOADS[line["bucket"]], deepcopy(line["live"])
    subresource = SUBRESOURCES[line["verb"]]
    GATE.change(obj, live, subresource)
    strategy.prepare_update(obj, live, subresource, OCCASION)
    errors = object_meta.common_update(obj, live, True)
    errors += strategy.validate_update(obj, live, subresource, OCCASION)
    assert live == line["live"]
    if errors:
        raise refusal(obj, errors)
    told = GATE.admit(obj, live, subresource)
    return told if subresource else strategy.warnings(obj, live) + told


def refusal(obj: KubeObject, errors: list[Any]) -> api_errors.StatusError:
    kind = kind_of(obj)
    return api_errors.invalid(kind.group, kind.kind, obj["metadata"]["name"], errors)


def named(line: dict[str, Any]) -> str:
    return f"{line['bucket']} {line['verb']} {line['change'] or 'as it is'}"[:120]


def taken(line: dict[str, Any]) -> dict[str, Any]:
    """Take an object; return what was recorded of a real API server's answer."""
    obj = form_of(line["body"]).normal(line["body"])
    take = created if line["verb"] == "+" else updated
    try:
        WORKLOADS[line["bucket"]].default(obj)
        warnings = take(line, obj)
    except api_errors.StatusError as error:
        causes = error.details.get("causes", [])
        return {"code": error.code, "message": error.message, "causes": causes}
    code = 201 if line["verb"] == "+" else 200
    return {"code": code, "object": obj, "warnings": warnings}


@pytest.mark.parametrize("line", RECORDED, ids=named)
def test_a_workload_is_taken_as_a_real_api_server_takes_it(line: dict[str, Any]) -> None:
    found = taken(line)
    assert found == {key: line[key] for key in found}
    if "object" in found:
        assert form_of(found["object"]).normal(found["object"]) == found["object"]


@pytest.mark.parametrize("bucket", WORKLOADS)
def test_defaults_add_nothing_to_what_the_server_stored(bucket: str) -> None:
    for line in RECORDED:
        if line["bucket"] != bucket or "object" not in line:
            continue
        stored = form_of(line["object"]).normal(line["object"])
        again = deepcopy(stored)
        WORKLOADS[bucket].default(again)
        assert again == stored


@pytest.mark.parametrize("bucket", WORKLOADS)
def test_who_writes_a_spec_owns_nothing_of_the_status(bucket: str) -> None:
    strategy = WORKLOADS[bucket]
    if bucket in ("podtemplates", "controllerrevisions.apps"):
        assert strategy.reset_fields("") == ()
        return
    assert strategy.reset_fields("") == (("status",),)
    assert ("spec",) in strategy.reset_fields("status")
