"""Hundreds of writes that a real API server answered, played to ours."""

import copy
import json
import re
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sandbox_testing.gate import Gate

from kube_objects.builtins.catalog import catalog
from kube_objects.refs import Kind
from kube_objects.schemas import KindSchema
from kube_sandbox.api_errors import StatusError, bad_request, invalid, qualified
from kube_sandbox.registry import object_meta
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy
from kube_sandbox.registry.builtin.go_codec.round_trip import round_trip_of
from kube_sandbox.registry.builtin.registry import strategies
from kube_sandbox.registry.field_errors import invalid as field_error
from kube_sandbox.registry.strategy import Errors, RequestContext, Strategy

RECORDED = Path(__file__).parent / "data" / "recorded.json.zlib"
STRATEGIES = strategies()
GATE = Gate()
NAMESPACE = "e-recorded"
OCCASION = RequestContext(datetime(2026, 1, 1, tzinfo=UTC), dry_run=True)
OTHER_NAMESPACE = (
    "the namespace of the provided object does not match the namespace sent on the request"
)

Json = dict[str, Any]
# Told by whoever serves the kind, not by its strategy.
DEPRECATED = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"


def cases() -> Iterator[Any]:
    for number, case in enumerate(json.loads(zlib.decompress(RECORDED.read_bytes()))):
        verb = f"{case['verb']} {case.get('subresource', '')}".strip()
        yield pytest.param(case, id=f"{number} {verb} {case['kind']}")


def answered(case: Json) -> tuple[int, Json, list[str]]:
    version, _, name = case["kind"].rpartition(" ")
    found = catalog.find(Kind.of(version, name))
    assert found is not None
    strategy = STRATEGIES[qualified(found.kind.group, found.plural)]
    try:
        if case["verb"] == "create":
            return 201, *created(found, strategy, copy.deepcopy(case["body"]))
        live = copy.deepcopy(case["live"])
        body = copy.deepcopy(case["body"])
        return 200, *updated(found, strategy, live, body, case["subresource"])
    except StatusError as error:
        return error.code, error.status(), []


def read(found: KindSchema, strategy: Strategy, body: Json) -> tuple[Json, list[str]]:
    form = round_trip_of(found.kind)
    assert form is not None
    obj, unknown = form.read(body)
    strategy.default(obj)
    return obj, unknown


def place(found: KindSchema, meta: Json) -> None:
    if not found.namespaced:
        meta.pop("namespace", None)
    elif meta.setdefault("namespace", NAMESPACE) != NAMESPACE:
        raise bad_request(OTHER_NAMESPACE)


def created(found: KindSchema, strategy: Strategy, body: Json) -> tuple[Json, list[str]]:
    obj, told = read(found, strategy, body)
    meta = obj["metadata"]
    if meta.get("generateName") and not meta.get("name"):
        meta["name"] = meta["generateName"] + "bcdfg"
    place(found, meta)
    for part in ("selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"):
        meta.pop(part, None)
    meta.update(uid="u", creationTimestamp="2026-01-01T00:00:00Z")
    GATE.change(obj)
    strategy.prepare_create(obj, OCCASION)
    errors = strategy.validate_create(obj, OCCASION)
    errors = errors or object_meta.common_create(obj, found.namespaced)
    if errors:
        raise refusal(found, obj, errors)
    return obj, told + strategy.warnings(obj, None) + GATE.admit(obj)


def refusal(found: KindSchema, obj: Json, errors: Errors) -> StatusError:
    # All Events are of the core group inside an API server.
    group = "" if found.kind.kind == "Event" else found.kind.group
    return invalid(group, found.kind.kind, obj["metadata"].get("name", ""), errors)


def updated(
    found: KindSchema, strategy: Strategy, live: Json, body: Json, subresource: str
) -> tuple[Json, list[str]]:
    live.get("metadata", {}).pop("managedFields", None)
    obj, told = read(found, strategy, body)
    meta, before = obj["metadata"], live["metadata"]
    meta.pop("managedFields", None)
    place(found, meta)
    if not meta.get("resourceVersion"):
        assert isinstance(strategy, BaseStrategy)
        if not strategy.allows_unconditional_update:
            why = field_error("metadata.resourceVersion", 0, "must be specified for an update")
            raise invalid(found.kind.group, found.plural, meta["name"], [why])
        meta["resourceVersion"] = before["resourceVersion"]
    if "generation" in before:
        meta["generation"] = before["generation"]
    else:
        meta.pop("generation", None)
    GATE.change(obj, live, subresource)
    strategy.prepare_update(obj, live, subresource, OCCASION)
    meta.setdefault("uid", before["uid"])
    meta["creationTimestamp"] = before["creationTimestamp"]
    errors = object_meta.common_update(obj, live, found.namespaced)
    errors += strategy.validate_update(obj, live, subresource, OCCASION)
    if errors:
        raise refusal(found, obj, errors)
    return obj, told + strategy.warnings(obj, live) + GATE.admit(obj, live, subresource)


def comparable(answer: Json, case: Json) -> Json:
    """Return an answer without what is different each time."""
    text = re.sub(r"(?<=UPPER-)[a-z0-9]{5}", "*****", json.dumps(answer))
    found: Json = json.loads(text)
    if found.get("kind") == "Status" and "apiVersion" in found:
        # Go walks maps in no order.
        causes = found.get("details", {}).get("causes", [])
        causes.sort(key=lambda each: json.dumps(each, sort_keys=True))
        if len(causes) > 1:
            found["message"] = sorted(found["message"])
        return found
    for part in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
        found["metadata"].pop(part, None)
    if "generateName" in found["metadata"]:
        found["metadata"].pop("name", None)
    if found["kind"] == "PersistentVolume":
        found["status"].pop("lastPhaseTransitionTime", None)
    if found["kind"] == "Service":
        mask(found["spec"], case["body"].get("spec") or {})
    return found


def mask(spec: Json, asked: Json) -> None:
    """Hide what an API server chooses by chance."""
    was_asked = asked.get("clusterIP") or asked.get("clusterIPs")
    if not was_asked and spec.get("clusterIP", "None") != "None":
        spec["clusterIP"], spec["clusterIPs"] = "chosen", ["chosen"]
    wanted = {each.get("nodePort") for each in asked.get("ports") or () if isinstance(each, dict)}
    for port in spec.get("ports", ()):
        if "nodePort" in port and port["nodePort"] not in wanted:
            port["nodePort"] = "chosen"
    if not asked.get("healthCheckNodePort") and "healthCheckNodePort" in spec:
        spec["healthCheckNodePort"] = "chosen"


@pytest.mark.parametrize("case", list(cases()))
def test_a_write_is_answered_as_by_a_real_server(case: Json) -> None:
    code, answer, warnings = answered(case)
    expected = comparable(case["answer"], case)
    assert (code, comparable(answer, case)) == (case["code"], expected)
    if code < 300:
        assert warnings == [each for each in case["warnings"] if each != DEPRECATED]
