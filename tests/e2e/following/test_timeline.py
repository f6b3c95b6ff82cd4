"""
`timeline` on a cluster with a controller at work: commits, revisions, applies, repairs, Events.
"""

import asyncio
from typing import Any

from kro_gitops.kube.api import MergePatch, WriteOptions
from kube_objects.refs import ObjectRef
from tests.command import Outcome, start
from tests.e2e.following.world import CONFIG_MAP, SourceWorld
from tools.cluster.plane import Plane


async def timeline(plane: Plane, world: SourceWorld, *words: str) -> Outcome:
    options = ("-n", world.namespace, "--kubeconfig", plane.kubeconfig)
    return await asyncio.to_thread(start, "timeline", *words, *options)


async def test_a_timeline_names_commits_revisions_repairs_and_who_caused_them(
    world: SourceWorld, followed_plane: Plane
) -> None:
    definition = world.shop()
    world.commit({"rgd.yaml": definition, "front.yaml": world.front()}, "Add the shop")
    await world.follow()
    await world.ready()
    await world.data({"color": "blue"})
    world.commit({"front.yaml": world.front(color="red")}, "Paint it red")
    await world.data({"color": "red"})
    await world.ready()
    settings = ObjectRef(CONFIG_MAP, world.namespace, "front-settings")
    by_hand = WriteOptions("kubectl-edit")
    await world.cluster.patch(settings, MergePatch({"data": {"color": "secret-paint"}}), by_hand)
    await world.data({"color": "red"})
    target = f"shops.{ObjectRef.of(world.front()).kind.group}/front"

    async def listed() -> list[dict[str, Any]]:
        done = await timeline(followed_plane, world, target, "-o", "json")
        assert (done.code, done.err) == (0, "")
        found: list[dict[str, Any]] = done.json
        assert [each for each in found if each["what"] == "repaired"], found
        return found

    found = await world.until(listed, 30.0)
    assert [each["time"] for each in found] == sorted(each["time"] for each in found)
    by_what: dict[str, list[dict[str, Any]]] = {}
    for each in found:
        by_what.setdefault(each["what"], []).append(each)
    commits = [each["text"] for each in by_what["commit"]]
    assert any("Add the shop" in text for text in commits)
    assert any("Paint it red" in text for text in commits)
    [revision] = by_what["revision"]
    name = definition["metadata"]["name"]
    assert revision["text"] == f"revision 1 of definition '{name}' was issued"
    [repair] = by_what["repaired"]
    assert repair["text"] == (
        f"ConfigMap {world.namespace}/front-settings was changed by field manager 'kubectl-edit' "
        "and was applied again"
    )
    assert {each["object"] for each in by_what["created"]} >= {
        "Shop/front",
        "ConfigMap/front-settings",
        "GitSource/repo",
        f"ResourceGraphDefinition/{name}",
    }
    [applied] = [
        each for each in by_what["applied"] if each["object"] == "ConfigMap/front-settings"
    ]
    assert applied["by"] == "kro.run/applyset"
    assert any(each["text"].startswith("Ready became True") for each in by_what["condition"])
    assert "secret-paint" not in str(found)

    done = await timeline(followed_plane, world, "source/repo")
    assert (done.code, done.err) == (0, "")
    header, *_ = done.out.splitlines()
    assert header.split() == ["TIME", "AGE", "WHAT", "OBJECT", "DETAIL", "BY"]
    assert "Paint it red" in done.out
    done = await timeline(followed_plane, world, f"rgd/{name}", "--since", "1h")
    assert f"revision 1 of definition '{name}' was issued" in done.out
