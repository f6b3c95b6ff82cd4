"""
What must never be deleted, and what must never be forgotten, whatever people do to a source.
"""

from kro_gitops.kube.api import MergePatch
from kro_gitops.source.api.resources import SOURCE_INVENTORY_KIND
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.e2e.following.watching import map_ref, witnessed
from tests.e2e.following.world import SourceWorld, config_map
from tests.git_repositories import Symlink

_Z = "{apiVersion: v1, kind: ConfigMap, metadata: {name: z}}"
CRD = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


async def test_a_source_made_anew_leaves_what_the_former_left(world: SourceWorld) -> None:
    world.commit({"a/x.yaml": config_map("x"), "b/y.yaml": config_map("second")})
    await world.follow("repo", paths=["a"], deletionPolicy="Orphan")
    await world.ready()
    async with witnessed(world, map_ref(world, "x")) as left:
        await world.delete(world.source_ref())
        await world.gone(world.source_ref())
        await world.follow("repo", paths=["b"], allowEmpty=True)
        await world.ready()
        assert set(await world.inventory()) == {f"/ConfigMap/{world.namespace}/second"}
    assert left.deletions == 0


async def test_a_source_with_another_name_takes_over_without_deleting(world: SourceWorld) -> None:
    commit = world.commit({"x.yaml": config_map("x"), "y.yaml": config_map("second")})
    await world.follow("old")
    await world.ready(name="old")
    async with (
        witnessed(world, map_ref(world, "x")) as one,
        witnessed(world, map_ref(world, "second")) as other,
    ):
        await world.follow("new")
        await world.delete(world.source_ref("old"))
        await world.gone(world.source_ref("old"))
        await world.ready(commit, name="new")
    assert (one.deletions, other.deletions) == (0, 0)


async def test_a_file_that_becomes_a_link_deletes_nothing(world: SourceWorld) -> None:
    world.commit({"x.yaml": config_map("x"), "y.yaml": config_map("second")})
    await world.follow()
    await world.ready()
    async with witnessed(world, map_ref(world, "x")) as kept:
        link = Symlink("elsewhere/x.yaml")
        commit = world.repository.commit({"x.yaml": link, "y.yaml": None, "z.yaml": _Z})
        await world.gone(map_ref(world, "second"))
        await world.ready(commit)
    assert kept.deletions == 0
    assert f"/ConfigMap/{world.namespace}/x" in await world.inventory()


async def test_an_inventory_that_somebody_deleted_is_written_whole(world: SourceWorld) -> None:
    world.commit({"x.yaml": config_map("x"), "y.yaml": config_map("second")})
    await world.follow()
    await world.ready()
    shard = ObjectRef(SOURCE_INVENTORY_KIND, world.namespace, "repo-0")
    await world.cluster.patch(shard, MergePatch({"metadata": {"finalizers": None}}))
    await world.cluster.delete(shard)
    commit = world.commit({"z.yaml": config_map("z")})
    await world.ready(commit)
    names = {key.rpartition("/")[2] for key in await world.inventory()}
    assert names == {"x", "second", "z"}


async def test_an_object_whose_version_is_no_longer_served_is_not_forgotten(
    world: SourceWorld,
) -> None:
    group = f"{world.token}.example.com"
    crd = _crd(group, "v1", "v2")
    await world.create(crd)
    thing = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "thing"}}

    async def served() -> None:
        found = await world.get(ObjectRef.of(crd))
        states = {each["type"]: each["status"] for each in found["status"]["conditions"]}
        assert states["Established"] == "True"

    await world.until(served, 20.0)
    world.commit({"thing.yaml": thing, "y.yaml": config_map("second")})
    await world.follow()
    await world.ready()
    versions = _crd(group, "v1", "v2")["spec"]["versions"]
    versions[0]["served"] = False
    await world.cluster.patch(ObjectRef.of(crd), MergePatch({"spec": {"versions": versions}}))
    world.commit({"thing.yaml": None})
    await world.gone(ObjectRef(Kind(group, "v2", "Thing"), world.namespace, "thing"))
    await world.ready()


async def test_a_definition_with_a_namespace_written_on_it_serves(world: SourceWorld) -> None:
    shop = world.shop()
    shop["metadata"]["namespace"] = "default"
    commit = world.commit({"shop.yaml": shop, "front.yaml": world.front()})
    await world.follow()
    await world.ready(commit)
    await world.data({"color": "blue"})


async def test_an_object_that_stands_in_git_with_and_without_its_namespace(
    world: SourceWorld,
) -> None:
    written = config_map("x", v="2")
    written["metadata"]["namespace"] = world.namespace
    world.commit({"a.yaml": config_map("x", v="1"), "b.yaml": written})
    await world.follow()
    found = await world.reported("Ready", "False", reason="InvalidManifests")
    assert [each["code"] for each in found["status"]["failures"]] == ["duplicate-object"]
    assert found["status"]["failures"][0]["file"] == "b.yaml"


def _crd(group: str, *versions: str) -> KubeObject:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": CRD.api_version,
        "kind": CRD.kind,
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "Thing", "plural": "things"},
            "versions": [
                {
                    "name": each,
                    "served": True,
                    "storage": each == versions[-1],
                    "schema": {"openAPIV3Schema": schema},
                }
                for each in versions
            ],
        },
    }
