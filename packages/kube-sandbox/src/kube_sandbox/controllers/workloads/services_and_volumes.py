"""
Load balancer addresses, EndpointSlices, and binding of claims to volumes.

Follows kubernetes 1.35 k8s.io/endpointslice/reconciler.go Reconciler.Reconcile;
k8s.io/endpointslice/utils.go podToEndpoint, getEndpointPorts;
pkg/controller/volume/persistentvolume/pv_controller.go PersistentVolumeController.bind,
PersistentVolumeController.provisionClaim, PersistentVolumeController.reclaimVolume.
"""

import zlib
from collections.abc import Sequence
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.controllers.workloads.indexes import (
    RelatedBucket,
    label_index_keys,
    label_query,
)
from kube_sandbox.controllers.workloads.plan_steps import (
    Controller,
    Create,
    Plan,
    PlanContext,
    RelatedObjects,
    Remove,
    SetStatus,
    Step,
    Update,
    is_active,
    is_deleting,
    is_ready,
    reference_to,
)

SLICES = "endpointslices.discovery.k8s.io"
_CLAIMS, _VOLUMES = "persistentvolumeclaims", "persistentvolumes"
_PROTECTION = "kubernetes.io/pvc-protection"
_VOLUME_PROTECTION = "kubernetes.io/pv-protection"
_MANAGED = "endpointslice.kubernetes.io/managed-by"
_MANAGER = "endpointslice-controller.k8s.io"


def public_address(uid: str) -> str:
    """Return an address from the range that is for documentation; the same for the same object."""
    return f"203.0.113.{zlib.crc32(uid.encode()) % 254 + 1}"


def plan_service(service: KubeObject, seen: RelatedObjects, moment: PlanContext) -> Plan:
    """Give a Service of type LoadBalancer its address, and list the pods behind a Service."""
    if is_deleting(service):
        return Plan()
    steps = _slices(service, seen)
    if service["spec"].get("type") != "LoadBalancer" or _ingress_points(service):
        return Plan(tuple(steps))
    addressed = _addressed("services", service, moment)
    return Plan((*steps, *addressed.steps), addressed.next)


def _ingress_points(obj: KubeObject) -> Sequence[Any]:
    balancer = (obj.get("status") or {}).get("loadBalancer") or {}
    found: Sequence[Any] = balancer.get("ingress") or ()
    return found


def _addressed(bucket: str, obj: KubeObject, moment: PlanContext) -> Plan:
    wait = moment.left(obj["metadata"].get("creationTimestamp"), moment.settings.step)
    if wait:
        return Plan(next=wait)
    point = {"ip": public_address(obj["metadata"]["uid"])}
    if bucket == "services":
        point["ipMode"] = "VIP"
    status = {**(obj.get("status") or {}), "loadBalancer": {"ingress": [point]}}
    return Plan((SetStatus(bucket, {**obj, "status": status}),))


def plan_ingress(ingress: KubeObject, _: RelatedObjects, moment: PlanContext) -> Plan:
    """Give an Ingress its address."""
    if is_deleting(ingress) or _ingress_points(ingress):
        return Plan()
    return _addressed("ingresses.networking.k8s.io", ingress, moment)


def _slices(service: KubeObject, seen: RelatedObjects) -> list[Step]:
    wanted = service["spec"].get("selector")
    own = list(seen.get(SLICES, ()))
    if not wanted or service["spec"].get("type") == "ExternalName":
        return []
    pods = [
        pod
        for pod in seen.get("pods", ())
        if wanted.items() <= (pod["metadata"].get("labels") or {}).items()
        and (pod.get("status") or {}).get("podIP")
        and pod["spec"].get("nodeName")
        and (is_active(pod) or is_deleting(pod))
    ]
    endpoints: list[dict[str, Any]] = []
    for pod in pods:
        ready = is_ready(pod)
        reference = {key: pod["metadata"][key] for key in ("namespace", "name", "uid")}
        endpoints.append(
            {
                "addresses": [pod["status"]["podIP"]],
                "conditions": {"ready": ready, "serving": ready, "terminating": is_deleting(pod)},
                "targetRef": {"kind": "Pod", **reference},
                "nodeName": pod["spec"]["nodeName"],
            }
        )
    # A target port by name is looked up in the containers of the first pod.
    numbers = {
        each.get("name"): each["containerPort"]
        for pod in pods[:1]
        for container in reversed(pod["spec"]["containers"])
        for each in reversed(container.get("ports") or ())
    }
    ports: list[dict[str, Any]] = []
    for port in (service["spec"].get("ports") or ()) if pods else ():
        target = port.get("targetPort", port["port"])
        number = target or port["port"] if isinstance(target, int) else numbers.get(target)
        if number is not None:
            name, protocol = port.get("name", ""), port.get("protocol", "TCP")
            ports.append({"name": name, "port": number, "protocol": protocol})
    made = _slice(service, endpoints, ports)
    if not own:
        return [Create(SLICES, made)]
    first = own[0]
    changed = {**first, "endpoints": endpoints or None, "ports": ports or None}
    surplus: list[Step] = [Remove(SLICES, each) for each in own[1:]]
    return surplus if _plain(changed) == _plain(first) else [Update(SLICES, changed), *surplus]


def _plain(found: KubeObject) -> tuple[Any, Any]:
    return found.get("endpoints") or [], found.get("ports") or []


def _slice(
    service: KubeObject, endpoints: list[dict[str, Any]], ports: list[dict[str, Any]]
) -> KubeObject:
    metadata = service["metadata"]
    labels = {_MANAGED: _MANAGER, "kubernetes.io/service-name": metadata["name"]}
    if service["spec"].get("clusterIP") == "None":
        labels["service.kubernetes.io/headless"] = ""
    families = service["spec"].get("ipFamilies") or ["IPv4"]
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": f"{metadata['name']}-",
            "namespace": metadata["namespace"],
            "labels": labels,
            "ownerReferences": [reference_to(service)],
        },
        "addressType": families[0],
        "endpoints": endpoints or None,
        "ports": ports or None,
    }


def plan_claim(claim: KubeObject, seen: RelatedObjects, moment: PlanContext) -> Plan:
    """Bind a claim to a volume of its own; let one go that no pod uses."""
    if is_deleting(claim):
        finalizers = claim["metadata"].get("finalizers") or []
        if seen.get("pods") or _PROTECTION not in finalizers:
            return Plan()
        return Plan((Update(_CLAIMS, _without_finalizer(claim, _PROTECTION)),))
    if (claim.get("status") or {}).get("phase") == "Bound":
        return Plan()
    wait = moment.left(claim["metadata"].get("creationTimestamp"), moment.settings.step)
    if wait:
        return Plan(next=wait)
    name = claim["spec"].get("volumeName") or f"pvc-{claim['metadata']['uid']}"
    metadata = claim["metadata"]
    marks = {
        f"pv.kubernetes.io/{each}": "yes" for each in ("bind-completed", "bound-by-controller")
    }
    annotations = {**(metadata.get("annotations") or {}), **marks}
    spec = claim["spec"]
    bound = {
        **claim,
        "metadata": {**metadata, "annotations": annotations},
        "spec": {**spec, "volumeName": name},
    }
    capacity = {"storage": spec["resources"]["requests"]["storage"]}
    status = {"phase": "Bound", "accessModes": spec["accessModes"], "capacity": capacity}
    steps: list[Step] = [Update(_CLAIMS, bound), SetStatus(_CLAIMS, {**bound, "status": status})]
    if not spec.get("volumeName"):
        metadata, spec = claim["metadata"], claim["spec"]
        reference = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
        }
        kept = {each: spec[each] for each in ("storageClassName", "volumeMode") if spec.get(each)}
        volume = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                "accessModes": spec["accessModes"],
                "capacity": dict(capacity),
                "claimRef": reference,
                "hostPath": {"path": f"/volumes/{name}", "type": ""},
                "persistentVolumeReclaimPolicy": "Delete",
                **kept,
            },
            "status": {"phase": "Bound"},
        }
        steps = [Create(_VOLUMES, volume), SetStatus(_VOLUMES, volume), *steps]
    return Plan(tuple(steps))


def _without_finalizer(obj: KubeObject, finalizer: str) -> KubeObject:
    metadata = {key: value for key, value in obj["metadata"].items() if key != "finalizers"}
    if rest := [each for each in obj["metadata"]["finalizers"] if each != finalizer]:
        metadata["finalizers"] = rest
    return {**obj, "metadata": metadata}


def plan_volume(volume: KubeObject, seen: RelatedObjects, _: PlanContext) -> Plan:
    """Delete a volume whose claim is gone, if it is to go with it; let a deleted one go."""
    if is_deleting(volume):
        finalizers = volume["metadata"].get("finalizers") or []
        if _VOLUME_PROTECTION not in finalizers:
            return Plan()
        return Plan((Update(_VOLUMES, _without_finalizer(volume, _VOLUME_PROTECTION)),))
    claim = volume["spec"].get("claimRef") or {}
    is_bound = (volume.get("status") or {}).get("phase") == "Bound"
    uids = {each["metadata"]["uid"] for each in seen.get(_CLAIMS, ())}
    if not is_bound or not claim.get("uid") or claim["uid"] in uids:
        return Plan()
    if volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
        return Plan((Remove(_VOLUMES, volume),))
    return Plan((SetStatus(_VOLUMES, {**volume, "status": {"phase": "Released"}}),))


# Related objects are found by index keys: `wishes` are queries, `ties` the keys of an object.
CONTROLLERS = (
    Controller(
        "services",
        plan_service,
        owns=(SLICES,),
        sees=(
            RelatedBucket(
                "pods",
                wishes=lambda service: (
                    [label_query(service["metadata"]["namespace"], selector)]
                    if (selector := service["spec"].get("selector"))
                    else []
                ),
                ties=label_index_keys,
            ),
        ),
    ),
    Controller("ingresses.networking.k8s.io", plan_ingress),
    Controller(
        _CLAIMS,
        plan_claim,
        sees=(
            RelatedBucket(
                "pods",
                wishes=lambda claim: [
                    frozenset((f"{claim['metadata']['namespace']}/{claim['metadata']['name']}",))
                ],
                ties=lambda pod: [
                    f"{pod['metadata']['namespace']}/{name}"
                    for volume in pod["spec"].get("volumes") or ()
                    if (name := (volume.get("persistentVolumeClaim") or {}).get("claimName"))
                ],
            ),
        ),
    ),
    Controller(
        _VOLUMES,
        plan_volume,
        sees=(
            RelatedBucket(
                _CLAIMS,
                wishes=lambda volume: (
                    [frozenset((uid,))]
                    if (uid := (volume["spec"].get("claimRef") or {}).get("uid"))
                    else []
                ),
                ties=lambda claim: [claim["metadata"]["uid"]],
            ),
        ),
    ),
)
