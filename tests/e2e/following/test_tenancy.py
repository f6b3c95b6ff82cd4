"""
What a source may touch, and as whom: closed at first, opened by name, and never as the controller.
"""

import json
import re
from typing import Any

import pytest
import yaml

from kro_gitops.metadata import SOURCE
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.e2e.following.apart import world_apart
from tests.e2e.following.objects import (
    RBAC,
    ROLE,
    ROLE_BINDING,
    account,
    bind,
    data_of,
    edit,
    grant,
    named,
    placed,
    rule,
    stays,
)
from tests.e2e.following.world import Git, SourceWorld, config_map
from tests.e2e.scenarios.world import condition
from tools.cluster.plane import Plane

NAMESPACE = Kind("", "v1", "Namespace")
_ALLOW = re.compile(r"to allow it: allow\.(\w+): (true|\[.*?\])")


# What may be touched


async def test_a_source_starts_closed_and_says_what_opens_it(world: SourceWorld) -> None:
    other = await world.another_namespace()
    fresh = f"{world.namespace}-new"
    role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": "r"}, "rules": []}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": fresh}}
    refused = {
        "rgds": (world.shop(), ObjectRef.of(world.shop())),
        "namespaces": (placed(world, "b", other), named(world, "b", other)),
        "clusterScoped": (space, ObjectRef(NAMESPACE, "", fresh)),
        "kinds": (role, ObjectRef(ROLE, world.namespace, "r")),
    }
    world.commit(
        {f"{name}.yaml": f"# why\n{yaml.safe_dump(obj)}" for name, (obj, _) in refused.items()}
    )
    world.commit({"a.yaml": config_map("a", color="blue")})
    await world.follow(closed=True)
    source = await world.reported("Ready", "False")
    await data_of(world, named(world, "a"), {"color": "blue"})  # the allowed rest
    failures = {each["file"].removesuffix(".yaml"): each for each in source["status"]["failures"]}
    assert failures.keys() == refused.keys()
    allow: dict[str, Any] = {}
    for name, failure in failures.items():
        assert (failure["code"], failure["line"]) == ("not-allowed", 2)
        found = _ALLOW.search(failure["message"])
        assert found is not None, failure
        assert found[1] == name
        allow[found[1]] = yaml.safe_load(found[2])
        assert await world.find(refused[name][1]) is None
    await world.respec(allow=allow)
    await world.ready()
    for _, ref in refused.values():
        assert await world.find(ref) is not None
    await world.delete(ObjectRef(NAMESPACE, "", fresh))


def spread(world: SourceWorld) -> KubeObject:
    """Build a definition whose instances say where their child is."""
    template = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "${schema.metadata.name}-far", "namespace": "${schema.spec.place}"},
    }
    resources = [{"id": "far", "template": template}]
    return world.definition("Spread", {"place": "string"}, resources=resources)


async def test_children_are_held_to_the_limits_of_the_source(world: SourceWorld) -> None:
    other = await world.another_namespace()
    await world.active(await world.create(spread(world)))
    instance = world.instance("Spread", "one", {"place": other})
    world.commit({"one.yaml": instance})
    await world.follow(closed=True)

    async def told() -> None:
        status = (await world.get(instance))["status"]
        text = json.dumps(status["conditions"])
        assert f"source {world.namespace}/repo" in text
        assert f"allow.namespaces: [{other}]" in text

    await world.until(told)
    await world.absent(named(world, "one-far", other), during=1.0)
    await world.respec(allow={"namespaces": [other]})
    await world.ready()
    assert await world.find(named(world, "one-far", other)) is not None


# As whom


async def robot(world: SourceWorld, *rules: dict[str, Any]) -> None:
    """Make an account with these rights in our namespace, and a definition that is served."""
    await account(world, "robot")
    if rules:
        await grant(world, "robot", list(rules))
    await world.active(await world.create(world.shop()))


def user(world: SourceWorld, name: str = "robot") -> str:
    return f"system:serviceaccount:{world.namespace}:{name}"


async def forbidden(world: SourceWorld) -> None:
    """Fail unless the instance says that its account may not make its child."""
    status = json.dumps((await world.get(world.front()))["status"])
    assert "forbidden" in status
    assert user(world) in status
    assert await world.find(named(world, "front-settings")) is None


async def test_children_are_made_as_the_account_of_the_source(world: SourceWorld) -> None:
    await robot(world, rule(world.group, "shops"))
    world.commit({"front.yaml": world.front()})
    await world.follow(closed=True, serviceAccountName="robot")
    await world.until(lambda: forbidden(world))
    # Another source, whose account may do everything, is no help: the inventory decides.
    await account(world, "mighty")
    await grant(world, "mighty", [rule("*", "*", verbs="*")])
    other = world.new_repository()
    other.commit({"m.yaml": yaml.safe_dump(config_map("m"))})
    await world.follow("other", url=world.url(other), closed=True, serviceAccountName="mighty")
    await world.ready(name="other")
    forged = {"annotations": {SOURCE: f"{world.namespace}/other"}}
    await edit(world, ObjectRef.of(world.front()), {"metadata": forged})
    await edit(world, ObjectRef.of(world.front()), {"spec": {"color": "red"}})
    await world.holds(lambda: forbidden(world), during=2.5)
    rights = [rule(world.group, "shops"), rule("", "configmaps")]
    await edit(world, ObjectRef(ROLE, world.namespace, "robot"), {"rules": rights})
    await world.poke()  # or wait: instances are tried again, but less and less often
    await world.data({"color": "blue"})
    await world.ready()


async def test_who_may_not_have_an_object_cannot_keep_it_alive(world: SourceWorld) -> None:
    other = await world.another_namespace()
    await account(world, "tenant")
    forbidden = {"kept-out.yaml": placed(world, "out", other), "no-rights.yaml": config_map("own")}
    world.commit({f"{folder}/{name}": each for folder in "ab" for name, each in forbidden.items()})
    world.commit({"a/stays.yaml": config_map("stays")})
    await world.follow("a", paths=["a"])
    await world.ready(name="a")
    await world.follow("b", paths=["b"], closed=True, serviceAccountName="tenant")
    await world.reported("Ready", "False", name="b")
    world.commit({f"a/{name}": None for name in forbidden})

    async def check() -> None:
        assert await world.find(named(world, "out", other)) is None
        assert await world.find(named(world, "own")) is None

    await world.until(check, 20.0)
    await world.ready(name="a")


async def test_missing_rights_are_told_as_one_role(world: SourceWorld) -> None:
    await robot(world)
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    world.commit({"front.yaml": world.front(), "s.yaml": secret})
    await world.follow(closed=True, serviceAccountName="robot")
    source = await world.reported("Ready", "False", text=user(world))
    first = source["status"]["failures"][0]
    assert first["code"] == "missing-rights"
    role = json.loads(first["message"].partition("this would grant them: ")[2])
    assert (role["kind"], role["metadata"]["namespace"]) == ("Role", world.namespace)
    resources = {each for every in role["rules"] for each in every["resources"]}
    assert resources == {"shops", "secrets", "configmaps"}
    await world.create(role)
    await bind(world, "robot", "Role", role["metadata"]["name"])
    await world.ready()
    await world.data({"color": "blue"})
    await world.ready(world.commit({"front.yaml": None}))  # the rights to delete are in it, too
    await world.gone(named(world, "front-settings"))


async def test_an_account_that_loses_its_rights_is_not_replaced(world: SourceWorld) -> None:
    await robot(world, rule("", "configmaps"), rule(world.group, "shops"))
    world.commit({"a.yaml": config_map("a", color="blue"), "front.yaml": world.front()})
    await world.follow(closed=True, serviceAccountName="robot")
    await world.ready()
    for ref in (
        ObjectRef(ROLE_BINDING, world.namespace, "robot"),
        world.ref("v1", "ServiceAccount", "robot"),
    ):
        await world.delete(ref)
    commit = world.commit({"a.yaml": config_map("a", color="red")})
    source = await world.reported("Ready", "False", text=user(world), commit=commit)
    assert "forbidden" in json.dumps(source["status"]["failures"])
    await stays(world, named(world, "a"), {"color": "blue"})
    await account(world, "robot")
    await bind(world, "robot", "Role", "robot")
    await world.ready(commit)
    await data_of(world, named(world, "a"), {"color": "red"})


async def test_repeated_failures_are_called_stalled(world: SourceWorld) -> None:
    await account(world, "robot")
    world.commit({"a.yaml": config_map("a", color="blue")})
    await world.follow(closed=True, serviceAccountName="robot")
    source = await world.reported("Stalled", text=user(world))
    assert condition(source, "Ready")["status"] == "False"
    await grant(world, "robot", [rule("", "configmaps")])
    source = await world.ready()
    assert "Stalled" not in {each["type"] for each in source["status"]["conditions"]}


# Flags


@pytest.mark.timeout(150)
async def test_sources_act_as_the_default_account_and_in_watched_namespaces_only(
    own_plane: Plane, git: Git
) -> None:
    flags = {"default_service_account": "robot", "watch_namespaces": "{namespace},elsewhere"}
    async with world_apart(own_plane, git, **flags) as world:
        world.commit({"a.yaml": config_map("a", color="blue")})
        await world.follow()
        await world.reported("Ready", "False", text=user(world))
        assert await world.find(named(world, "a")) is None
        await account(world, "robot")
        await grant(world, "robot", [rule("", "configmaps")])
        await world.ready()
        await data_of(world, named(world, "a"), {"color": "blue"})
        # A namespace that is not watched is not followed, whatever its sources may do.
        other = SourceWorld(world.cluster, world.controller, git)
        await other.open()
        other.commit({"a.yaml": config_map("a", color="blue")})
        await other.follow()
        await other.absent(named(other, "a"), during=3.0)
        assert "status" not in await other.get(other.source_ref())
