"""
StatefulSet: numbered pods with their own claims, created and replaced one after the other.

Follows kubernetes 1.35 pkg/controller/statefulset/stateful_set_control.go
defaultStatefulSetControl.UpdateStatefulSet, defaultStatefulSetControl.updateStatefulSet;
pkg/controller/statefulset/stateful_set_utils.go newVersionedStatefulSetPod,
getPersistentVolumeClaims, updateClaimOwnerRefForSetAndPod, isClaimOwnerUpToDate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kube_objects.refs import KubeObject
from kube_sandbox.controllers.workloads import controller_revisions
from kube_sandbox.controllers.workloads.indexes import RelatedBucket
from kube_sandbox.controllers.workloads.plan_steps import (
    Controller,
    Create,
    Plan,
    PlanContext,
    RelatedObjects,
    Remove,
    Step,
    Update,
    available_in,
    is_deleting,
    is_ready,
    pod_from,
    reference_to,
    soonest,
    with_status,
)

BUCKET = "statefulsets.apps"
_CLAIMS = "persistentvolumeclaims"
_LABEL = "controller-revision-hash"
_HASH_LABEL = "controller.kubernetes.io/hash"


@dataclass(frozen=True, slots=True)
class _Revisions:
    """The two templates of a rollout: `of` has the old one, `to` the new one."""

    of: str
    to: str
    before: KubeObject  # the StatefulSet with the old template


def plan(obj: KubeObject, seen: RelatedObjects, moment: PlanContext) -> Plan:
    """Return the pods and claims to make or replace now, and the status."""
    known = seen.get(controller_revisions.BUCKET, ())
    pods = {number: each for each in seen.get("pods", ()) if (number := _number(obj, each)) >= 0}
    newest = controller_revisions.revision_name(obj)
    current = (obj.get("status") or {}).get("currentRevision") or newest
    seconds = obj["spec"].get("minReadySeconds", 0)
    waits = {number: available_in(each, seconds, moment) for number, each in pods.items()}
    steps: list[Step] = []
    if not is_deleting(obj):
        if not any(each["metadata"]["name"] == newest for each in known):
            created = controller_revisions.revision(obj, known, _HASH_LABEL)
            steps.append(Create(controller_revisions.BUCKET, created))
        else:
            again = controller_revisions.renewed_revision(known, newest)
            steps += [Update(controller_revisions.BUCKET, again)] if again else []
        revised = _Revisions(
            current, newest, controller_revisions.template_of_revision(obj, known, current)
        )
        claims = seen.get(_CLAIMS, ())
        steps += _sync_claim_owners(obj, pods, _wanted(obj), claims)
        steps += _StatefulSetSync(obj, pods, waits, claims, revised).steps()
        used = {current, newest} | {_revision_of(each) for each in pods.values()}
        steps += controller_revisions.revisions_to_delete(obj, known, used)
    ready = sum(map(is_ready, pods.values()))
    updated = sum(_revision_of(each) == newest for each in pods.values())
    rolls = (obj["spec"].get("updateStrategy") or {}).get("type") != "OnDelete"
    if rolls and updated == ready == len(pods) == obj["spec"].get("replicas", 1):
        current = newest
    counts = {
        "readyReplicas": ready,
        "currentReplicas": sum(_revision_of(each) == current for each in pods.values()),
        "updatedReplicas": updated,
    }
    status = {
        "observedGeneration": obj["metadata"].get("generation", 0),
        "replicas": len(pods),
        **{name: count for name, count in counts.items() if count},
        "currentRevision": current,
        "updateRevision": newest,
        "collisionCount": (obj.get("status") or {}).get("collisionCount", 0),
        "availableReplicas": sum(each == 0.0 for each in waits.values()),
    }
    later = soonest(*(each for each in waits.values() if each))
    return Plan((*steps, *with_status(BUCKET, obj, status)), later)


def _number(obj: KubeObject, pod: KubeObject) -> int:
    prefix, dash, number = pod["metadata"]["name"].rpartition("-")
    is_ours = dash and prefix == obj["metadata"]["name"] and number.isdigit()
    return int(number) if is_ours else -1


def _wanted(obj: KubeObject) -> range:
    """Return the numbers of the pods that are to be there."""
    spec = obj["spec"]
    start = (spec.get("ordinals") or {}).get("start", 0)
    return range(start, start + spec.get("replicas", 1))


def _revision_of(pod: KubeObject) -> str:
    found: str = (pod["metadata"].get("labels") or {}).get(_LABEL, "")
    return found


@dataclass(frozen=True, slots=True)
class _StatefulSetSync:
    """One look at the pods, by their numbers; `waits` says in how long each is available."""

    obj: KubeObject
    pods: Mapping[int, KubeObject]
    waits: Mapping[int, float | None]
    claims: Sequence[KubeObject]
    revised: _Revisions

    @property
    def _first_new(self) -> int:
        """Return the lowest number that gets the new template."""
        strategy = self.obj["spec"].get("updateStrategy") or {}
        partition: int = (strategy.get("rollingUpdate") or {}).get("partition", 0)
        return _wanted(self.obj).start + partition

    def _is_available(self, number: int) -> bool:
        return self.waits.get(number) == 0.0

    def steps(self) -> list[Step]:
        """Return what is next: in order, each only when all before it are available."""
        pods, wanted = self.pods, _wanted(self.obj)
        parallel = self.obj["spec"].get("podManagementPolicy") == "Parallel"
        steps: list[Step] = []
        for number in wanted:
            pod = pods.get(number)
            if pod is None:
                steps += self._created(number)
            elif (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
                steps += [] if is_deleting(pod) else [Remove("pods", pod)]
            if not parallel and not self._is_available(number):
                return steps
        surplus = sorted((number for number in pods if number not in wanted), reverse=True)
        for number in surplus:
            steps += [] if is_deleting(pods[number]) else [Remove("pods", pods[number])]
            if not parallel:
                return steps
        if steps:
            return steps
        # All pods are there: replace the one with the highest number that has an old template.
        strategy = self.obj["spec"].get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete":
            return []
        for number in reversed(_wanted(self.obj)):
            pod = self.pods.get(number)
            if number < self._first_new or pod is None:
                return []
            if _revision_of(pod) != self.revised.to and not is_deleting(pod):
                return [Remove("pods", pod)]
            if not self._is_available(number):
                return []
        return []

    def _created(self, number: int) -> list[Step]:
        is_old = number < self._first_new
        obj = self.revised.before if is_old else self.obj
        templates = obj["spec"].get("volumeClaimTemplates") or ()
        there = {each["metadata"]["name"] for each in self.claims}
        made: list[KubeObject] = []
        for each in templates:
            given = each.get("metadata") or {}
            labels = {**given.get("labels", {}), **obj["spec"]["selector"].get("matchLabels", {})}
            kept = {"annotations": given["annotations"]} if given.get("annotations") else {}
            name = f"{given['name']}-{obj['metadata']['name']}-{number}"
            claim = {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {
                    "name": name,
                    "namespace": obj["metadata"]["namespace"],
                    "labels": labels,
                    **kept,
                },
                "spec": dict(each.get("spec") or {}),
            }
            made.append(claim)
        missing = [each for each in made if each["metadata"]["name"] not in there]
        revision = self.revised.of if is_old else self.revised.to
        owner = obj["metadata"]["name"]
        name = f"{owner}-{number}"
        labels = {
            "apps.kubernetes.io/pod-index": str(number),
            _LABEL: revision,
            "statefulset.kubernetes.io/pod-name": name,
        }
        pod = pod_from(
            obj["spec"]["template"], obj, name=name, generateName=f"{owner}-", labels=labels
        )
        claimed = {
            each["metadata"]["name"] for each in obj["spec"].get("volumeClaimTemplates") or ()
        }
        volumes = [
            {"name": each, "persistentVolumeClaim": {"claimName": f"{each}-{name}"}}
            for each in sorted(claimed)
        ]
        others = [each for each in pod["spec"].get("volumes") or () if each["name"] not in claimed]
        spec = {**pod["spec"], "hostname": name}
        if obj["spec"].get("serviceName"):
            spec["subdomain"] = obj["spec"]["serviceName"]
        if volumes or others:
            spec["volumes"] = [*volumes, *others]
        return [
            *(Create(_CLAIMS, each) for each in missing),
            Create("pods", {**pod, "spec": spec}),
        ]


def _sync_claim_owners(
    obj: KubeObject, pods: Mapping[int, KubeObject], wanted: range, claims: Sequence[KubeObject]
) -> list[Step]:
    """Return the steps that give each claim of a pod the owner it is to go with."""
    policy = obj["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    named = {each["metadata"]["name"]: each for each in claims}
    steps: list[Step] = []
    for number, pod in pods.items():
        for template in obj["spec"].get("volumeClaimTemplates") or ():
            claim = named.get(f"{template['metadata']['name']}-{pod['metadata']['name']}")
            if claim is None:
                continue
            owner = None
            if number not in wanted and policy.get("whenScaled") == "Delete":
                owner = pod
            elif policy.get("whenDeleted") == "Delete":
                owner = obj  # also of claims whose pod was scaled down
            ours = {each["metadata"]["uid"] for each in (obj, pod)}
            before = claim["metadata"].get("ownerReferences") or []
            references = [each for each in before if each["uid"] not in ours]
            if owner is not None and not any(each.get("controller") for each in references):
                references.append(reference_to(owner))
            if references != before:
                metadata = {**claim["metadata"], "ownerReferences": references}
                steps.append(Update(_CLAIMS, {**claim, "metadata": metadata}))
    return steps


CONTROLLER = Controller(
    BUCKET,
    plan,
    owns=("pods", controller_revisions.BUCKET),
    sees=(
        RelatedBucket(
            _CLAIMS,
            # Claims are found by their names without the ordinal at the end.
            wishes=lambda obj: [
                frozenset(
                    (
                        f"{obj['metadata']['namespace']}/"
                        f"{template['metadata']['name']}-{obj['metadata']['name']}",
                    )
                )
                for template in obj["spec"].get("volumeClaimTemplates") or ()
            ],
            ties=lambda claim: [
                f"{claim['metadata']['namespace']}/{claim['metadata']['name'].rpartition('-')[0]}"
            ],
        ),
    ),
    adopts=lambda obj, orphan: orphan["kind"] != "Pod" or _number(obj, orphan) >= 0,
)
