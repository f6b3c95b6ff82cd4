"""
What becomes of a StatefulSet's claims: they go with it, or with a pod that is too many, if they
belong to these.

Follows kubernetes 1.35 pkg/controller/statefulset/stateful_set_utils.go
updateClaimOwnerRefForSetAndPod, isClaimOwnerUpToDate.
"""

from collections.abc import Mapping, Sequence

from kube_objects.refs import KubeObject
from kube_sandbox.controllers.workloads.plan_steps import Step, Update, reference_to

_CLAIMS = "persistentvolumeclaims"


def sync_claim_owners(
    obj: KubeObject, pods: Mapping[int, KubeObject], wanted: range, claims: Sequence[KubeObject]
) -> list[Step]:
    """Return the steps that give each claim of a pod the owner it is to go with."""
    named = {each["metadata"]["name"]: each for each in claims}
    steps: list[Step] = []
    for number, pod in pods.items():
        for template in obj["spec"].get("volumeClaimTemplates") or ():
            claim = named.get(f"{template['metadata']['name']}-{pod['metadata']['name']}")
            if claim is not None:
                policy = obj["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
                if (number not in wanted) and policy.get("whenScaled") == "Delete":
                    owner: KubeObject | None = pod
                elif policy.get("whenDeleted") != "Delete":
                    owner = None
                else:
                    # What is scaled away and kept then goes with the StatefulSet, too.
                    owner = obj
                # The step that makes a claim belong to nobody of ours but `owner`.
                ours = {each["metadata"]["uid"] for each in (obj, pod)}
                before = claim["metadata"].get("ownerReferences") or []
                others = [each for each in before if each["uid"] not in ours]
                is_anothers = any(each.get("controller") for each in others)
                added = [reference_to(owner)] if owner is not None and not is_anothers else []
                if [*others, *added] != before:
                    metadata = {**claim["metadata"], "ownerReferences": [*others, *added]}
                    steps.append(Update(_CLAIMS, {**claim, "metadata": metadata}))
    return steps
