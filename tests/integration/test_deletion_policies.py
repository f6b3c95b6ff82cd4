"""Children that stay when they are no longer desired, or when their instance is deleted."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from kro_gitops.engine.controllers.engine import EngineSettings
from kro_gitops.engine.controllers.instances import InstanceSettings
from kro_gitops.kube.api import DeleteOptions, MergePatch, Propagation
from kro_gitops.metadata import DELETION_POLICY, KRO_DELETION_POLICY, OWNED
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.builders import config_map, definition, instance, resource
from tests.integration.cluster import Controllers, InProcessCluster
from tests.integration.conftest import Scene
from tests.integration.test_engine import config_map_ref, create, serve

Play = Callable[[Scene], None]

CLAIM = Kind("", "v1", "PersistentVolumeClaim")


def kept(name: str = "kept", policy: str = "Orphan", key: str = DELETION_POLICY) -> KubeObject:
    template = config_map(name, x="1")
    template["metadata"]["annotations"] = {key: policy}
    return resource("kept", template)


PLAIN = resource("plain", config_map("plain", x="1"))


def claim() -> KubeObject:
    template = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    return resource("claim", template)


async def is_released(cluster: InProcessCluster, ref: ObjectRef, uid: str) -> None:
    """Return once a child has nothing of ours any more, and is the same object."""

    async def check() -> None:
        metadata = (await cluster.get(ref))["metadata"]
        assert metadata["uid"] == uid
        assert "deletionTimestamp" not in metadata
        assert not metadata.get("ownerReferences")
        keys = {*(metadata.get("labels") or {}), *(metadata.get("annotations") or {})}
        ours = [key for key in keys if "kro" in key or "applyset" in key]
        assert not ours

    await cluster.eventually(check)


async def uid_of(cluster: InProcessCluster, ref: ObjectRef) -> str:
    uid: str = (await cluster.get(ref))["metadata"]["uid"]
    return uid


async def redefine(cluster: InProcessCluster, *resources: KubeObject) -> None:
    changes = {"spec": definition(*resources)["spec"]}
    await cluster.client.patch(ObjectRef.of(definition()), MergePatch(changes))


@pytest.mark.parametrize(
    ("key", "policy"),
    [
        (DELETION_POLICY, "Orphan"),
        (DELETION_POLICY, "Retain"),
        (KRO_DELETION_POLICY, "Orphaned"),
        (KRO_DELETION_POLICY, "Detach"),
    ],
)
def test_a_child_that_leaves_its_definition_stays_if_its_template_says_so(
    play: Play, key: str, policy: str
) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        await serve(cluster, PLAIN, kept(policy=policy, key=key))
        await create(cluster, instance())
        await cluster.in_state(instance(), "ACTIVE")
        ref = config_map_ref("kept")
        uid = await uid_of(cluster, ref)
        # The garbage collector must not delete it either.
        assert not (await cluster.get(ref))["metadata"].get("ownerReferences")
        await redefine(cluster, resource("other", config_map("other")))
        await cluster.gone(config_map_ref("plain"))
        await is_released(cluster, ref, uid)

        # It can be adopted again.
        await redefine(cluster, kept(policy=policy, key=key))

        async def adopted() -> None:
            labels = (await cluster.get(ref))["metadata"]["labels"]
            assert labels[OWNED] == "true"

        await cluster.eventually(adopted)
        await cluster.in_state(instance(), "ACTIVE")
        assert await uid_of(cluster, ref) == uid

    play(scene)


@pytest.mark.parametrize("propagation", [Propagation.BACKGROUND, Propagation.FOREGROUND])
def test_a_deleted_instance_leaves_such_children(play: Play, propagation: Propagation) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        await serve(cluster, PLAIN, kept())
        await create(cluster, instance())
        await cluster.in_state(instance(), "ACTIVE")
        ref = config_map_ref("kept")
        uid = await uid_of(cluster, ref)
        options = DeleteOptions(propagation=propagation)
        await cluster.client.delete(ObjectRef.of(instance()), options)
        await cluster.gone(instance())
        await cluster.gone(config_map_ref("plain"))
        await is_released(cluster, ref, uid)
        await asyncio.sleep(600)
        assert await uid_of(cluster, ref) == uid

    play(scene)


def test_an_instance_that_was_removed_at_once_leaves_such_children(play: Play) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        await serve(cluster, PLAIN, kept())
        await create(cluster, instance())
        await cluster.in_state(instance(), "ACTIVE")
        ref = config_map_ref("kept")
        uid = await uid_of(cluster, ref)
        cluster.lose(ObjectRef.of(instance()))
        await cluster.gone(config_map_ref("plain"))
        await is_released(cluster, ref, uid)

    play(scene)


def test_a_definition_sets_the_policy_of_all_children(play: Play) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        deleted = config_map("deleted")
        deleted["metadata"]["annotations"] = {DELETION_POLICY: "Delete"}
        await serve(cluster, PLAIN, resource("deleted", deleted))
        await create(cluster, instance())
        await cluster.in_state(instance(), "ACTIVE")
        ref = config_map_ref("plain")
        uid = await uid_of(cluster, ref)
        policy = {"metadata": {"annotations": {DELETION_POLICY: "Orphan"}}}
        await cluster.client.patch(ObjectRef.of(definition()), MergePatch(policy))

        async def marked() -> None:
            metadata = (await cluster.get(ref))["metadata"]
            assert metadata["annotations"][DELETION_POLICY] == "Orphan"
            assert not metadata.get("ownerReferences")

        await cluster.eventually(marked)
        await cluster.client.delete(ObjectRef.of(instance()))
        await cluster.gone(instance())
        await cluster.gone(config_map_ref("deleted"))
        await is_released(cluster, ref, uid)

    play(scene)


def test_persistent_volume_claims_stay_by_option(play: Play) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        controllers.rules = EngineSettings(instances=InstanceSettings(retains_claims=True))
        await controllers.restart()
        await serve(cluster, PLAIN, claim())
        await create(cluster, instance())
        await cluster.in_state(instance(), "ACTIVE")
        ref = ObjectRef(CLAIM, "town", "data")
        uid = await uid_of(cluster, ref)
        await cluster.client.delete(ObjectRef.of(instance()))
        await cluster.gone(instance())
        await cluster.gone(config_map_ref("plain"))
        await is_released(cluster, ref, uid)

    play(scene)


def test_a_policy_that_is_none_is_an_error_of_the_definition(play: Play) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        await cluster.client.create(definition(kept(policy="Keep")))
        found: Any = await cluster.in_state(definition(), "Inactive")
        assert "is not a deletion policy" in str(found["status"]["conditions"])

    play(scene)
