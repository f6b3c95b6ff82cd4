"""What a source reports of the children of its instances, and how it limits what they lose."""

from typing import Any

from kro_gitops.kube.api import MergePatch, Selection
from kro_gitops.metadata import DELETION_POLICY, OWNED, PRUNE_APPROVED
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.builders import config_map, definition, instance, resource
from tests.integration.sources import SourceScene

SERVICE = Kind("", "v1", "Service")
NAMES = [f"i{number:02}" for number in range(13)]
ALLOWED = "Remove the Services\n\nkro-gitops: allow-prune\n"


def service(name: str = "${schema.metadata.name}") -> KubeObject:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"ports": [{"port": 80}], "selector": {"app": "x"}},
    }


CM = resource("cm", config_map(x="1"))
ALL = [CM, *(resource(f"svc{n}", service(f"${{schema.metadata.name}}-{n}")) for n in "ab")]


def without_namespace(obj: KubeObject) -> KubeObject:
    obj["metadata"].pop("namespace")
    return obj


async def services(scene: SourceScene) -> int:
    selection = Selection(SERVICE, "town", labels=f"{OWNED}=true")
    return len((await scene.cluster.client.list(selection)).items)


async def following(scene: SourceScene, count: int, **spec: Any) -> ObjectRef:
    files: dict[str, Any] = {"rgd.yaml": definition(*ALL)}
    for name in NAMES[:count]:
        files[f"{name}.yaml"] = without_namespace(instance(name=name))
    commit = scene.commit(files)
    ref = await scene.follow(allow={"rgds": True}, **spec)
    await scene.ready(ref, commit, 40)
    return ref


async def reported(scene: SourceScene, ref: ObjectRef, text: str) -> KubeObject:
    """Return the source once it reports that deletions are blocked."""

    async def check() -> KubeObject:
        found = await scene.cluster.get(ref)
        conditions = {each["type"]: each for each in found["status"]["conditions"]}
        assert text in conditions["PruneBlocked"]["message"], conditions
        assert conditions["Ready"]["status"] == "False"
        assert conditions["Ready"]["reason"] == "PruneBlocked"
        assert found["status"]["phase"] == "Degraded"
        return found

    return await scene.cluster.eventually(check, 20)


async def has_services(scene: SourceScene, count: int) -> None:
    async def check() -> None:
        assert await services(scene) == count

    await scene.cluster.eventually(check, 20)


async def in_history(scene: SourceScene, ref: ObjectRef, **counts: int) -> KubeObject:
    async def check() -> KubeObject:
        found = await scene.cluster.get(ref)
        latest: KubeObject = found["status"]["history"][0]
        assert {key: latest.get(key, 0) for key in counts} == counts, found["status"]["history"]
        return latest

    return await scene.cluster.eventually(check, 20)


async def test_a_commit_that_drops_two_resources_deletes_none_of_their_services(
    sources: SourceScene,
) -> None:
    ref = await following(sources, 13)
    await in_history(sources, ref, created=14, childrenCreated=39, childrenDeleted=0)
    sources.commit({"rgd.yaml": definition(resource("cm", config_map(x="2")))})
    found = await reported(sources, ref, "would delete 26 children of 13 instances")
    assert "spec.maxPrune of source town/repo" in str(found["status"]["conditions"])
    latest = await in_history(
        sources, ref, changed=1, childrenChanged=13, childrenDeleted=0, childrenHeld=26
    )
    assert latest["result"] == "Degraded"
    assert await services(sources) == 26

    await sources.kill()
    await sources.start()
    await reported(sources, ref, "would delete 26 children of 13 instances")
    assert await services(sources) == 26

    # A line in the message of the next commit approves it.
    commit = sources.repository.commit({"README.md": "approved"}, ALLOWED)
    await has_services(sources, 0)
    await sources.ready(ref, commit)
    await in_history(sources, ref, childrenDeleted=26, childrenHeld=0)


async def test_a_source_approves_by_an_annotation_that_names_the_commit(
    sources: SourceScene,
) -> None:
    ref = await following(sources, 13)
    commit = sources.commit({"rgd.yaml": definition(CM)})
    await reported(sources, ref, "would delete 26 children")
    annotations = {"metadata": {"annotations": {PRUNE_APPROVED: commit}}}
    await sources.cluster.client.patch(ref, MergePatch(annotations))
    await has_services(sources, 0)
    await sources.ready(ref, commit)


async def test_a_raised_limit_releases_children_that_were_held(sources: SourceScene) -> None:
    ref = await following(sources, 4)
    commit = sources.commit({"rgd.yaml": definition(CM)})
    await reported(sources, ref, "would delete 8 children of 4 instances")
    limit = {"spec": {"maxPrune": {"percent": 30, "count": 8}}}
    await sources.cluster.client.patch(ref, MergePatch(limit))
    await has_services(sources, 0)
    await sources.ready(ref, commit)


async def test_deleting_instances_in_git_counts_their_children(sources: SourceScene) -> None:
    ref = await following(sources, 4)
    # One instance with its three children is below the limit; two are eight objects of 17.
    commit = sources.commit({"i00.yaml": None})
    await sources.ready(ref, commit)
    await has_services(sources, 6)
    sources.commit({"i01.yaml": None, "i02.yaml": None})
    found = await reported(sources, ref, "8 of 13 objects would be deleted")
    message = str(found["status"]["conditions"])
    assert "6 of them are children of instances" in message
    assert await services(sources) == 6


async def test_a_definition_in_git_may_have_a_deletion_policy(sources: SourceScene) -> None:
    ref = await following(sources, 13)
    kept = definition(*ALL)
    kept["metadata"]["annotations"] = {DELETION_POLICY: "Orphan"}
    commit = sources.commit({"rgd.yaml": kept})
    await sources.ready(ref, commit)
    await in_history(sources, ref, childrenChanged=39)
    kept["spec"]["resources"] = [CM]
    # Nothing is deleted, so nothing is held.
    await sources.ready(ref, sources.commit({"rgd.yaml": kept}))

    async def released() -> None:
        assert await services(sources) == 0  # with our label
        listed = (await sources.cluster.client.list(Selection(SERVICE, "town"))).items
        assert len(listed) == 26

    await sources.cluster.eventually(released, 20)
