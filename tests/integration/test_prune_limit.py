"""Children that one change would delete: how many go at once, what waits, and what approves it."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from kro_gitops.engine.controllers.engine import EngineSettings
from kro_gitops.engine.controllers.instances import InstanceSettings
from kro_gitops.engine.plan.prune_limit import PRUNE_BLOCKED, Held, PruneLimit
from kro_gitops.kube.api import MergePatch, Selection
from kro_gitops.metadata import HELD_CHILDREN, OWNED, PRUNE_APPROVED
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.builders import config_map, definition, instance, resource
from tests.integration.cluster import Controllers, InProcessCluster
from tests.integration.conftest import Scene
from tests.integration.test_engine import create, serve

Play = Callable[[Scene], None]

SERVICE = Kind("", "v1", "Service")
CONFIG_MAP = Kind("", "v1", "ConfigMap")
NAMES = [f"i{number:02}" for number in range(13)]
LIMIT = PruneLimit(30.0, 5, "the test")


def service(name: str = "${schema.metadata.name}") -> KubeObject:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"ports": [{"port": 80}], "selector": {"app": "x"}},
    }


CM = resource("cm", config_map(x="${schema.spec.x}"))
SVC = resource("svc", service())
ITEMS = resource(
    "parts",
    config_map("${schema.metadata.name}-${name}"),
    forEach=[{"name": "${schema.spec.names}"}],
)
FIELDS = {"x": 'string | default="1"', "names": '[]string | default=["0"]'}


async def limited(controllers: Controllers, limit: PruneLimit | None = LIMIT) -> None:
    controllers.rules = EngineSettings(instances=InstanceSettings(prune_limit=limit))
    await controllers.restart()


async def children(cluster: InProcessCluster, kind: Kind = SERVICE) -> set[str]:
    listed = await cluster.client.list(Selection(kind, "town", labels=f"{OWNED}=true"))
    return {each["metadata"]["name"] for each in listed.items}


async def redefine(cluster: InProcessCluster, *resources: KubeObject) -> None:
    spec = definition(*resources, spec=FIELDS)["spec"]
    await cluster.client.patch(ObjectRef.of(definition()), MergePatch({"spec": spec}))


async def edit(cluster: InProcessCluster, obj: KubeObject, changes: KubeObject) -> None:
    await cluster.client.patch(ObjectRef.of(obj), MergePatch(changes))


def blocked(obj: KubeObject) -> KubeObject | None:
    found = (each for each in obj["status"]["conditions"] if each["type"] == PRUNE_BLOCKED)
    return next(found, None)


async def are_held(cluster: InProcessCluster, names: Iterable[str]) -> None:
    """Return once the children of these instances wait for approval."""

    async def check() -> None:
        for name in names:
            found = await cluster.get(instance(name=name))
            assert blocked(found) is not None, found["status"]
            assert HELD_CHILDREN in found["metadata"]["annotations"]

    await cluster.eventually(check)


async def are_released(cluster: InProcessCluster, names: Iterable[str] = NAMES) -> None:
    """Return once nothing is held, and everything is ready."""

    async def check() -> None:
        for name in names:
            found = await cluster.get(instance(name=name))
            assert blocked(found) is None, found["status"]
            assert HELD_CHILDREN not in found["metadata"]["annotations"]
            assert found["status"]["state"] == "ACTIVE"
        assert blocked(await cluster.get(definition())) is None

    await cluster.eventually(check)


async def thirteen_instances(cluster: InProcessCluster, *resources: KubeObject) -> None:
    await serve(cluster, *resources, spec=FIELDS)
    await create(cluster, *(instance(name=name) for name in NAMES))
    for name in NAMES:
        await cluster.in_state(instance(name=name), "ACTIVE")


def test_a_definition_that_drops_a_resource_of_thirteen_instances_deletes_none_of_them(
    play: Play,
) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        await limited(controllers)
        await thirteen_instances(cluster, CM, SVC)
        # The rest of the change is applied.
        await redefine(cluster, resource("cm", config_map(x="changed")))
        await are_held(cluster, NAMES)

        async def definition_says_so() -> str:
            condition = blocked(await cluster.get(definition()))
            assert condition is not None
            return str(condition["message"])

        message = await cluster.eventually(definition_says_so)
        assert "kiosk-r00002 would delete 13 children of 13 instances" in message
        assert "Service town/i00, Service town/i01, Service town/i02, and 10 more" in message
        assert "30 % and 5 objects (the test)" in message
        assert "kro-gitops approve rgd/kiosk" in message
        assert await children(cluster) == set(NAMES)
        for name in NAMES:
            ref = ObjectRef(CONFIG_MAP, "town", name)
            assert (await cluster.get(ref))["data"] == {"x": "changed"}
            assert (await cluster.get(instance(name=name)))["status"]["state"] == "ACTIVE"
        await asyncio.sleep(3600)
        assert await children(cluster) == set(NAMES)

    play(scene)


def test_a_held_change_stays_held_after_a_restart(play: Play) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        await limited(controllers)
        await thirteen_instances(cluster, CM, SVC)
        await redefine(cluster, CM)
        await are_held(cluster, NAMES)
        for _ in range(3):
            await controllers.restart()
            await asyncio.sleep(60)
            await are_held(cluster, NAMES)
            assert blocked(await cluster.get(definition())) is not None
            assert await children(cluster) == set(NAMES)

    play(scene)


def test_a_change_is_held_that_the_controller_did_not_see_happen(play: Play) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        await limited(controllers)
        await thirteen_instances(cluster, CM, SVC)
        await controllers.kill()
        await redefine(cluster, CM)
        await controllers.start()
        await are_held(cluster, NAMES)
        assert await children(cluster) == set(NAMES)

    play(scene)


def test_an_approved_revision_of_a_definition_deletes_them_also_if_killed_meanwhile(
    play: Play,
) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        await limited(controllers)
        await thirteen_instances(cluster, CM, SVC)
        await redefine(cluster, CM)
        await are_held(cluster, NAMES)
        wrong = {"metadata": {"annotations": {PRUNE_APPROVED: "kiosk-r00001"}}}
        await edit(cluster, definition(), wrong)
        await asyncio.sleep(60)
        assert await children(cluster) == set(NAMES)

        right = {"metadata": {"annotations": {PRUNE_APPROVED: "kiosk-r00002"}}}
        await edit(cluster, definition(), right)

        async def some_are_gone() -> None:
            assert len(await children(cluster)) < 13

        await cluster.eventually(some_are_gone, every=0.001)
        await controllers.restart()
        await are_released(cluster)
        assert await children(cluster) == set()

        # The approval is of that revision only.
        await redefine(cluster, CM, SVC)
        await are_released(cluster)

        async def all_are_back() -> None:
            assert await children(cluster) == set(NAMES)

        await cluster.eventually(all_are_back)
        await redefine(cluster, CM)
        await are_held(cluster, NAMES)

    play(scene)


def test_an_approval_of_one_instance_covers_its_children_only(play: Play) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        await limited(controllers)
        await thirteen_instances(cluster, CM, SVC)
        await redefine(cluster, CM)
        await are_held(cluster, NAMES)
        for name in NAMES[:9]:
            found = await cluster.get(instance(name=name))
            held = Held.parse(found["metadata"]["annotations"][HELD_CHILDREN])
            assert held is not None
            approval = {"metadata": {"annotations": {PRUNE_APPROVED: held.token}}}
            await edit(cluster, instance(name=name), approval)

        async def nine_are_gone() -> None:
            assert await children(cluster) == set(NAMES[9:])

        await cluster.eventually(nine_are_gone)
        # The rest is less than the limit, but still a part of the same change.
        await controllers.restart()
        await asyncio.sleep(60)
        assert await children(cluster) == set(NAMES[9:])
        await are_held(cluster, NAMES[9:])

    play(scene)


def test_a_reverted_definition_releases_what_was_held(play: Play) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        await limited(controllers)
        await thirteen_instances(cluster, CM, SVC)
        before = {each["metadata"]["name"]: each["metadata"]["uid"] for each in await uids(cluster)}
        await redefine(cluster, CM)
        await are_held(cluster, NAMES)
        await redefine(cluster, CM, SVC)
        await are_released(cluster)
        after = {each["metadata"]["name"]: each["metadata"]["uid"] for each in await uids(cluster)}
        assert after == before

    play(scene)


async def uids(cluster: InProcessCluster) -> list[KubeObject]:
    return list((await cluster.client.list(Selection(SERVICE, "town"))).items)


def test_a_change_below_the_limit_deletes_at_once(play: Play) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        await limited(controllers)
        await serve(cluster, CM, SVC, spec=FIELDS)
        few = NAMES[:5]
        await create(cluster, *(instance(name=name) for name in few))
        for name in few:
            await cluster.in_state(instance(name=name), "ACTIVE")
        await redefine(cluster, CM)

        async def gone() -> None:
            assert await children(cluster) == set()

        await cluster.eventually(gone, within=5)
        await are_released(cluster, few)

    play(scene)


def test_without_a_limit_everything_is_deleted_at_once(play: Play) -> None:
    async def scene(cluster: InProcessCluster, _controllers: Controllers) -> None:
        await thirteen_instances(cluster, CM, SVC)
        await redefine(cluster, CM)

        async def gone() -> None:
            assert await children(cluster) == set()

        await cluster.eventually(gone, within=5)

    play(scene)


def test_a_collection_that_shrinks_much_is_held_and_one_that_shrinks_little_is_not(
    play: Play,
) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        await limited(controllers)
        await serve(cluster, ITEMS, spec=FIELDS)
        await create(cluster, instance({"names": [str(n) for n in range(30)]}))
        await cluster.in_state(instance(), "ACTIVE")
        await edit(cluster, instance(), {"spec": {"names": [str(n) for n in range(22)]}})

        async def has(count: int) -> None:
            assert len(await children(cluster, CONFIG_MAP)) == count

        await cluster.eventually(lambda: has(22))  # 8 of 30 are less than 30 %
        await edit(cluster, instance(), {"spec": {"names": [str(n) for n in range(12)]}})
        await are_held(cluster, ["corner"])
        condition = blocked(await cluster.get(instance()))
        assert condition is not None
        assert "10 children would be deleted" in condition["message"]
        assert "kro-gitops approve kiosk/corner -n town" in condition["message"]
        assert blocked(await cluster.get(definition())) is None
        await has(22)
        await edit(cluster, instance(), {"spec": {"names": [str(n) for n in range(22)]}})
        await are_released(cluster, ["corner"])

    play(scene)


def test_an_instance_that_is_held_does_not_hold_others(play: Play) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        await limited(controllers)
        await serve(cluster, ITEMS, spec=FIELDS)
        many: dict[str, Any] = {"names": [str(n) for n in range(10)]}
        await create(cluster, instance(many, name="a"), instance(many, name="b"))
        for name in "ab":
            await cluster.in_state(instance(name=name), "ACTIVE")
        await edit(cluster, instance(name="a"), {"spec": {"names": ["0"]}})
        await are_held(cluster, ["a"])
        await edit(cluster, instance(name="b"), {"spec": {"names": many["names"][:8]}})

        async def shrunk() -> None:
            assert len(await children(cluster, CONFIG_MAP)) == 18

        await cluster.eventually(shrunk)

    play(scene)


def test_a_condition_that_turns_false_for_all_instances_is_held(play: Play) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        await limited(controllers)
        await thirteen_instances(cluster, CM, SVC)
        await redefine(cluster, CM, {**SVC, "includeWhen": ['${schema.spec.x == "2"}']})
        await are_held(cluster, NAMES)
        assert await children(cluster) == set(NAMES)
        # One instance alone wants none: that is its own change.
        await redefine(cluster, CM, {**SVC, "includeWhen": ['${schema.spec.x == "1"}']})
        await are_released(cluster)
        await edit(cluster, instance(name="i03"), {"spec": {"x": "2"}})

        async def one_is_gone() -> None:
            assert await children(cluster) == {*NAMES} - {"i03"}

        await cluster.eventually(one_is_gone)

    play(scene)


def test_what_instances_lose_while_another_resource_is_not_ready_is_counted(play: Play) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        await limited(controllers)
        await thirteen_instances(cluster, CM, SVC)
        # Each becomes complete at another time, when its new resource is ready.
        slow = resource(
            "slow",
            config_map("${schema.metadata.name}-slow"),
            readyWhen=['${slow.metadata.?annotations.?ready.orValue("") == "yes"}'],
        )
        last = resource("last", config_map("${schema.metadata.name}-${slow.metadata.name}"))
        await redefine(cluster, CM, slow, last)

        async def all_are_there() -> None:
            assert len(await children(cluster, CONFIG_MAP)) == 26

        await cluster.eventually(all_are_there)
        for name in NAMES:
            ready = {"metadata": {"annotations": {"ready": "yes"}}}
            ref = ObjectRef(CONFIG_MAP, "town", f"{name}-slow")
            await cluster.client.patch(ref, MergePatch(ready))
            await asyncio.sleep(30)
        await are_held(cluster, NAMES)
        assert await children(cluster) == set(NAMES)

    play(scene)


def test_deleting_an_instance_with_held_children_deletes_them(play: Play) -> None:
    async def scene(cluster: InProcessCluster, controllers: Controllers) -> None:
        await limited(controllers)
        await thirteen_instances(cluster, CM, SVC)
        await redefine(cluster, CM)
        await are_held(cluster, NAMES)
        await cluster.client.delete(ObjectRef.of(instance(name="i07")))
        await cluster.gone(instance(name="i07"))
        assert await children(cluster) == {*NAMES} - {"i07"}

    play(scene)
