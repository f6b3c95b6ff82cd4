"""
Finds another controller of the same kinds: kro itself, or another release of kro-gitops.

Two controllers overwrite each other's labels and statuses, and each deletes what the other's
definitions no longer contain. Their leader elections do not exclude each other if they run in
different namespaces. The evidence is what every installation by a chart leaves: a Lease with our
name in another namespace that is being renewed, and a Deployment of kro with ready Pods.

A controller that runs without leader election and without a Deployment leaves no evidence.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from kro_gitops.control.lease import API_VERSION, KIND, LEASE_NAME, LeaseRecord
from kro_gitops.errors import NotServed, UserError
from kro_gitops.kube.api import Reader, Selection
from kro_gitops.kube.responses import Forbidden, NotFound
from kube_objects.refs import Kind, KubeObject, ObjectRef

_LEASES = Selection(Kind.of(API_VERSION, KIND), fields=f"metadata.name={LEASE_NAME}")
_DEPLOYMENTS = Selection(
    Kind("apps", "v1", "Deployment"),
    labels="app.kubernetes.io/name=kro,app.kubernetes.io/component=controller",
)
_POLL_INTERVAL = 1.0  # seconds
# Clocks differ: a lease has run out only if it was renewed longer ago than it lasts plus this.
_MAX_CLOCK_SKEW = 60.0  # seconds


@dataclass(frozen=True, slots=True)
class RivalLease:
    """A Lease that another controller holds, as it was first seen."""

    ref: ObjectRef
    record: LeaseRecord

    def is_renewed_in(self, current: "Iterable[RivalLease]") -> bool:
        """Return whether the same Lease is held and has changed."""
        return any(each.ref == self.ref and each.record != self.record for each in current)


def held_leases(
    leases: Iterable[KubeObject], own: ObjectRef | None, now: datetime
) -> tuple[RivalLease, ...]:
    """Return the Leases that others hold or held until a moment ago; `own` is ours."""
    found = []
    for lease in leases:
        ref, record = ObjectRef.of(lease), LeaseRecord.parse(lease)
        if ref == own or not record.holder or record.renewed is None:
            continue
        if (now - record.renewed).total_seconds() <= record.seconds + _MAX_CLOCK_SKEW:
            found.append(RivalLease(ref, record))
    return tuple(found)


def running_deployments(deployments: Iterable[KubeObject]) -> tuple[ObjectRef, ...]:
    """Return the Deployments that have ready Pods."""
    return tuple(
        ObjectRef.of(each)
        for each in deployments
        if (each.get("status") or {}).get("readyReplicas")
    )


async def reject_rivals(cluster: Reader, own: ObjectRef | None, now: datetime) -> None:
    """
    Raise `UserError` if another controller is at work; `own` is the Lease that we campaign for.

    Returns at once unless there is a Lease that may still be held: that is watched for as long as
    it lasts. What may not be read is no evidence.
    """
    namespace = own.namespace if own is not None else None
    for deployment in running_deployments(await _list(cluster, _DEPLOYMENTS)):
        if deployment.namespace != namespace:  # else it campaigns for the same Lease
            raise _second_controller(f"the Deployment {deployment.place} of kro has ready Pods")
    first = held_leases(await _list(cluster, _LEASES), own, now)
    clock = asyncio.get_running_loop()
    until = clock.time() + max((each.record.seconds for each in first), default=0)
    while first and clock.time() < until:
        await asyncio.sleep(_POLL_INTERVAL)
        current = held_leases(await _list(cluster, _LEASES), own, now)
        for each in first:
            if each.is_renewed_in(current):
                raise _second_controller(f"{each.record.holder} holds the Lease {each.ref.place}")


async def _list(cluster: Reader, selection: Selection) -> tuple[KubeObject, ...]:
    try:
        return (await cluster.list(selection)).items
    except (Forbidden, NotFound, NotServed):
        return ()


def _second_controller(evidence: str) -> UserError:
    return UserError(
        "second-controller",
        "another controller reconciles ResourceGraphDefinitions in this cluster: "
        f"{evidence}; two controllers overwrite each other's changes",
        hint="stop the other one, or run this one in its namespace with --leader-elect, so that "
        "only one of them leads; --allow-second-controller starts it nevertheless",
    )
