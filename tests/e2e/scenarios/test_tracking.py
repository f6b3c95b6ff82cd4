"""What children carry so that others see whose they are: owners, Argo CD's ids, teams' labels."""

import asyncio
from typing import Any

from kube_objects.refs import KubeObject, ObjectRef
from tests.builders import config_map, resource
from tests.e2e.scenarios.controllers import better
from tests.e2e.scenarios.samples import ABSENT, NAME, deployment, placed, serve, settle, shows
from tests.e2e.scenarios.world import World

TRACKING = "argocd.argoproj.io/tracking-id"
INSTALLATION = "argocd.argoproj.io/installation-id"


def _estate(world: World, elsewhere: str) -> KubeObject:
    """Build a definition with a child here, one in another namespace, one in none."""
    rights = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": f"{world.namespace}-{NAME}"},
        "rules": [],
    }
    return world.definition(
        "Estate",
        resources=[
            resource("here", config_map()),
            resource("there", placed(config_map(), namespace=elsewhere)),
            resource("rights", rights),
        ],
    )


def _children(world: World, name: str, elsewhere: str) -> tuple[ObjectRef, ObjectRef, ObjectRef]:
    rights = f"{world.namespace}-{name}"
    return (
        world.ref("v1", "ConfigMap", name),
        world.ref("v1", "ConfigMap", name, elsewhere),
        world.ref("rbac.authorization.k8s.io/v1", "ClusterRole", rights, ""),
    )


@better("it writes no owner references")
async def test_better_children_in_reach_are_owned_and_no_others(world: World) -> None:
    elsewhere = await world.another_namespace()
    await serve(world, _estate(world, elsewhere))
    estate = world.instance("Estate", "manor")
    await settle(world, estate)

    found = await asyncio.gather(*map(world.get, _children(world, "manor", elsewhere)))
    owners = [each["metadata"].get("ownerReferences", []) for each in found]
    uid = (await world.get(estate))["metadata"]["uid"]
    instance = {
        "apiVersion": f"{world.group}/v1alpha1",
        "kind": "Estate",
        "name": "manor",
        "uid": uid,
        "controller": False,
        "blockOwnerDeletion": True,
    }
    assert owners == [[instance], [], []]


@better("it passes nothing of Argo CD's on to children")
async def test_better_children_follow_the_tracking_id_of_their_instance(world: World) -> None:
    elsewhere = await world.another_namespace()
    await serve(world, _estate(world, elsewhere))
    children = _children(world, "manor", elsewhere)
    first = f"shop_estates:{world.group}/Estate:{world.namespace}/manor"
    estate = world.instance(
        "Estate", "manor", annotations={TRACKING: first, INSTALLATION: "argo-1"}
    )
    await settle(world, estate)
    await _all_show(world, children, {TRACKING: first, INSTALLATION: "argo-1"})
    # What nobody owns, Argo CD could delete with the application or prune.
    shield = {
        "argocd.argoproj.io/sync-options": "Delete=false,Prune=false",
        "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
    }
    await _all_show(world, children[1:], shield)
    await _all_show(world, children[:1], dict.fromkeys(shield, ABSENT))

    second = f"park_estates:{world.group}/Estate:{world.namespace}/manor"
    await _annotate(world, estate, {TRACKING: second})
    await _all_show(world, children, {TRACKING: second, INSTALLATION: "argo-1"})

    await _annotate(world, estate, {TRACKING: None, INSTALLATION: None})
    await _all_show(world, children, dict.fromkeys((TRACKING, INSTALLATION, *shield), ABSENT))
    await world.settled(estate)


async def _annotate(world: World, instance: KubeObject, changes: dict[str, str | None]) -> None:
    await world.merge(instance, {"metadata": {"annotations": changes}})


async def _all_show(world: World, refs: tuple[ObjectRef, ...], wanted: dict[str, Any]) -> None:
    shown = {"metadata": {"annotations": wanted}}
    await asyncio.gather(*(shows(world, ref, shown) for ref in refs))


@better("its documentation says that labels are passed on, its code does not")
async def test_better_labels_of_an_instance_reach_its_children(world: World) -> None:
    named = placed(config_map(f"{NAME}-named"), labels={"team": "the-template"})
    definition = world.definition(
        "Stall", resources=[resource("pods", deployment()), resource("named", named)]
    )
    await serve(world, definition)
    kept = {
        "kro.run/colour": "red",
        "argocd.argoproj.io/instance": "shop",
        "app.kubernetes.io/instance": "shop",
        "app.kubernetes.io/managed-by": "shop",
        "helm.sh/chart": "shop-1",
    }
    stall = world.instance("Stall", "fish", labels={"team": "harbour", "tier": "2", **kept})
    await settle(world, stall)
    pods, note = (
        world.ref("apps/v1", "Deployment", "fish"),
        world.ref("v1", "ConfigMap", "fish-named"),
    )

    absent = {key: ABSENT for key in kept if key != "app.kubernetes.io/managed-by"}
    flown = {"team": "harbour", "tier": "2", "app.kubernetes.io/managed-by": "kro", **absent}
    made = await shows(world, pods, {"metadata": {"labels": flown}})
    assert made["spec"]["selector"] == {"matchLabels": {"app": "fish"}}
    assert made["spec"]["template"]["metadata"]["labels"] == {"app": "fish"}
    await shows(world, note, {"metadata": {"labels": {**flown, "team": "the-template"}}})

    await world.merge(stall, {"metadata": {"labels": {"team": "market", "tier": None}}})
    await shows(world, pods, {"metadata": {"labels": {"team": "market", "tier": ABSENT}}})
