"""`get`, `tree` and `explain` against a real API server."""

import asyncio
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest
import yaml

from kro_gitops.cli.verbs import VERBS
from kro_gitops.kube.api import MergePatch
from kube_objects.refs import ObjectRef
from tests.command import PROGRAM, Outcome, run
from tests.connection import connect
from tests.e2e.shop import (
    HEALTHY,
    STALLS,
    STATUS,
    WEBAPP,
    Builder,
    install,
    not_ready,
    obj,
    populate,
)
from tools.cluster.parts import ToolError
from tools.cluster.targets import may_be_missing, started_plane

pytestmark = pytest.mark.timeout(120)

Change = Callable[[Builder, ObjectRef], Awaitable[None]]

_EXAMPLE = re.compile(r"^  kro-gitops (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Shop:
    """A populated cluster, and what was said before anything was installed."""

    kubeconfig: Path
    before: Outcome

    def ask(self, *words: str) -> Outcome:
        return run(*words, "--kubeconfig", self.kubeconfig)


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    try:
        with started_plane() as plane:
            before = run("get", "rgds", "--kubeconfig", plane.kubeconfig)
            asyncio.run(_fill(plane.kubeconfig))
            yield Shop(plane.kubeconfig, before)
    except ToolError as error:
        if not may_be_missing():
            pytest.fail(f"nothing was tested on a real API server: {error}")
        pytest.skip(f"nothing was tested on a real API server: {error}")


async def _fill(kubeconfig: Path) -> None:
    async with connect(kubeconfig) as connection:
        build = Builder(connection.client)
        await install(build)
        await populate(build)


def columns(line: str) -> list[str]:
    return re.split(r" {2,}", line)


def rows(outcome: Outcome) -> list[list[str]]:
    assert outcome.code == 0, outcome.err
    return [columns(line) for line in outcome.out.splitlines()]


def test_a_cluster_without_the_crds_says_what_to_install(shop: Shop) -> None:
    assert shop.before.code == 1
    assert shop.before.out == ""
    assert shop.before.err == (
        "error[not-installed]: this cluster has no ResourceGraphDefinitions\n"
        "  hint: install kro-gitops or kro: either has the CRD\n"
    )


def test_definitions_and_what_is_wrong_with_them(shop: Shop) -> None:
    header, broken, _, webapp = rows(shop.ask("get", "rgds"))
    assert header == [
        *("NAME", "APIVERSION", "KIND", "STATE", "READY", "REVISION", "AGE", "MESSAGE")
    ]
    assert webapp[:6] == ["webapp", "kro.run/v1alpha1", "WebApp", "Active", "True", "2"]
    assert broken[3:6] == ["Inactive", "False", "-"]
    assert broken[-1].startswith("failed to build resourcegraphdefinition")


def test_wide_counts_instances(shop: Shop) -> None:
    header, webapp = rows(shop.ask("get", "definitions", "webapp", "-o", "wide"))
    assert dict(zip(header, webapp, strict=True))["INSTANCES"] == "6"


def test_instances_of_all_kinds_in_order(shop: Shop) -> None:
    header, *found = rows(shop.ask("get", "instances", "-n", "shop"))
    assert header == ["KIND", "NAMESPACE", "NAME", "STATE", "READY", "REASON", "AGE"]
    assert [row[:6] for row in found] == [
        ["Shop", "shop", "everything", "ACTIVE", "True", "-"],
        ["WebApp", "shop", "back", "IN_PROGRESS", "False", "NotReady"],
        ["WebApp", "shop", "front", "ACTIVE", "True", "-"],
        ["WebApp", "shop", "going", "ACTIVE", "True", "Deleting"],
        ["WebApp", "shop", "inner", "ACTIVE", "True", "-"],
        ["WebApp", "shop", "new", "-", "-", "Progressing"],
        ["WebApp", "shop", "paused", "ACTIVE", "False", "ReconciliationSuspended"],
    ]


@pytest.mark.parametrize(
    "word", ["shop", "Shop", "shops", "shops.kro.run", "sx", "shops.v1alpha1.kro.run"]
)
def test_kinds_are_named_as_to_kubectl(word: str, shop: Shop) -> None:
    assert shop.ask("get", "instances", word, "-A", "-o", "name").out == "shop.kro.run/everything\n"


def test_an_instance_by_its_name_alone(shop: Shop) -> None:
    assert shop.ask("get", "instances", "front", "-n", "shop", "-o", "name").out == (
        "webapp.kro.run/front\n"
    )


def test_a_namespace_without_instances(shop: Shop) -> None:
    done = shop.ask("get", "instances", "-n", "empty")
    assert (done.code, done.out) == (0, "")
    assert done.err == "there are no instances in namespace 'empty'\n"


def test_revisions_of_a_definition(shop: Shop) -> None:
    header, *found = rows(shop.ask("get", "gr", "webapp"))
    assert header == ["NAME", "RGD", "REVISION", "READY", "AGE"]
    assert [row[:3] for row in found] == [
        ["webapp-r00001", "webapp", "1"],
        ["webapp-r00002", "webapp", "2"],
    ]


def test_objects_are_printed_whole(shop: Shop) -> None:
    one = yaml.safe_load(
        shop.ask("get", "instance", "webapp/front", "-n", "shop", "-o", "yaml").out
    )
    assert (one["kind"], one["metadata"]["name"]) == ("WebApp", "front")
    assert "managedFields" not in one["metadata"]
    many = shop.ask("get", "rgd", "-o", "json").json
    assert many["kind"] == "List"
    assert len(many["items"]) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("get", "rgds", "gone"), "error[no-such-object]: there is no 'gone'"),
        (("get", "instances", "webapp/gone"), "error[no-such-object]: there is no webapp 'gone'"),
        (
            ("get", "instances", "nothing"),
            "error[no-such-kind]: this cluster has no kind 'nothing'",
        ),
        (("tree", "nothing/x"), "error[no-such-kind]"),
        (("explain", "webapp/gone"), "error[no-such-object]: there is no WebApp 'gone' in namesp"),
        (("explain", "configmap/front"), "error[not-an-instance]: ConfigMap shop/front is not an "),
    ],
)
def test_what_is_not_there_is_an_error(words: tuple[str, ...], message: str, shop: Shop) -> None:
    done = shop.ask(*words, "-n", "shop")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(message)
    assert "hint: " in done.err


def test_the_tree_of_an_instance(shop: Shop) -> None:
    found = [
        columns(line) for line in shop.ask("tree", "webapp/back", "-n", "shop").out.splitlines()
    ]
    assert found[0] == ["OBJECT", "HEALTH", "AGE", "MESSAGE"]
    assert found[1][:2] == ["WebApp/back in shop", "Progressing"]
    assert found[2][:2] == ["├── deployment: Deployment/back", "Progressing"]
    assert found[2][3] == "0 of 2 replicas available"
    assert found[3:] == [
        ["├── settings: ConfigMap", "-", "-", "not created yet"],
        ["└── certificate: ConfigMap/certificate", "-", "-", "external reference"],
    ]


def test_instances_within_instances_are_expanded(shop: Shop) -> None:
    (found,) = shop.ask("tree", "shop/everything", "-n", "shop", "-o", "json").json
    (web,) = found["children"]
    assert (web["node"], web["kind"], web["health"]) == ("web", "WebApp", "Healthy")
    assert [each["name"] for each in web["children"]] == ["inner"]


def test_without_an_argument_all_instances_are_drawn(shop: Shop) -> None:
    done = shop.ask("tree", "-n", "shop")
    roots = [line.split()[0] for line in done.out.splitlines() if line[0].isalpha()]
    assert roots[1:] == [
        "Shop/everything",
        *(f"WebApp/{name}" for name in ("back", "front", "going", "new", "paused")),
    ]


def test_many_instances_of_a_definition_that_has_gone(shop: Shop) -> None:
    found = shop.ask("tree", "stall", "-n", "market", "-o", "json").json
    assert len(found) == STALLS
    for stall in found:
        assert [child["name"] for child in stall["children"]] == [stall["name"]]


def test_a_healthy_instance_gets_one_paragraph(shop: Shop) -> None:
    done = shop.ask("explain", "webapp/front", "-n", "shop")
    assert done.code == 0
    text = " ".join(done.out.split())
    assert text.startswith("WebApp shop/front is healthy: all 2 objects it made are there")
    assert text.endswith(
        "Its definition 'webapp' is Healthy at revision 2. There is nothing to do."
    )


def test_what_is_in_the_way_is_explained_down_to_the_pod(shop: Shop) -> None:
    done = shop.ask("explain", "WebApp/back", "-n", "shop")
    assert done.code == 1
    for part in (
        "WebApp shop/back is Progressing: a child exists, and does not fulfil `readyWhen` yet\n",
        "Written in\n  apps/back.yaml:7 of gitops/shop\n",
        "Definition\n  Its definition 'webapp' is Healthy at revision 2\n",
        "In the way: Deployment/back in shop (node deployment)\n",
        "  Progressing: 0 of 2 replicas available\n",
        "  Pod/back-1: container web: ImagePullBackOff: Back-off pulling image web:1\n",
        "Failed (3 times): web:1: not found\n",
        "Ready: True -> False: NotReady\n",
        "What to do next\n"
        "  1. Pod/back-1: correct the image's name or tag, or give the pod a pull secret\n",
    ):
        assert part in done.out


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("paused", "resume it: kubectl annotate webapps.kro.run/paused -n shop kro.run/reconcile-"),
        ("going", "wait for the children below to go"),
        ("new", "see that kro-gitops (or kro) runs"),
    ],
)
def test_an_instance_that_is_not_worked_on(name: str, step: str, shop: Shop) -> None:
    done = shop.ask("explain", f"webapp/{name}", "-n", "shop", "-o", "json")
    assert done.code == 1
    assert done.json["next"][0].startswith(step)


def test_an_instance_of_a_definition_that_has_gone_is_not_healthy(shop: Shop) -> None:
    done = shop.ask("explain", "stall/stall-00", "-n", "market")
    assert done.code == 1
    assert done.out.splitlines()[0] == (
        "Stall market/stall-00: no definition defines its kind (any more), so it is not reconciled"
    )
    assert "1. apply the definition again, or delete the instance" in done.out


def test_a_timeline_has_pods_events_and_revisions(shop: Shop) -> None:
    done = shop.ask("timeline", "webapp/back", "-n", "shop", "-o", "json")
    assert (done.code, done.err) == (0, "")
    found = {(each["what"], each["object"], each["text"]): each for each in done.json}
    image = "container web: ImagePullBackOff: Back-off pulling image web:1"
    assert found["pod", "Pod/back-1", image]["bad"]
    assert found["event", "Pod/back-1", "Failed: web:1: not found"]["count"] == 3
    assert ("event", "WebApp/back", "Ready: True -> False: NotReady") in found
    assert {each["text"] for each in done.json if each["what"] == "revision"} == {
        "revision 1 of definition 'webapp' was issued",
        "revision 2 of definition 'webapp' was issued",
    }


def test_a_timeline_of_what_does_not_exist_is_an_error(shop: Shop) -> None:
    done = shop.ask("timeline", "webapp/nothing", "-n", "shop")
    assert done.code == 1
    assert "there is no WebApp 'nothing'" in done.err


def test_a_definition_is_explained(shop: Shop) -> None:
    done = shop.ask("explain", "rgd/broken")
    assert done.code == 1
    assert done.out.startswith("The definition 'broken' is Degraded: the definition is not valid\n")
    assert 'id "A" is not valid' in done.out
    assert "1. check the definition's file with `kro-gitops validate`" in done.out


def test_without_rights_the_missing_role_is_printed(shop: Shop, tmp_path: Path) -> None:
    config = json.loads(shop.kubeconfig.read_text())
    config["users"][0]["user"]["as"] = "jane"
    humble = tmp_path / "kubeconfig"
    humble.write_text(json.dumps(config))
    done = run("get", "rgds", "--kubeconfig", humble)
    assert done.code == 1
    assert 'User "jane" cannot list resource "resourcegraphdefinitions"' in done.err
    role = yaml.safe_load(done.err.partition("this role would allow it:")[2])
    assert role["rules"] == [
        {"apiGroups": ["kro.run"], "resources": ["resourcegraphdefinitions"], "verbs": ["list"]}
    ]


def test_the_context_says_which_namespace(shop: Shop, tmp_path: Path) -> None:
    config = json.loads(shop.kubeconfig.read_text())
    config["contexts"][0]["context"]["namespace"] = "shop"
    named = tmp_path / "kubeconfig"
    named.write_text(json.dumps(config))
    with patch.dict(os.environ, {"KUBECONFIG": str(named)}):
        assert run("get", "instances", "shop", "-o", "name").out == "shop.kro.run/everything\n"


@pytest.mark.parametrize(
    "command",
    [
        command
        for verb in ("get", "tree", "explain", "timeline")
        for command in _EXAMPLE.findall(VERBS[verb].examples)
        # Those with sources are carried out in tests/e2e/test_source_verbs, and --watch below.
        if "source" not in command and not command.endswith(" -w")
    ],
)
def test_an_example_of_the_help_works(command: str, shop: Shop) -> None:
    done = shop.ask(*command.split())
    assert (done.code, done.err) == (0, "")
    assert done.out


@dataclass(frozen=True, slots=True)
class Watching:
    """A verb with `--watch`, and the file it prints to."""

    process: subprocess.Popen[bytes]
    file: Path

    @property
    def lines(self) -> list[str]:
        return self.file.read_text("utf-8").splitlines()

    def until(self, *words: str, within: float = 30.0) -> str:
        """Return the first line that has all the words, as soon as it is printed."""
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            for line in self.lines:
                if all(word in line for word in words):
                    return line
            assert self.process.poll() is None, self.lines
            time.sleep(0.1)
        pytest.fail(f"{words} did not come after {self.lines}")


@pytest.fixture
def watching(shop: Shop, tmp_path: Path) -> Iterator[Callable[..., Watching]]:
    """Give a function that starts a verb with `--watch`; at the end Ctrl-C stops each cleanly."""
    started: list[Watching] = []

    def start(*words: str) -> Watching:
        command: list[str | Path] = [PROGRAM, *words, "--watch"]
        command += ["--kubeconfig", shop.kubeconfig]
        file = tmp_path / f"watch-{len(started)}"
        with file.open("wb") as stream:
            process = subprocess.Popen(command, stdout=stream, stderr=stream)
        started.append(Watching(process, file))
        return started[-1]

    yield start
    for each in started:
        each.process.send_signal(signal.SIGINT)
        assert each.process.wait(30) == 130
        assert "Traceback" not in each.file.read_text("utf-8")


async def _change(shop: Shop, name: str, *changes: Change) -> None:
    """Create an instance, change it or delete it, one after the other."""
    async with connect(shop.kubeconfig) as connection:
        for change in changes:
            await change(Builder(connection.client), ObjectRef(WEBAPP, "shop", name))


async def _create(build: Builder, ref: ObjectRef) -> None:
    labels = {"team": "watched"}
    made = obj(WEBAPP, ref.name, ref.namespace, metadata={"labels": labels})
    await build.make(made, not_ready("NotReady", "no Pod runs"))


async def _become_ready(build: Builder, ref: ObjectRef) -> None:
    await build.cluster.patch(ref, MergePatch({"status": HEALTHY}), STATUS)


async def _delete(build: Builder, ref: ObjectRef) -> None:
    await build.cluster.delete(ref)


def test_a_selector_lists_only_objects_with_its_labels(shop: Shop) -> None:
    words = ("get", "instances", "-n", "shop", "-o", "name")
    asyncio.run(_change(shop, "labelled", _create))
    try:
        assert shop.ask(*words, "-l", "team=watched").out == "webapp.kro.run/labelled\n"
        assert "labelled" not in shop.ask(*words, "--selector", "team!=watched").out
    finally:
        asyncio.run(_change(shop, "labelled", _delete))
    nothing = shop.ask("get", "rgds", "-l", "team=nobody")
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err == "there are no definitions in this cluster with labels 'team=nobody'\n"


def test_a_selector_that_is_wrong_is_an_error(shop: Shop) -> None:
    done = shop.ask("get", "instances", "-n", "shop", "-l", "a in b")
    assert (done.code, done.out) == (1, "")
    assert "error[" in done.err


def test_watching_a_list_prints_rows_that_are_new_changed_and_gone(
    shop: Shop, watching: Callable[..., Watching]
) -> None:
    seen = watching("get", "instances", "-n", "shop", "-l", "team=watched")
    seen.until("there are no instances in namespace 'shop' with labels 'team=watched'")
    asyncio.run(_change(shop, "moving", _create))
    assert columns(seen.until("KIND"))[:3] == ["KIND", "NAMESPACE", "NAME"]
    seen.until("WebApp", "moving", "IN_PROGRESS")
    asyncio.run(_change(shop, "moving", _become_ready))
    seen.until("WebApp", "moving", "ACTIVE")
    asyncio.run(_change(shop, "moving", _delete))
    seen.until("WebApp", "moving", "deleted")
    assert not any("front" in line for line in seen.lines)


def test_watching_a_tree_prints_it_again_when_it_changes(
    shop: Shop, watching: Callable[..., Watching]
) -> None:
    asyncio.run(_change(shop, "growing", _create))
    try:
        seen = watching("tree", "webapp/growing", "-n", "shop")
        seen.until("WebApp/growing in shop", "Progressing")
        asyncio.run(_change(shop, "growing", _become_ready))
        seen.until("WebApp/growing in shop", "Healthy")
        assert seen.lines.count("") == 1
    finally:
        asyncio.run(_change(shop, "growing", _delete))


@pytest.mark.parametrize("words", [("get", "rgds"), ("tree",)])
def test_watching_prints_rows_only(words: tuple[str, ...], shop: Shop) -> None:
    done = shop.ask(*words, "-w", "-o", "json")
    assert (done.code, done.out) == (64, "")
    assert "use -o text" in done.err


def test_a_timeline_goes_on_with_what_happens(
    shop: Shop, watching: Callable[..., Watching]
) -> None:
    asyncio.run(_change(shop, "timed", _create))
    try:
        shown = watching("timeline", "webapp/timed", "-n", "shop")
        shown.until("WebApp/timed", "created")
        asyncio.run(_change(shop, "timed", _become_ready))
        shown.until("WebApp/timed", "Ready became True")
        assert [line.split()[0] for line in shown.lines].count("TIME") == 1
        assert len(set(shown.lines)) == len(shown.lines)
    finally:
        asyncio.run(_change(shop, "timed", _delete))
