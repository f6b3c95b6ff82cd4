"""
What becomes of changes that somebody makes on the cluster: corrected, told of, or left.
"""

import time
from typing import Any

import pytest

from kro_gitops.kube.api import MergePatch, WriteOptions
from kro_gitops.metadata import SOURCE, SOURCE_HASH
from kube_objects.refs import KubeObject, ObjectRef
from tests.e2e.following.objects import (
    DEPLOYMENT,
    data_of,
    edit,
    marked,
    named,
    placed,
    stays,
)
from tests.e2e.following.world import SourceWorld, config_map
from tests.e2e.scenarios.world import annotations, labels

CORRECTED_WITHIN = 2.0  # seconds


async def following(world: SourceWorld, **spec: Any) -> ObjectRef:
    """Follow a repository of one ConfigMap."""
    world.commit({"a.yaml": config_map("a", color="blue"), "b.yaml": config_map("b", x="1")})
    await world.follow(**spec)
    await world.ready()
    return named(world, "a")


async def test_an_edit_by_hand_is_corrected(world: SourceWorld) -> None:
    ref = await following(world)
    began = time.monotonic()
    await edit(world, ref, {"data": {"color": "red"}})
    await data_of(world, ref, {"color": "blue"})
    assert time.monotonic() - began < CORRECTED_WITHIN
    source = await world.ready()
    assert "warnings" not in source["status"]


async def test_what_others_add_is_none_of_our_business(world: SourceWorld) -> None:
    ref = await following(world)
    await edit(world, ref, {"data": {"size": "XL"}, "metadata": {"labels": {"team": "a"}}})
    await stays(world, ref, {"color": "blue", "size": "XL"})
    assert labels(await world.get(ref))["team"] == "a"


async def test_a_field_taken_away_by_hand_comes_back(world: SourceWorld) -> None:
    ref = await following(world)
    await edit(world, ref, {"data": None})
    await data_of(world, ref, {"color": "blue"})


async def test_an_object_deleted_by_hand_comes_back(world: SourceWorld) -> None:
    ref = await following(world)
    before = await world.get(ref)
    began = time.monotonic()
    await world.delete(ref)
    after = await data_of(world, ref, {"color": "blue"})
    assert time.monotonic() - began < CORRECTED_WITHIN
    assert after["metadata"]["uid"] != before["metadata"]["uid"]

    async def recorded() -> None:
        entry = (await world.inventory())[f"/ConfigMap/{world.namespace}/a"]
        assert entry["uid"] == after["metadata"]["uid"]

    await world.until(recorded)


async def test_an_instance_deleted_by_hand_comes_back_with_its_child(world: SourceWorld) -> None:
    world.commit({"shop.yaml": world.shop(), "front.yaml": world.front()})
    await world.follow()
    await world.ready()
    before = await world.settings()
    await world.delete(world.front())

    async def anew() -> None:
        found = await world.settings()
        assert found["metadata"]["uid"] != before["metadata"]["uid"]

    await world.until(anew)
    await world.ready()


async def test_a_definition_edited_by_hand_is_corrected(world: SourceWorld) -> None:
    world.commit({"shop.yaml": world.shop(), "front.yaml": world.front()})
    await world.follow()
    await world.ready()
    changed = world.shop()["spec"]["resources"]
    changed[0]["template"]["data"] = {"color": "black"}
    await edit(world, ObjectRef.of(world.shop()), {"spec": {"resources": changed}})

    async def corrected() -> None:
        found = await world.get(world.shop())
        template = found["spec"]["resources"][0]["template"]
        assert template["data"] == {"color": "${string(schema.spec.color)}"}, template

    await world.until(corrected, 5.0)
    await world.data({"color": "blue"})


@pytest.mark.parametrize("what", ["changed", "deleted"])
async def test_a_source_that_warns_tells_and_leaves_it(what: str, world: SourceWorld) -> None:
    ref = await following(world, drift={"mode": "warn"})
    if what == "changed":
        await edit(world, ref, {"data": {"color": "red"}})
    else:
        await world.delete(ref)

    async def told() -> None:
        source = await world.ready()
        [warning] = source["status"]["warnings"]
        assert (warning["code"], warning["file"], warning["line"]) == ("drifted", "a.yaml", 1)
        assert f"was {what} on the cluster" in warning["message"]
        assert warning["object"].endswith(f"{world.namespace}/a")

    await world.until(told, 10.0)
    if what == "changed":
        await stays(world, ref, {"color": "red"})
    else:
        await world.absent(ref)


async def test_what_git_changes_is_applied_though_drift_is_left(world: SourceWorld) -> None:
    ref = await following(world, drift={"mode": "warn"})
    await edit(world, ref, {"data": {"color": "red"}})
    await world.ready(world.commit({"a.yaml": config_map("a", color="green")}))
    await data_of(world, ref, {"color": "green"})


async def test_a_source_that_ignores_drift_says_nothing(world: SourceWorld) -> None:
    ref = await following(world, drift={"mode": "ignore"})
    await edit(world, ref, {"data": {"color": "red"}})
    await world.delete(named(world, "b"))
    await stays(world, ref, {"color": "red"})
    assert await world.find(named(world, "b")) is None
    source = await world.ready()
    assert "warnings" not in source["status"]


def deployment(replicas: int, image: str = "nginx:1.27") -> KubeObject:
    """Build a Deployment; nobody makes its Pods here."""
    pod = {"labels": {"app": "web"}}
    spec = {"containers": [{"name": "web", "image": image}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": pod, "spec": spec},
        },
    }


@pytest.mark.parametrize("how", ["update", "apply"])
async def test_an_ignored_field_is_left_to_the_autoscaler(how: str, world: SourceWorld) -> None:
    rule = {"paths": ["/spec/replicas"], "target": {"kind": "Deployment"}}
    world.commit({"web.yaml": deployment(1)})
    await world.follow(drift={"ignore": [rule]}, wait=False)
    await world.ready()
    ref = ObjectRef(DEPLOYMENT, world.namespace, "web")
    if how == "update":
        options = WriteOptions(manager="autoscaler")
        await world.cluster.patch(ref, MergePatch({"spec": {"replicas": 5}}), options)
    else:
        wish = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 5}}
        wish["metadata"] = {"name": "web", "namespace": world.namespace}
        await world.cluster.apply(wish, WriteOptions(manager="autoscaler", force=True))
    await edit(world, ref, {"spec": {"paused": True}})
    await world.ready(world.commit({"web.yaml": deployment(1, "nginx:1.28")}))

    async def both() -> None:
        found = await world.get(ref)
        assert found["spec"]["replicas"] == 5
        assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1.28"

    await world.until(both, 10.0)
    await world.holds(both, during=2.5)


async def test_another_field_of_an_object_with_ignored_ones_is_corrected(
    world: SourceWorld,
) -> None:
    rule = {"paths": ["/data/color"]}
    world.commit({"a.yaml": config_map("a", color="blue", size="M")})
    await world.follow(drift={"ignore": [rule]})
    await world.ready()
    await edit(world, named(world, "a"), {"data": {"color": "red", "size": "XL"}})
    await data_of(world, named(world, "a"), {"color": "red", "size": "M"})
    await stays(world, named(world, "a"), {"color": "red", "size": "M"})


async def test_our_label_taken_away_by_hand_comes_back(world: SourceWorld) -> None:
    ref = await following(world)
    before = labels(await world.get(ref))[SOURCE_HASH]
    patch = {"metadata": {"labels": {SOURCE_HASH: None}}, "data": {"color": "red"}}
    await edit(world, ref, patch)
    found = await data_of(world, ref, {"color": "blue"})
    assert labels(found)[SOURCE_HASH] == before
    await world.ready()


async def test_our_marks_taken_away_by_hand_come_back(world: SourceWorld) -> None:
    ref = await following(world)
    patch = {"labels": {SOURCE_HASH: None}, "annotations": {SOURCE: None}}
    await edit(world, ref, {"metadata": patch, "data": {"color": "red"}})
    found = await data_of(world, ref, {"color": "blue"})
    assert annotations(found)[SOURCE] == f"{world.namespace}/repo"
    await world.ready(world.commit({"a.yaml": None}))
    await world.gone(ref)


async def test_a_forged_mark_gives_nobody_an_object(world: SourceWorld) -> None:
    mine = {SOURCE: f"{world.namespace}/repo"}
    for name in ("a", "c"):
        forged = marked(
            placed(world, name, color="mine"), annotations=mine, labels={SOURCE_HASH: "x" * 10}
        )
        await world.create(forged)
    world.commit({"a.yaml": config_map("a", color="blue"), "b.yaml": config_map("b", x="1")})
    await world.follow()
    source = await world.reported("Conflict", text=f"{world.namespace}/a")
    assert source["status"]["failures"][0]["file"] == "a.yaml"
    await stays(world, named(world, "a"), {"color": "mine"})
    await world.ready(world.commit({"a.yaml": None}))
    await stays(world, named(world, "a"), {"color": "mine"})
    assert await world.find(named(world, "c")) is not None
    assert list(await world.inventory()) == [f"/ConfigMap/{world.namespace}/b"]
