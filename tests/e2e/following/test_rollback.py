"""
Rollbacks: where they go, the plan that is shown before, and what they change.
"""

import asyncio
from pathlib import Path
from typing import Any

from kro_gitops.metadata import PINNED_TO, PLAN_REQUEST
from kube_objects.refs import ObjectRef
from tests.command import Outcome, start
from tests.e2e.following.world import CONFIG_MAP, SourceWorld, config_map


async def ask(kubeconfig: Path, *words: str) -> Outcome:
    return await asyncio.to_thread(start, *words, "--kubeconfig", kubeconfig)


async def good(kubeconfig: Path, *words: str) -> Outcome:
    done = await ask(kubeconfig, *words)
    assert done.code == 0, (words, done.out, done.err)
    return done


def changes(plan: dict[str, Any]) -> set[tuple[str, str, str]]:
    return {(each["action"], each["kind"], each["name"]) for each in plan.get("objects", [])}


def settings(world: SourceWorld, name: str) -> ObjectRef:
    return ObjectRef(CONFIG_MAP, world.namespace, f"{name}-settings")


async def shops(world: SourceWorld) -> tuple[str, str]:
    """Have a revision with one instance followed, then one with two; return both."""
    files = {"shop.yaml": world.shop(), "front.yaml": world.front()}
    first = world.commit(files, "Begin")
    await world.follow()
    await world.ready(first)
    second = world.commit({"admin.yaml": world.front("admin", color="green")}, "Add admin")
    await world.ready(second)
    await world.data({"color": "green"}, "admin")
    return first, second


async def test_a_rollback_after_a_partly_failed_commit_deletes_nothing_healthy(
    world: SourceWorld, kubeconfig: Path
) -> None:
    _, second = await shops(world)
    admin = await world.settings("admin")
    files = {"front.yaml": world.front(color="red"), "bad.yaml": world.front("bad", color=3)}
    bad = world.commit(files, "Break a part")
    await world.reported("Ready", "False", commit=bad)
    await world.data({"color": "red"})
    name = f"{world.namespace}/repo"
    shown = await good(kubeconfig, "rollback", name, "--dry-run", "-o", "json")
    assert changes(shown.json) == {
        ("Change", "Shop", "front"),
        ("Change", "ConfigMap", "front-settings"),
    }
    assert shown.json["deleted"] == 0
    done = await good(
        kubeconfig, "rollback", name, "--wait"
    )  # deletes nothing, so --yes is needless
    assert f"is ready at {second[:7]}" in done.out
    await world.reported("Pinned", commit=second)
    await world.data({"color": "blue"})
    kept = await world.settings("admin")
    assert kept["metadata"]["uid"] == admin["metadata"]["uid"]
    done = await good(kubeconfig, "rollback", name, "0", "--wait")
    assert f"is ready at {second[:7]}" in done.out


async def test_a_rollback_that_deletes_needs_a_confirmation(
    world: SourceWorld, kubeconfig: Path
) -> None:
    first, second = await shops(world)
    name = f"{world.namespace}/repo"
    deleted = {("Delete", "Shop", "admin"), ("Delete", "ConfigMap", "admin-settings")}
    done = await ask(kubeconfig, "rollback", name, "--wait")
    assert done.code == 2, done.err
    assert f"{name} at {first[:7]}: 0 created, 0 changed, 2 deleted" in done.err
    assert [line.split()[:2] for line in done.out.splitlines()] == [
        ["OBJECT", "ACTION"],
        ["Shop/admin", "in"],
        ["└──", "ConfigMap/admin-settings"],
    ]
    shown = await good(kubeconfig, "rollback", name, "--dry-run", "-o", "json")
    assert changes(shown.json) == deleted
    source = await world.ready(second)
    assert "pin" not in source["spec"]
    assert PLAN_REQUEST not in source["metadata"].get("annotations", {})

    async def cleared() -> None:
        assert "plan" not in (await world.get(world.source_ref()))["status"]

    await world.until(cleared)
    await good(kubeconfig, "rollback", name, "--wait", "--yes", "--reason", "too many")
    await world.gone(settings(world, "admin"))
    shown = await good(kubeconfig, "rollback", name, "--undo", "--dry-run", "-o", "json")
    assert changes(shown.json) == {
        (action.replace("Delete", "Create"), *rest) for action, *rest in deleted
    }
    await good(kubeconfig, "rollback", name, "--undo", "--wait")
    await world.data({"color": "green"}, "admin")


async def test_the_plan_of_a_definition_shows_the_children_of_all_its_instances(
    world: SourceWorld, kubeconfig: Path
) -> None:
    shop = world.shop()
    world.commit({"shop.yaml": shop, "front.yaml": world.front()}, "Begin")
    await world.follow()
    await world.ready()
    more = {**config_map("x"), "metadata": {"name": "${schema.metadata.name}-more"}}
    resources = [*shop["spec"]["resources"], {"id": "more", "template": more}]
    shop = {**shop, "spec": {**shop["spec"], "resources": resources}}
    last = world.commit({"shop.yaml": shop}, "Add a child")
    await world.ready(last)
    by_hand = await world.create(world.front("by-hand", color="red"))  # of no source
    ref = ObjectRef(CONFIG_MAP, world.namespace, "by-hand-more")
    await world.until(lambda: world.get(ref))
    name = f"{world.namespace}/repo"
    await world.respec(suspend=True)
    shown = await good(kubeconfig, "rollback", name, "--dry-run", "-o", "json")
    assert changes(shown.json) == {
        ("Change", "ResourceGraphDefinition", shop["metadata"]["name"]),
        ("Delete", "ConfigMap", "front-more"),
        ("Delete", "ConfigMap", "by-hand-more"),
    }
    found = [each for each in shown.json["objects"] if each["name"] == "by-hand-more"]
    assert found[0]["instance"]["name"] == by_hand["metadata"]["name"]


async def test_the_plan_says_that_a_definition_would_be_rejected(
    world: SourceWorld, kubeconfig: Path
) -> None:
    world.commit({"shop.yaml": world.shop(), "front.yaml": world.front()}, "Begin")
    await world.follow()
    await world.ready()
    files = {
        "shop.yaml": world.shop({"color": "string", "size": 'string | default="s"'}),
        "front.yaml": world.front(color="blue", size="m"),
    }
    last = world.commit(files, "Add a size")
    await world.ready(last)
    name = f"{world.namespace}/repo"
    done = await ask(kubeconfig, "rollback", name)
    assert done.code == 2, (done.out, done.err)
    assert "would be rejected: cannot update CRD" in done.err
    assert "breaking changes detected" in done.err
    assert "pin" not in (await world.ready(last))["spec"]


async def test_a_plan_of_a_commit_that_the_remote_does_not_have_is_an_error(
    world: SourceWorld, kubeconfig: Path
) -> None:
    world.commit({"a.yaml": config_map("a")})
    await world.follow()
    await world.ready()
    done = await ask(kubeconfig, "rollback", f"{world.namespace}/repo", "5e" * 20, "--yes")
    assert done.code == 1
    assert "there is no plan: " in done.err
    assert "pin" not in (await world.ready())["spec"]


# One object


async def painted(world: SourceWorld) -> tuple[str, str]:
    """Have two instances followed that were painted in one later commit; return both commits."""
    files = {"front.yaml": world.front(), "admin.yaml": world.front("admin", color="blue")}
    first = world.commit({"shop.yaml": world.shop(), **files}, "Begin")
    await world.follow()
    await world.ready(first)
    files = {
        "front.yaml": world.front(color="red"),
        "admin.yaml": world.front("admin", color="red"),
    }
    second = world.commit(files, "Paint all red")
    await world.ready(second)
    await world.data({"color": "red"})
    return first, second


async def test_one_instance_is_pinned_while_the_rest_follows_git(
    world: SourceWorld, kubeconfig: Path
) -> None:
    first, _ = await painted(world)
    words = (f"shop.{world.group}/front", "-n", world.namespace)
    done = await good(kubeconfig, "rollback", *words, "--reason", "too red", "--wait")
    assert "0 created, 2 changed, 0 deleted" in done.err
    await world.data({"color": "blue"})
    await world.data({"color": "red"}, "admin")
    front = await world.get(ObjectRef.of(world.front()))
    assert front["metadata"]["annotations"][PINNED_TO] == first
    last = world.commit(
        {
            "front.yaml": world.front(color="green"),
            "admin.yaml": world.front("admin", color="green"),
        }
    )
    await world.ready(last)
    await world.data({"color": "green"}, "admin")
    await world.data({"color": "blue"})
    text = f"Shop {world.namespace}/front is held at {first[:12]}"
    source = await world.reported("Pinned", text=text, commit=last)
    assert source["status"]["pins"][0]["reason"] == "too red"
    listed = await good(kubeconfig, "get", "sources", "-n", world.namespace)
    assert text in listed.out
    listed = await good(kubeconfig, "history", f"{world.namespace}/repo")
    assert f"note: Shop {world.namespace}/front is pinned to {first[:12]}" in listed.err
    explained = await ask(kubeconfig, "explain", *words)
    assert f"a pin of its source {world.namespace}/repo holds it at {first[:12]}" in explained.out
    await good(kubeconfig, "rollback", *words, "--undo", "--wait")
    await world.data({"color": "green"})
    source = await world.ready(last)
    assert "pins" not in source["status"]
    assert (
        PINNED_TO not in (await world.get(ObjectRef.of(world.front())))["metadata"]["annotations"]
    )


async def test_a_pinned_object_is_not_pruned_before_the_pin_ends(
    world: SourceWorld, kubeconfig: Path
) -> None:
    await painted(world)
    words = (f"shop.{world.group}/front", "-n", world.namespace)
    await good(kubeconfig, "rollback", *words, "--wait")
    last = world.commit({"front.yaml": None}, "Remove front")
    source = await world.ready(last)
    (warning,) = source["status"]["warnings"]
    assert "no longer in git: a pin holds it" in warning["message"]
    world.controller.kill()
    await asyncio.to_thread(world.controller.start)
    later = world.commit({"admin.yaml": world.front("admin", color="grey")})
    await world.ready(later)
    await world.data({"color": "blue"})
    shown = await good(kubeconfig, "rollback", *words, "--undo", "--dry-run", "-o", "json")
    assert changes(shown.json) == {
        ("Delete", "Shop", "front"),
        ("Delete", "ConfigMap", "front-settings"),
    }
    await good(kubeconfig, "rollback", *words, "--undo", "--yes", "--wait")
    await world.gone(settings(world, "front"))


async def test_a_pin_to_a_commit_without_the_object_changes_nothing(world: SourceWorld) -> None:
    first = world.commit({"a.yaml": config_map("a", x="1")})
    last = world.commit({"b.yaml": config_map("b", x="1")})
    await world.follow()
    await world.ready(last)
    await world.respec(pins=[{"kind": "ConfigMap", "name": "b", "commit": first}])
    text = f"ConfigMap b is pinned to {first[:12]}, which does not have it"
    await world.reported("FetchFailed", text=text)
    await world.get(ObjectRef(CONFIG_MAP, world.namespace, "b"))
    await world.respec(pins=None)
    await world.ready(last)


async def test_a_definition_is_pinned_and_its_instances_follow_git(
    world: SourceWorld, kubeconfig: Path
) -> None:
    shop = world.shop()
    first = world.commit({"shop.yaml": shop, "front.yaml": world.front()}, "Begin")
    await world.follow()
    await world.ready(first)
    more = {**config_map("x"), "metadata": {"name": "${schema.metadata.name}-more"}}
    resources = [*shop["spec"]["resources"], {"id": "more", "template": more}]
    files = {"shop.yaml": {**shop, "spec": {**shop["spec"], "resources": resources}}}
    await world.ready(world.commit(files, "Add a child"))
    extra = ObjectRef(CONFIG_MAP, world.namespace, "front-more")
    await world.until(lambda: world.get(extra))
    name = shop["metadata"]["name"]
    done = await ask(kubeconfig, "rollback", f"rgd/{name}")
    assert done.code == 2, done.err  # it deletes a child
    await good(kubeconfig, "rollback", f"rgd/{name}", "--yes", "--wait")
    await world.gone(extra)
    last = world.commit({"front.yaml": world.front(color="red")})
    await world.ready(last)
    await world.data({"color": "red"})
