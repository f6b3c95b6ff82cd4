"""
The request for a plan, an annotation of a source: its id, and the pins to assume.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from kro_gitops.errors import UserError
from kro_gitops.metadata import PLAN_REQUEST
from kube_objects.refs import KubeObject

_ASSUMED = ("pin", "pins")  # fields of the spec that a request may set
_LONGEST_ID = 64  # characters


def request_of(source: KubeObject) -> str:
    """Return the request for a plan; empty if there is none."""
    found: str = (source["metadata"].get("annotations") or {}).get(PLAN_REQUEST, "")
    return found


def current_plan(source: KubeObject) -> Mapping[str, Any]:
    """Return the plan in the status of a source, as long as it answers the request."""
    plan: dict[str, Any] = (source.get("status") or {}).get("plan") or {}
    request = request_of(source)
    return plan if request and plan.get("request") == request_id(request) else {}


def assumed_source(source: KubeObject, request: str) -> KubeObject:
    """Return a source with the fields of its spec that a request sets; null removes one."""
    try:
        asked = orjson.loads(request)
    except orjson.JSONDecodeError:
        asked = None
    if not isinstance(asked, dict) or not request_id(request):
        raise UserError(
            "invalid-plan-request",
            f"the annotation {PLAN_REQUEST} is not a request for a plan",
            hint='write {"id": "1", "pin": {"commit": "…"}}',
        )
    fields = {name: asked[name] for name in _ASSUMED if name in asked}
    spec = {**(source.get("spec") or {}), **fields}
    return {**source, "spec": {name: value for name, value in spec.items() if value is not None}}


def request_id(request: str) -> str:
    """Return the id of a request; empty if it has none."""
    try:
        found = orjson.loads(request)
    except orjson.JSONDecodeError:
        return ""
    id_ = found.get("id") if isinstance(found, dict) else None
    return id_[:_LONGEST_ID] if isinstance(id_, str) else ""
