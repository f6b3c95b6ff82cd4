"""
What people tell a source: to stop, to go on, to look now, to wait for others, to stay at a commit.
"""

import asyncio
import re
import urllib.request
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from kro_gitops.kube.api import WriteOptions
from kro_gitops.metadata import ARGOCD_TRACKING_ID, REQUESTED_AT
from kube_objects.refs import KubeObject
from kube_objects.times import format_time
from tests.command import Outcome, start
from tests.e2e.following.apart import world_apart
from tests.e2e.following.objects import data_of, edit, named, stays
from tests.e2e.following.world import Git, SourceWorld, config_map
from tests.e2e.scenarios.world import annotations, condition
from tools.cluster.plane import Plane

SELDOM = "10m"  # so that nothing happens because of the clock


def colored(color: str) -> dict[str, object]:
    return {"a.yaml": config_map("a", color=color)}


def types(source: KubeObject) -> set[str]:
    return {each["type"] for each in source["status"]["conditions"]}


# Stopping and going on


async def test_a_suspended_source_sleeps_and_catches_up(world: SourceWorld) -> None:
    world.commit(colored("blue"))
    await world.follow()
    await world.ready()
    await world.respec(suspend=True)
    source = await world.reported("Suspended")
    assert source["status"]["phase"] == "Suspended"
    assert condition(source, "Ready")["status"] == "True"  # what was said last still holds
    await edit(world, named(world, "a"), {"data": {"color": "by hand"}})
    world.commit(colored("red"))
    commit = world.commit({"b.yaml": config_map("b", x="1")})
    await stays(world, named(world, "a"), {"color": "by hand"})
    await world.respec(suspend=False)
    source = await world.ready(commit)
    assert "Suspended" not in types(source)
    await data_of(world, named(world, "a"), {"color": "red"})
    assert await world.find(named(world, "b")) is not None


async def test_a_request_is_answered_at_once(world: SourceWorld) -> None:
    world.commit(colored("blue"))
    await world.follow(interval=SELDOM)
    await world.ready()
    commit = world.commit(colored("red"))
    wish = {"metadata": {"annotations": {REQUESTED_AT: "now, please"}}}
    await edit(world, world.source_ref(), wish)

    async def answered() -> None:
        source = await world.ready(commit)
        assert source["status"]["lastHandledReconcileAt"] == "now, please"

    await world.until(answered, 10.0)
    await data_of(world, named(world, "a"), {"color": "red"})


async def test_a_change_that_is_reverted_at_once_is_undone(world: SourceWorld) -> None:
    world.commit(colored("blue"))
    await world.follow(interval=SELDOM)
    await world.ready()
    for color in ("red", "blue", "red", "blue", "red", "blue"):
        world.commit(colored(color))
        await world.poke()
        await data_of(world, named(world, "a"), {"color": color})


# Waiting for others


async def test_a_source_waits_for_those_it_depends_on(world: SourceWorld) -> None:
    world.commit(colored("blue"))
    await world.follow("apps", dependsOn=[{"name": "base"}])
    text = f"there is no source {world.namespace}/base"
    await world.reported("DependencyNotReady", text=text, name="apps")
    base = world.new_repository()
    base.commit({"b.yaml": "a: [1,\n"})
    await world.follow("base", url=world.url(base))
    text = f"source {world.namespace}/base is not ready"
    source = await world.reported("DependencyNotReady", text=text, name="apps")
    assert condition(source, "Ready")["status"] == "False"
    await world.absent(named(world, "a"), during=1.0)
    base.commit({"b.yaml": yaml.safe_dump(config_map("b"))})
    source = await world.ready(name="apps")
    assert "DependencyNotReady" not in types(source)
    await data_of(world, named(world, "a"), {"color": "blue"})


async def test_sources_that_wait_for_each_other_say_so(world: SourceWorld) -> None:
    world.commit(colored("blue"))
    await world.follow("one", dependsOn=[{"name": "two"}])
    await world.follow("two", dependsOn=[{"name": "one"}])
    ring = f"{world.namespace}/one → {world.namespace}/two → {world.namespace}/one"
    await world.reported("DependencyNotReady", text=f"wait for each other: {ring}", name="one")
    await world.respec("two", dependsOn=[])
    await world.ready(name="two")


# Staying at a commit


async def test_a_pin_holds_until_it_expires(world: SourceWorld) -> None:
    first = world.commit(colored("blue"))
    last = world.commit(colored("red"))
    await world.follow(interval=SELDOM)
    await world.ready(last)
    expires = format_time(datetime.now(UTC) + timedelta(seconds=5))
    await world.respec(pin={"commit": first, "reason": "red is broken", "expires": expires})
    source = await world.reported("Pinned", text="red is broken", commit=first)
    assert source["status"]["pin"]["commit"] == first
    await data_of(world, named(world, "a"), {"color": "blue"})
    source = await world.ready(last, within=15.0)
    assert "Pinned" not in types(source)
    assert "pin" not in source["status"]
    await data_of(world, named(world, "a"), {"color": "red"})


# The program


async def ask(kubeconfig: Path, *words: str) -> Outcome:
    done = await asyncio.to_thread(start, *words, "--kubeconfig", kubeconfig)
    assert done.code == 0, (words, done.out, done.err)
    return done


@pytest.mark.timeout(200)
async def test_the_program_and_the_controller_understand_each_other(
    world: SourceWorld, kubeconfig: Path
) -> None:
    name = f"{world.namespace}/repo"
    first = world.commit(colored("blue"), "Paint it blue")
    await world.follow(interval=SELDOM)
    await world.ready(first)
    last = world.commit(colored("red"), "Paint it red")
    done = await ask(kubeconfig, "sync", name, "--wait")
    assert f"{name} is ready at main@{last[:7]}" in done.out
    await data_of(world, named(world, "a"), {"color": "red"})
    listed = (await ask(kubeconfig, "history", name)).out
    assert listed.index("Paint it red") < listed.index("Paint it blue")
    done = await ask(kubeconfig, "rollback", name, "--reason", "too bright", "--wait")
    assert f"{name} is ready at" in done.out
    await data_of(world, named(world, "a"), {"color": "blue"})
    source = await world.reported("Pinned", text="too bright", commit=first)
    assert source["status"]["pin"]["by"]
    await ask(kubeconfig, "rollback", name, "--undo", "--wait")
    await data_of(world, named(world, "a"), {"color": "red"})
    await ask(kubeconfig, "suspend", name, "--wait", "--reason", "holidays")
    await world.reported("Suspended")
    final = world.commit(colored("green"), "Paint it green")
    await ask(kubeconfig, "resume", name, "--wait")
    await world.ready(final)
    await data_of(world, named(world, "a"), {"color": "green"})


async def test_the_history_tells_what_became_of_each_revision(world: SourceWorld) -> None:
    files = {**colored("blue"), "b.yaml": config_map("b", x="1")}
    first = world.commit(files, "Begin\n\nwith many words")
    await world.follow()
    await world.ready(first)
    bad = world.commit({"b.yaml": "a: [1,\n"}, "Break it")
    await world.reported("Ready", "False", commit=bad)
    last = world.commit({**colored("red"), "b.yaml": None}, "Repair it")
    source = await world.ready(last)
    history = source["status"]["history"]
    told = [
        (each["revision"].rpartition(":")[2], each["result"], each["message"]) for each in history
    ]
    assert told == [
        (last, "Healthy", "Repair it"),
        (bad, "Failed", "Break it"),
        (first, "Healthy", "Begin"),
    ]
    counts = ("created", "changed", "pruned", "failed")
    assert [tuple(each[name] for name in counts) for each in history] == [
        (0, 1, 1, 0),
        (0, 0, 0, 1),
        (2, 0, 0, 0),
    ]
    for each in history:
        assert each["author"] == "Alice"
        assert each["started"] <= each["finished"]


# What it costs

_REQUESTS = re.compile(
    r'^kro_gitops_api_requests_total\{code="(\d+)",kind="([^"]*)",verb="(\w+)"\} ([0-9.]+)$', re.M
)
_POLLS = re.compile(r'^kro_gitops_source_polls_total\{outcome="(\w+)",source="[^"]*"\} (.*)$', re.M)


def counted(world: SourceWorld) -> tuple[Counter[str], Counter[str]]:
    """Return how many requests and polls there were."""
    with urllib.request.urlopen(f"{world.controller.at.metrics}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    requests: Counter[str] = Counter()
    for _, kind, verb, value in _REQUESTS.findall(text):
        if verb != "watch":  # a watch ends by itself every few minutes, and is begun anew
            requests[f"{verb} {kind}"] += int(float(value))
    polls = Counter({outcome: int(float(value)) for outcome, value in _POLLS.findall(text)})
    assert requests
    assert polls
    return requests, polls


@pytest.mark.timeout(150)
async def test_a_poll_that_finds_nothing_new_costs_the_api_server_nothing(
    own_plane: Plane, git: Git
) -> None:
    async with world_apart(own_plane, git) as world:
        world.commit({"shop.yaml": world.shop(), "front.yaml": world.front(), **colored("blue")})
        await world.secret("hook", token="t" * 32)
        await world.follow(webhook={"secretRef": {"name": "hook"}})
        await world.ready()
        await asyncio.sleep(3)  # everything has settled
        before = await world.get(world.source_ref())
        requests, polls = counted(world)
        await asyncio.sleep(4)
        now, polled = counted(world)
        polled -= polls
        assert polled["unchanged"] >= 3
        assert polled.keys() == {"unchanged"}
        now -= requests
        # Nothing but the Secret, which may have changed without a word.
        assert now.keys() == {"get secrets"}
        assert sum(now.values()) <= polled["unchanged"] + 1
        assert await world.get(world.source_ref()) == before


# Argo CD beside us

_APPLICATIONS: KubeObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "applications.argoproj.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
    },
    "spec": {
        "group": "argoproj.io",
        "scope": "Namespaced",
        "names": {"plural": "applications", "singular": "application", "kind": "Application"},
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


def application(world: SourceWorld, **policy: Any) -> KubeObject:
    """Build an application of another repository."""
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "show", "namespace": world.namespace},
        "spec": {
            "source": {"repoURL": "https://git.example.org/other.git", "path": "."},
            "destination": {"namespace": world.namespace},
            "syncPolicy": policy,
        },
    }


async def test_an_application_shows_what_we_apply(world: SourceWorld) -> None:
    await world.cluster.apply(_APPLICATIONS, WriteOptions(manager="scenarios", force=True))
    world.commit({"shop.yaml": world.shop(), "front.yaml": world.front(), **colored("blue")})
    wish = {"mode": "bridge", "application": f"{world.namespace}/show"}
    await world.follow(tracking=wish)
    await world.reported("Ready", "False", text="the application does not exist")
    made = await world.create(application(world, automated={"prune": True}))
    await world.reported("Ready", "False", text="it would revert the changes of this source")
    assert await world.find(named(world, "a")) is None
    await world.merge(made, {"spec": {"syncPolicy": {"automated": None}}})
    await world.ready()
    found = await world.get(named(world, "a"))
    tracking = f"{world.namespace}_show:/ConfigMap:{world.namespace}/a"
    assert annotations(found)[ARGOCD_TRACKING_ID] == tracking
    assert "Delete=false" in annotations(found)["argocd.argoproj.io/sync-options"]
    instance = await world.get(world.front())
    child = await world.settings()
    assert annotations(child)[ARGOCD_TRACKING_ID] == annotations(instance)[ARGOCD_TRACKING_ID]
    # Our own marks are no foreign owner: what git no longer has goes, the definition too.
    await world.ready(world.commit({"shop.yaml": None, "front.yaml": None}))
    await world.gone(world.shop())
    source = await world.ready()
    assert "warnings" not in source["status"]
