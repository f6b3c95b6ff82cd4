"""Two controllers of the same kinds in one cluster: the second one does not start."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from kro_gitops.kube.api import MergePatch, WriteOptions
from kube_objects.refs import KubeObject, ObjectRef
from tests.connection import connect
from tests.e2e.scenarios.controllers import (
    KRO,
    OURS,
    Controller,
    Flag,
    is_kro_built,
    start_controller,
)
from tools.cluster.parts import ToolError
from tools.cluster.plane import Plane

LEADING: dict[str, Flag] = {
    "leader_elect": True,
    "leader_election_lease_duration": "5s",
    "leader_election_renew_deadline": "3s",
    "leader_election_retry_period": "1s",
}
NO_FLAGS: Mapping[str, Flag] = {}
REFUSED = "another controller reconciles ResourceGraphDefinitions in this cluster"


def leading_in(namespace: str) -> dict[str, Flag]:
    """Return the flags of a controller that campaigns for the Lease of a namespace."""
    return {**LEADING, "leader_election_namespace": namespace}


async def namespaces(plane: Plane, *names: str) -> None:
    async with connect(plane.kubeconfig) as opened:
        for name in names:
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            await opened.client.apply(body, WriteOptions(manager="tests", force=True))


@contextmanager
def started(
    plane: Plane, flags: Mapping[str, Flag] = NO_FLAGS, named: str = OURS
) -> Iterator[Controller]:
    with start_controller(plane.kubeconfig, named, **flags) as running:
        yield running


def refused(plane: Plane, flags: Mapping[str, Flag] = NO_FLAGS) -> str:
    """Return how a controller explains that it does not start."""
    with pytest.raises(ToolError) as caught, started(plane, flags):
        pass
    return " ".join(str(caught.value).split())


def test_another_release_is_refused_while_the_first_one_leads(own_plane: Plane) -> None:
    asyncio.run(namespaces(own_plane, "one", "two"))
    with started(own_plane, leading_in("one")) as first:
        _elected(first)
        # By a chart in another namespace, and by hand from a machine.
        for flags in (leading_in("two"), NO_FLAGS):
            text = refused(own_plane, flags)
            assert REFUSED in text
            assert "holds the Lease one/controller.kro.run" in text
        with started(own_plane, {"allow_second_controller": True}) as second:
            assert second.is_running
        first.kill()  # its lease is not given back, and runs out
        with started(own_plane, leading_in("two")) as second:
            assert second.is_running


def test_kro_is_refused_to_be_joined_and_followed_when_it_is_gone(own_plane: Plane) -> None:
    if not is_kro_built():
        pytest.skip("kro is not built")
    asyncio.run(namespaces(own_plane, "kro-system", "two"))
    with started(own_plane, leading_in("kro-system"), KRO) as kro:
        text = refused(own_plane, leading_in("two"))
        assert REFUSED in text
        assert "holds the Lease kro-system/controller.kro.run" in text
        kro.stop()
        with started(own_plane, leading_in("two")) as ours:
            assert ours.is_running


def test_a_deployment_of_kro_without_leader_election_is_seen(own_plane: Plane) -> None:
    deployment = asyncio.run(_deploy(own_plane, ready=1))
    text = refused(own_plane)
    assert REFUSED in text
    assert f"the Deployment {deployment.place} of kro has ready Pods" in text
    asyncio.run(_deploy(own_plane, ready=0))
    with started(own_plane) as ours:
        assert ours.is_running


async def _deploy(plane: Plane, *, ready: int) -> ObjectRef:
    """Have a Deployment as kro's chart writes it, with this many ready Pods."""
    labels = {"app.kubernetes.io/name": "kro", "app.kubernetes.io/component": "controller"}
    body: KubeObject = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "kro", "namespace": "default", "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "kro", "image": "kro:1"}]},
            },
        },
    }
    async with connect(plane.kubeconfig) as opened:
        made = await opened.client.apply(body, WriteOptions(manager="tests", force=True))
        status = {"replicas": ready, "readyReplicas": ready}
        await opened.client.patch(
            ObjectRef.of(made), MergePatch({"status": status}), WriteOptions(subresource="status")
        )
    return ObjectRef.of(made)


def _elected(controller: Controller) -> None:
    assert "elected" in controller.log.read_text()
