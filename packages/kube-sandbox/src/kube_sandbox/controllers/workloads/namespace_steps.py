"""
Namespace: its initial objects, and its deletion.

All objects in a deleted namespace are deleted first; its conditions report what remains. Then its
finalizer is removed.

Follows kubernetes 1.35 pkg/controller/namespace/deletion/namespaced_resources_deleter.go
namespacedResourcesDeleter.Delete, namespacedResourcesDeleter.deleteAllContent;
pkg/controller/namespace/deletion/status_condition_utils.go namespaceConditionUpdater.Update;
pkg/controller/serviceaccount/serviceaccounts_controller.go
ServiceAccountsController.syncNamespace;
pkg/controller/certificates/rootcacertpublisher/publisher.go Publisher.syncNamespace.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.controllers.workloads.plan_steps import (
    Controller,
    Create,
    Finalize,
    Plan,
    PlanContext,
    RelatedObjects,
    Remove,
    Step,
    Update,
    condition_of,
    is_deleting,
    with_status,
)

FINALIZER = "kubernetes"
_ACCOUNT, _CA = ("serviceaccounts", "default"), ("configmaps", "kube-root-ca.crt")
INITIAL_OBJECTS = (_ACCOUNT, _CA)  # buckets and names
_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
    "guaranteed across distributions of Kubernetes clusters."
)
_SUCCESS_CONDITIONS = (
    (
        "NamespaceDeletionDiscoveryFailure",
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
)


def missing_initial_objects(
    namespace: KubeObject, seen: RelatedObjects, authority: str
) -> tuple[Step, ...]:
    """Return what is missing in a namespace that has everything: an account, and the CA's own."""
    if is_deleting(namespace):
        return ()
    name = namespace["metadata"]["name"]
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    ca = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"ca.crt": authority}}
    described = {"annotations": {"kubernetes.io/description": _DESCRIPTION}}
    wanted: Sequence[tuple[str, str, dict[str, Any], dict[str, Any]]] = (
        (*_ACCOUNT, account, {}),
        (*_CA, ca, described),
    )
    steps: list[Step] = []
    for bucket, each, obj, more in wanted:
        listed = (found for found in seen.get(bucket, ()) if found["metadata"]["name"] == each)
        found = next(listed, None)
        if found is None:
            metadata = {"name": each, "namespace": name, **more}
            steps.append(Create(bucket, {**obj, "metadata": metadata}))
        elif "data" in obj and found.get("data") != obj["data"]:
            # Another client changed it, or the store comes from another server.
            steps.append(Update(bucket, {**found, "data": obj["data"]}))
    return tuple(steps)


def plan(namespace: KubeObject, seen: RelatedObjects, moment: PlanContext) -> Plan:
    """Return the next steps of a namespace's end; `seen` is everything in it, by bucket."""
    if not is_deleting(namespace) or FINALIZER not in namespace["spec"].get("finalizers", ()):
        return Plan()
    since = namespace["metadata"]["deletionTimestamp"]
    wait = moment.left(since, moment.settings.namespace_delay)
    if wait:
        return Plan(next=wait)
    left = {bucket: found for bucket, found in seen.items() if found}
    removals: tuple[Step, ...] = tuple(
        Remove(bucket, obj)
        for bucket, found in left.items()
        for obj in found
        if not is_deleting(obj)
    )
    if left:
        return Plan((*removals, *_report_remaining(namespace, left, moment)))
    rest = tuple(each for each in namespace["spec"]["finalizers"] if each != FINALIZER)
    return Plan((Finalize(namespace, rest),))


def _report_remaining(
    namespace: KubeObject, left: Mapping[str, Sequence[KubeObject]], moment: PlanContext
) -> tuple[Step, ...]:
    """Return the step that says what holds a namespace up: what stays after it was deleted."""
    held = {
        bucket: [each for each in found if each["metadata"].get("finalizers")]
        for bucket, found in left.items()
    }
    stays = {bucket: found for bucket, found in held.items() if found}
    if not stays and not any(map(is_deleting, (each for found in left.values() for each in found))):
        return ()
    content = ("ContentRemoved", "All content successfully removed", "False")
    finalizing = ("ContentHasNoFinalizers", "All content-preserving finalizers finished", "False")
    if stays:
        listed = ", ".join(
            f"{name} has {count} resource instances"
            for name, count in sorted(
                # Resources of the core group end with a dot: their group is empty.
                (bucket if "." in bucket else f"{bucket}.", len(found))
                for bucket, found in stays.items()
            )
        )
        content = ("SomeResourcesRemain", f"Some resources are remaining: {listed}", "True")
        counted = Counter(
            finalizer
            for found in stays.values()
            for obj in found
            for finalizer in obj["metadata"]["finalizers"]
        )
        listed = ", ".join(
            f"{name} in {counted[name]} resource instances" for name in sorted(counted)
        )
        message = f"Some content in the namespace has finalizers remaining: {listed}"
        finalizing = ("SomeFinalizersRemain", message, "True")
    conditions = [
        *(_condition(namespace, *each, "False", moment) for each in _SUCCESS_CONDITIONS),
        _condition(namespace, "NamespaceContentRemaining", *content, moment),
        _condition(namespace, "NamespaceFinalizersRemaining", *finalizing, moment),
    ]
    status = {**namespace.get("status", {}), "conditions": conditions}
    return with_status("namespaces", namespace, status)


def _condition(  # a condition has five parts
    namespace: KubeObject, sort: str, reason: str, message: str, status: str, moment: PlanContext
) -> dict[str, Any]:
    before = condition_of(namespace, sort)
    same = before is not None and before.get("status") == status
    return {
        "type": sort,
        "status": status,
        "lastTransitionTime": before["lastTransitionTime"] if before and same else moment.text,
        "reason": reason,
        "message": message,
    }


CONTROLLER = Controller("namespaces", plan)
