"""
Objects that others have already: left alone, or taken over if that is wanted; it is said whose.
"""

from typing import Any

import pytest

from kro_gitops.kube.api import WriteOptions
from kro_gitops.metadata import ARGOCD_TRACKING_ID, SOURCE
from kube_objects.refs import KubeObject, ObjectRef
from tests.e2e.following.objects import data_of, marked, named, placed, stays
from tests.e2e.following.world import SourceWorld, config_map
from tests.e2e.scenarios.clearing import CRD
from tests.e2e.scenarios.world import annotations, condition, labels

ARGOCD, FLUX, HELM_OF_FLUX, HELM, APPLYSET = "argocd", "flux", "helmrelease", "helm", "applyset"
_FLUX = "kustomize.toolkit.fluxcd.io"
_HELM = "helm.toolkit.fluxcd.io"

OWNERS: dict[str, tuple[str, str]] = {  # field manager, and what is said
    ARGOCD: ("argocd-controller", "Argo CD application shop (tracking id)"),
    FLUX: ("kustomize-controller", "Flux Kustomization flux-system/apps (labels)"),
    HELM_OF_FLUX: ("helm-controller", "Flux HelmRelease flux-system/db (labels)"),
    HELM: ("helm", "Helm release default/db (release annotations)"),
    APPLYSET: ("kubectl", "apply set applyset-abc-v1"),
}


def owned(world: SourceWorld, owner: str, **data: str) -> KubeObject:
    """Build a ConfigMap as a tool leaves it."""
    tracking = f"shop:/ConfigMap:{world.namespace}/a"
    marks: dict[str, Any] = {
        ARGOCD: {"annotations": {ARGOCD_TRACKING_ID: tracking}},
        FLUX: {"labels": {f"{_FLUX}/name": "apps", f"{_FLUX}/namespace": "flux-system"}},
        HELM_OF_FLUX: {"labels": {f"{_HELM}/name": "db", f"{_HELM}/namespace": "flux-system"}},
        HELM: {
            "labels": {"app.kubernetes.io/managed-by": "Helm"},
            "annotations": {
                "meta.helm.sh/release-name": "db",
                "meta.helm.sh/release-namespace": "default",
            },
        },
        APPLYSET: {"labels": {"applyset.kubernetes.io/part-of": "applyset-abc-v1"}},
    }[owner]
    return marked(placed(world, "a", **data), **marks)


async def made_by(world: SourceWorld, manager: str, obj: KubeObject) -> None:
    """Make an object as a tool does."""
    await world.cluster.apply(obj, WriteOptions(manager=manager))


@pytest.mark.parametrize("owner", OWNERS)
@pytest.mark.parametrize("color", ["mine", "blue"])
async def test_what_another_tool_keeps_is_left_alone(
    owner: str, color: str, world: SourceWorld
) -> None:
    manager, text = OWNERS[owner]
    await made_by(world, manager, owned(world, owner, color=color))
    world.commit({"a.yaml": config_map("a", color="blue"), "b.yaml": config_map("b", x="1")})
    await world.follow()
    source = await world.reported("ForeignOwner", text=text)
    assert f"ConfigMap {world.namespace}/a" in condition(source, "ForeignOwner")["message"]
    [failure] = source["status"]["failures"]
    assert (failure["file"], failure["line"]) == ("a.yaml", 1)
    assert "adopt: true" in failure["message"]
    assert condition(source, "Ready")["status"] == "False"
    await data_of(world, named(world, "b"), {"x": "1"})  # the rest is applied
    untouched = await world.get(named(world, "a"))
    assert untouched["data"] == {"color": color}
    assert SOURCE not in annotations(untouched)
    await world.ready(world.commit({"a.yaml": None}))
    assert await world.find(named(world, "a")) is not None


async def test_a_source_that_adopts_takes_over(world: SourceWorld) -> None:
    await made_by(world, "argocd-controller", owned(world, ARGOCD, color="mine"))
    world.commit({"a.yaml": config_map("a", color="blue")})
    await world.follow()
    await world.reported("ForeignOwner")
    await world.respec(adopt=True)
    source = await world.ready()
    types = {each["type"] for each in source["status"]["conditions"]}
    assert not types & {"ForeignOwner", "Conflict"}
    found = await data_of(world, named(world, "a"), {"color": "blue"})
    assert annotations(found)[SOURCE] == f"{world.namespace}/repo"


async def test_a_copied_tracking_id_means_nothing(world: SourceWorld) -> None:
    copied = {ARGOCD_TRACKING_ID: f"shop:apps/Deployment:{world.namespace}/web"}
    await world.create(marked(placed(world, "a", color="blue"), annotations=copied))
    world.commit({"a.yaml": config_map("a", color="blue")})
    await world.follow()
    await world.ready()


async def test_an_object_made_by_hand_with_other_values_is_a_conflict(world: SourceWorld) -> None:
    by_hand = placed(world, "a", color="mine")
    await world.cluster.create(by_hand, WriteOptions(manager="kubectl-create"))
    world.commit({"a.yaml": config_map("a", color="blue")})
    await world.follow()
    source = await world.reported("Conflict", text="kubectl-create")
    said = condition(source, "Conflict")["message"]
    assert ".data.color" in said
    [failure] = source["status"]["failures"]
    assert (failure["code"], failure["file"]) == ("conflict", "a.yaml")
    assert "adopt: true" in failure["message"]
    await stays(world, named(world, "a"), {"color": "mine"})
    await world.delete(named(world, "a"))  # as a person would who reads this
    await world.ready()
    await data_of(world, named(world, "a"), {"color": "blue"})


async def test_an_object_made_by_hand_with_equal_values_is_adopted(world: SourceWorld) -> None:
    # As `kubectl apply --server-side` does it: nobody loses anything, and both agree.
    before = await world.create(placed(world, "a", color="blue"))
    world.commit({"a.yaml": config_map("a", color="blue")})
    await world.follow()
    source = await world.ready()
    assert source["status"]["inventory"]["objects"] == 1
    after = await world.get(named(world, "a"))
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert annotations(after)[SOURCE] == f"{world.namespace}/repo"


@pytest.mark.parametrize("adopt", [False, True])
async def test_a_child_of_an_instance_has_no_place_in_git(adopt: bool, world: SourceWorld) -> None:
    world.commit({"shop.yaml": world.shop(), "front.yaml": world.front()})
    await world.follow(adopt=adopt)
    await world.ready()
    before = await world.settings()
    world.commit({"child.yaml": config_map("front-settings", color="red")})
    text = f"kro instance Shop {world.namespace}/front"
    source = await world.reported("ForeignOwner", text=text)
    assert source["status"]["failures"][0]["file"] == "child.yaml"
    after = await world.settings()
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    await world.ready(world.commit({"child.yaml": None}))
    assert (await world.settings())["metadata"]["uid"] == before["metadata"]["uid"]


async def test_a_generated_crd_has_no_place_in_git(world: SourceWorld) -> None:
    world.commit({"shop.yaml": world.shop()})
    await world.follow()
    await world.ready()
    crd = await world.get(ObjectRef(CRD, "", f"shops.{world.group}"))
    exported = {key: crd[key] for key in ("apiVersion", "kind", "spec")}
    exported["metadata"] = {"name": crd["metadata"]["name"]}
    world.commit({"crd.yaml": exported})
    await world.reported("ForeignOwner", text=f"kro definition shop-{world.token}")
    found = await world.get(ObjectRef.of(crd))
    assert SOURCE not in annotations(found)
    assert labels(found) == labels(crd)


async def test_what_argo_cd_takes_over_later_is_left_to_it(world: SourceWorld) -> None:
    world.commit({"a.yaml": config_map("a", color="blue"), "b.yaml": config_map("b", x="1")})
    await world.follow()
    await world.ready()
    theirs = owned(world, ARGOCD, color="theirs")
    await world.cluster.apply(theirs, WriteOptions(manager="argocd-controller", force=True))
    await world.reported("ForeignOwner", text="Argo CD application shop")
    await stays(world, named(world, "a"), {"color": "theirs"})
    await world.ready(world.commit({"a.yaml": None}))
    await stays(world, named(world, "a"), {"color": "theirs"})


async def test_two_sources_do_not_fight_over_an_object(world: SourceWorld) -> None:
    world.commit({"a.yaml": config_map("a", color="blue")})
    await world.follow("first")
    await world.ready(name="first")
    other = world.new_repository()
    other.commit({"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})
    await world.follow("second", url=world.url(other))
    text = f"source {world.namespace}/first"
    await world.reported("ForeignOwner", text=text, name="second")
    await stays(world, named(world, "a"), {"color": "blue"})
    before = await world.get(named(world, "a"))
    world.commit({"a.yaml": None, "b.yaml": config_map("b", x="1")})
    await world.ready(name="second")
    await world.ready(name="first")
    after = await world.get(named(world, "a"))
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert annotations(after)[SOURCE] == f"{world.namespace}/second"
