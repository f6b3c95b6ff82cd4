"""Which managers stand for a person, and how their fields become ours."""

from collections.abc import Mapping
from typing import Any

import pytest

from kro_gitops.tracking.added_fields import (
    is_manual,
    manual_fields,
    move_fields,
    updated_fields,
)
from kube_objects.refs import KubeObject

OURS = "kro.run/applyset"


def entry(manager: str, fields: dict[str, Any], operation: str = "Update", **more: Any) -> Any:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "v1",
        "fieldsV1": fields,
        **more,
    }


def obj(*entries: Any) -> KubeObject:
    return {"metadata": {"name": "x", "resourceVersion": "1", "managedFields": list(entries)}}


def is_editor(found: Mapping[str, Any]) -> bool:
    return bool(found["manager"] == "kubectl-edit")


@pytest.mark.parametrize(
    "manager",
    [
        *("kubectl", "kubectl-edit", "kubectl-patch", "kubectl-client-side-apply"),
        *("kubectl-label", "before-first-apply", "k9s", "node-fetch", "OpenLens"),
    ],
)
def test_people_are_known_by_their_tools(manager: str) -> None:
    assert is_manual(manager)


@pytest.mark.parametrize(
    "manager",
    [
        *("kube-controller-manager", "vpa-recommender", "vpa-updater", "keda", "keda-operator"),
        *("istio-operator", "linkerd", "cert-manager-webhook", "helm", "velero-server"),
        *("kubectl-rollout", "argocd-controller", "kustomize-controller", "kubectlish", ""),
    ],
)
def test_controllers_are_nobody(manager: str) -> None:
    assert not is_manual(manager)
    assert is_manual(manager or "x", {manager or "x"})


def test_what_is_a_controllers_business_is_not_counted() -> None:
    spared = {
        "f:metadata": {
            "f:annotations": {"f:autoscaling.keda.sh/paused": {}, "f:kro.run/reconcile": {}},
            "f:finalizers": {'v:"a"': {}},
            "f:ownerReferences": {'k:{"uid":"1"}': {}},
        },
        "f:spec": {
            "f:replicas": {},
            "f:template": {
                "f:metadata": {"f:annotations": {"f:kubectl.kubernetes.io/restartedAt": {}}}
            },
        },
        "f:status": {"f:x": {}},
    }
    assert manual_fields(obj(entry("kubectl-edit", spared))) == {}
    scaled = entry("kubectl", {"f:spec": {"f:replicas": {}}}, subresource="scale")
    assert manual_fields(obj(scaled, entry("manager", {"f:data": {"f:x": {}}}))) == {}
    assert manual_fields(obj(entry("kubectl-edit", {"f:data": {"f:x": {}}}))) == {
        "f:data": {"f:x": {}}
    }
    assert manual_fields({"metadata": {}}) == {}


def test_fields_move_to_our_entry_and_others_stay() -> None:
    ours = entry(OURS, {"f:data": {"f:x": {}}}, "Apply")
    theirs = entry("kubectl-edit", {"f:data": {"f:y": {}, "f:z": {}}})
    operator = entry("operator", {"f:data": {"f:y": {}}})
    status = entry("kubectl", {"f:data": {"f:y": {}}}, subresource="status")
    found = obj(ours, theirs, operator, status)
    added: dict[str, Any] = {"f:data": {"f:y": {}}}
    moved = move_fields(found, added, OURS, is_editor)
    assert moved is not None
    assert moved.owners == ("kubectl-edit",)
    assert moved.entries == [
        {**ours, "fieldsV1": {"f:data": {"f:x": {}, "f:y": {}}}},
        {**theirs, "fieldsV1": {"f:data": {"f:z": {}}}},
        operator,
        status,
    ]


def test_there_may_be_nothing_to_move() -> None:
    ours = entry(OURS, {"f:data": {"f:x": {}}}, "Apply")
    theirs = entry("kubectl-edit", {"f:data": {"f:y": {}}})
    added: dict[str, Any] = {"f:data": {"f:y": {}}}
    assert move_fields(obj(theirs), added, OURS, is_editor) is None, "it is not ours"
    assert move_fields(obj(ours, theirs), {"f:spec": {}}, OURS, is_editor) is None
    newer = {**theirs, "apiVersion": "v2"}
    assert move_fields(obj(ours, newer), added, OURS, is_editor) is None
    left = move_fields(obj(ours, theirs), added, OURS, is_editor)
    assert left is not None
    assert len(left.entries) == 1, "an entry without fields goes"


def test_updates_of_others_are_told_from_applies() -> None:
    found = obj(
        entry(OURS, {"f:data": {"f:x": {}}}, "Apply"),
        entry("argocd", {"f:data": {"f:y": {}}}, "Apply"),
        entry("people", {"f:data": {"f:z": {}}}),
    )
    assert updated_fields(found) == {"f:data": {"f:z": {}}}
