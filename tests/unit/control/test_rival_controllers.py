"""Which Leases and Deployments show that another controller is at work."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kro_gitops.control.lease import API_VERSION, KIND, LEASE_NAME, LeaseRecord, new_lease
from kro_gitops.control.rival_controllers import (
    RivalLease,
    held_leases,
    reject_rivals,
    running_deployments,
)
from kro_gitops.errors import UserError
from kro_gitops.kube.api import Listing, Selection
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.virtual_time import run as run_virtual

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OWN = ObjectRef(Kind.of(API_VERSION, KIND), "ours", LEASE_NAME)


def lease(namespace: str, holder: str = "them", age: float = 1.0) -> KubeObject:
    renewed = NOW - timedelta(seconds=age)
    record = LeaseRecord(holder, 15, renewed, renewed)
    return record.onto(new_lease(namespace, LEASE_NAME))


def test_only_leases_of_others_that_may_be_held_count() -> None:
    leases = [lease("ours"), lease("free", ""), lease("old", age=76.0), lease("theirs", age=74.0)]
    assert [each.ref.namespace for each in held_leases(leases, OWN, NOW)] == ["theirs"]
    assert len(held_leases([lease("ours")], None, NOW)) == 1, "we do not campaign for it"


def test_a_renewed_lease_shows_a_living_holder() -> None:
    (first,) = held_leases([lease("theirs", age=5)], OWN, NOW)
    assert first.is_renewed_in(held_leases([lease("theirs", age=1)], OWN, NOW))
    assert not first.is_renewed_in([first])
    assert not first.is_renewed_in(held_leases([lease("other", age=1)], OWN, NOW))
    assert isinstance(first, RivalLease)


def test_a_deployment_counts_while_it_has_ready_pods() -> None:
    ready: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "kro", "namespace": "kro-system"},
        "status": {"readyReplicas": 1},
    }
    assert [ref.name for ref in running_deployments([ready])] == ["kro"]
    assert running_deployments([{**ready, "status": {}}]) == ()


class Cluster:
    """Leases that are listed again and again; the holder renews for some seconds."""

    def __init__(self, renews_for: float) -> None:
        self.lists = 0
        self._renews_for = renews_for

    async def list(self, selection: Selection, _keep: object = None) -> Listing:
        if selection.kind.kind != KIND:
            return Listing((), "1")
        self.lists += 1
        age = 10.0 - min(float(self.lists), self._renews_for)
        return Listing((lease("theirs", age=age),), "1")


def test_a_lease_is_watched_for_as_long_as_it_lasts() -> None:
    living = Cluster(renews_for=3.0)
    with pytest.raises(UserError, match=r"them holds the Lease theirs/controller.kro.run"):
        run_virtual(reject_rivals(living, OWN, NOW))  # type: ignore[arg-type]
    assert living.lists == 2
    gone = Cluster(renews_for=1.0)
    run_virtual(reject_rivals(gone, OWN, NOW))  # type: ignore[arg-type]
    assert gone.lists == 16
