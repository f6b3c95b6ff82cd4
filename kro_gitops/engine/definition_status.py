"""
What a definition and a graph revision report, in kro's words.

A definition is `Active` when its graph is accepted, its kind served and its controller runs,
whichever generation that is about: a new spec that is wrong does not take the old one down.
"""

from collections.abc import Mapping
from typing import Any

from kro_gitops.engine.graph.nodes import Graph
from kube_objects.conditions import (
    FALSE,
    TRUE,
    UNKNOWN,
    Condition,
    ConditionSet,
    ConditionTypes,
)

REVISIONS = "GraphRevisionsResolved"
ACCEPTED = "GraphAccepted"
KIND = "KindReady"
CONTROLLER = "ControllerReady"
TYPES = ConditionTypes((REVISIONS, ACCEPTED, KIND, CONTROLLER), obsolete=("ResourceGraphAccepted",))

VERIFIED = "GraphVerified"
REVISION_TYPES = ConditionTypes((VERIFIED,))

ACTIVE = "Active"
INACTIVE = "Inactive"

IS_ACCEPTED = Condition(ACCEPTED, TRUE, "Valid", "resource graph and schema are valid")
IS_RUNNING = Condition(CONTROLLER, TRUE, "Running", "controller is running")
IS_VERIFIED = Condition(VERIFIED, TRUE, "Verified", "graph revision compiled and verified")


def resolved(number: int) -> Condition:
    """Return which revision is served."""
    return Condition(REVISIONS, TRUE, "Resolved", f"revision {number} compiled and active")


def revision_failed(number: int) -> Condition:
    """Report that the latest revision does not compile any more."""
    text = f"latest graph revision {number} failed compilation"
    return Condition(REVISIONS, FALSE, "Failed", text)


def not_accepted(text: str) -> Condition:
    """Return the problems of a definition."""
    return Condition(ACCEPTED, FALSE, "InvalidResourceGraph", text)


def kind_ready(kind: str) -> Condition:
    """Report that a kind is served."""
    return Condition(KIND, TRUE, "Ready", f"kind {kind} has been accepted and ready")


def kind_failed(text: str) -> Condition:
    """Return why a kind is not served as its definition has it."""
    return Condition(KIND, FALSE, "Failed", text)


def not_running(text: str) -> Condition:
    """Return why instances are not worked on."""
    return Condition(CONTROLLER, FALSE, "FailedToStart", text)


def not_verified(name: str, text: str) -> Condition:
    """Return why a revision does not compile."""
    words = f'failed to compile graph revision "{name}": {text}'
    return Condition(VERIFIED, FALSE, "InvalidGraph", words)


def deleting(text: str) -> Condition:
    """Return what a definition that goes waits for."""
    return Condition(CONTROLLER, UNKNOWN, "UnderDeletion", text)


def topology_status(graph: Graph | None) -> dict[str, Any]:
    """Return the order and dependencies of a graph, as a status has them."""
    if graph is None:
        return {}
    resources = [
        {"id": name, "dependencies": [{"id": each.id} for each in graph.nodes[name].dependencies]}
        for name in graph.order
        if graph.nodes[name].dependencies
    ]
    found: dict[str, Any] = {"topologicalOrder": list(graph.order)} if graph.order else {}
    return {**found, "resources": resources} if resources else found


def definition_status(
    conditions: ConditionSet, graph: Graph | None, last_issued: int, former: Mapping[str, Any]
) -> dict[str, Any]:
    """Put a definition's status together."""
    is_active = conditions.is_true(ACCEPTED, KIND, CONTROLLER)
    status: dict[str, Any] = {
        "state": ACTIVE if is_active else INACTIVE,
        "conditions": conditions.to_json(),
        **topology_status(graph),
    }
    last = max(last_issued, former.get("lastIssuedRevision") or 0)
    return {**status, "lastIssuedRevision": last} if last else status
