"""The verbs about sources against a real API server; statuses are written by hand."""

import asyncio
import fcntl
import json
import os
import pty
import re
import secrets
import shlex
import signal
import termios
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from kro_gitops.cli.verbs import VERBS
from kro_gitops.kube.api import Cluster
from kro_gitops.metadata import REQUESTED_AT, SUSPEND_REASON
from kro_gitops.source.api.resources import GIT_SOURCE_KIND
from kube_objects.refs import Kind, KubeObject, ObjectRef
from kube_objects.times import parse_time
from tests.command import PROGRAM, Outcome, run
from tests.connection import connect
from tests.e2e.shop import Builder, condition, obj
from tests.e2e.sources import (
    BAD,
    HISTORY,
    NEWEST,
    OLDER,
    OLDEST,
    URL,
    Controller,
    failed_status,
    install,
    obedient,
    ready_status,
    revision,
    source,
    working,
)
from tools.cluster.parts import ToolError
from tools.cluster.targets import may_be_missing, started_plane

Start = Callable[..., Awaitable[Process]]

NAMESPACE = Kind("", "v1", "Namespace")

pytestmark = pytest.mark.timeout(120)

_EXAMPLE = re.compile(r"^  kro-gitops (.*)$", re.MULTILINE)


def ref(name: str) -> ObjectRef:
    return ObjectRef(GIT_SOURCE_KIND, "gitops", name)


@dataclass(frozen=True, slots=True)
class World:
    """A cluster with sources, and a kubeconfig whose context is their namespace."""

    kubeconfig: Path
    before: Outcome

    def ask(self, *words: str) -> Outcome:
        return run(*words, "--kubeconfig", self.kubeconfig)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    try:
        with started_plane() as plane:
            named = tmp_path_factory.mktemp("sources") / "kubeconfig"
            config = json.loads(plane.kubeconfig.read_text())
            config["contexts"][0]["context"]["namespace"] = "gitops"
            named.write_text(json.dumps(config))
            before = run("get", "sources", "--kubeconfig", named)
            asyncio.run(_fill(named))
            yield World(named, before)
    except ToolError as error:
        if not may_be_missing():
            pytest.fail(f"nothing was tested on a real API server: {error}")
        pytest.skip(f"nothing was tested on a real API server: {error}")


async def _fill(kubeconfig: Path) -> None:
    async with connect(kubeconfig) as connection:
        await install(Builder(connection.client))


@pytest.fixture
async def cluster(world: World) -> AsyncIterator[Cluster]:
    async with connect(world.kubeconfig) as connection:
        yield connection.client


@pytest.fixture
async def name(cluster: Cluster) -> AsyncIterator[str]:
    """Give a source of the test's own, healthy and with a history."""
    made = source(f"own-{secrets.token_hex(4)}")
    await Builder(cluster).make(made, ready_status())
    yield made["metadata"]["name"]
    if await cluster.find(ObjectRef.of(made)):
        await cluster.delete(ObjectRef.of(made))


@pytest.fixture
def controller(cluster: Cluster, name: str) -> Controller:
    return Controller(cluster, ref(name))


@pytest.fixture
async def started(world: World) -> AsyncIterator[Start]:
    """Give a way to start the real program; what still runs at the end is stopped."""
    running: list[Process] = []

    async def start(*words: str, stderr: int = PIPE) -> Process:
        command = [str(each) for each in (PROGRAM, *words, "--kubeconfig", world.kubeconfig)]
        process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=stderr)
        running.append(process)
        return process

    yield start
    for each in running:
        if each.returncode is None:
            each.kill()
            await each.communicate()


async def ended(process: Process) -> Outcome:
    async with asyncio.timeout(40):
        out, err = await process.communicate()
    assert process.returncode is not None
    return Outcome(process.returncode, out.decode(), (err or b"").decode())


async def until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        for _ in iter(happened, True):
            await asyncio.sleep(0.05)


def table(outcome: Outcome) -> list[dict[str, str]]:
    assert outcome.code == 0, outcome.err
    header, *lines = [re.split(r" {3,}", line) for line in outcome.out.splitlines()]
    return [dict(zip(header, line, strict=False)) for line in lines]


def test_a_cluster_without_the_crds_says_what_to_install(world: World) -> None:
    assert (world.before.code, world.before.out) == (1, "")
    assert world.before.err == (
        "error[not-installed]: this cluster has no GitSources\n"
        "  hint: install kro-gitops: it has the CRD\n"
    )


def test_sources_and_how_they_are(world: World) -> None:
    rows = {row["NAME"]: row for row in table(world.ask("get", "sources"))}
    whole = {key: value for key, value in rows["shop"].items() if key != "AGE"}
    assert whole == {
        "NAMESPACE": "gitops",
        "NAME": "shop",
        "READY": "True",
        "PHASE": "Healthy",
        "REVISION": "main@1a1a1a1",
        "OBJECTS": "3/3",
    }
    assert rows["broken"]["READY"] == "False"
    assert rows["broken"]["MESSAGE"] == "1 of 3 objects failed"
    assert rows["fresh"]["MESSAGE"] == "not picked up yet"
    assert (rows["fresh"]["READY"], rows["fresh"]["REVISION"]) == ("-", "-")


def test_wide_says_where_it_comes_from(world: World) -> None:
    (row,) = table(world.ask("get", "gs", "shop", "-o", "wide"))
    assert (row["URL"], row["PATHS"], row["AUTHOR"]) == (URL, "apps,rgds", "Ann")
    assert re.fullmatch(r"\d+d|\d+y.*", row["LAST SYNC"])


@pytest.mark.parametrize("word", ["sources", "source", "gs", "gitsource", "gitsources"])
def test_sources_have_many_names(word: str, world: World) -> None:
    done = world.ask("get", word, "gitops/shop", "-n", "empty", "-o", "name")
    assert done.out == "gitsource.gitops.kro.run/shop\n"


def test_a_source_is_printed_whole(world: World) -> None:
    found = yaml.safe_load(world.ask("get", "source", "shop", "-A", "-o", "yaml").out)
    assert (found["kind"], found["spec"]["url"]) == ("GitSource", URL)


def test_a_namespace_without_sources(world: World) -> None:
    done = world.ask("get", "sources", "-n", "empty")
    assert (done.code, done.out) == (0, "")
    assert done.err == "there are no sources in namespace 'empty'\n"


@pytest.mark.parametrize(
    "words",
    [
        ("get", "sources", "gone"),
        ("tree", "source/gone"),
        ("sync", "gone"),
        ("suspend", "gone"),
        ("resume", "gone"),
        ("history", "gitops/gone"),
        ("rollback", "gone", "--reason", "x"),
    ],
)
def test_a_source_that_is_not_there(words: tuple[str, ...], world: World) -> None:
    done = world.ask(*words)
    assert (done.code, done.out) == (1, "")
    head, hint = done.err.splitlines()
    assert head == "error[no-such-object]: there is no source 'gone' in namespace 'gitops'"
    assert "gitops/shop" in hint


def test_an_instance_says_where_it_is_written(world: World) -> None:
    (row,) = table(world.ask("get", "instances", "front", "-n", "shop", "-o", "wide"))
    assert row["WRITTEN IN"] == "gitops/shop apps/front.yaml:1@1a1a1a1"


def test_the_tree_of_a_source(world: World) -> None:
    done = world.ask("tree", "source/shop")
    assert done.code == 0, done.err
    lines = [re.split(r" {3,}", line) for line in done.out.splitlines()]
    assert lines[1][:2] == ["GitSource/shop in gitops at main@1a1a1a1", "Healthy"]
    assert [line[:2] for line in lines[2:4]] == [
        ["├── ResourceGraphDefinition/webapp", "Healthy"],
        ["├── ConfigMap/lost in shop", "-"],
    ]
    assert lines[3][3] == "not found, or not readable"
    assert lines[4][:2] == ["└── WebApp/front in shop", "Healthy"]
    assert done.out.splitlines()[5].split()[:4] == [
        *("└──", "deployment:", "Deployment/front", "Healthy")
    ]


def test_the_tree_of_a_source_as_data(world: World) -> None:
    (found,) = world.ask("tree", "gs/shop", "-o", "json").json
    assert (found["kind"], found["name"], found["revision"]) == (
        *("GitSource", "shop"),
        revision(NEWEST),
    )
    by_name = {each["name"]: each for each in found["children"]}
    assert by_name["webapp"]["path"] == "rgds/webapp.yaml:1"
    assert by_name["front"]["children"][0]["kind"] == "Deployment"
    assert by_name["lost"]["health"] is None


def test_the_tree_shows_what_failed_and_where(world: World) -> None:
    done = world.ask("tree", "source/broken")
    (line,) = [each for each in done.out.splitlines() if "WebApp/back" in each]
    assert "Degraded" in line
    assert line.endswith("apps/back.yaml:7:3: spec.replicas: must be a number")


def test_trees_of_all_sources(world: World) -> None:
    done = world.ask("tree", "sources", "-A")
    roots = {line.split()[0] for line in done.out.splitlines() if line.startswith("GitSource/")}
    assert {"GitSource/shop", "GitSource/broken", "GitSource/fresh"} <= roots


async def test_sync_asks_and_does_not_wait(started: Start, cluster: Cluster, name: str) -> None:
    done = await ended(await started("sync", name))
    assert (done.code, done.out) == (0, "")
    assert done.err == f"requested a sync of gitops/{name}\n"
    found = await cluster.get(ref(name))
    request = found["metadata"]["annotations"][REQUESTED_AT]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", request)
    managers = {each["manager"] for each in found["metadata"]["managedFields"]}
    assert "kro-gitops-cli" in managers


async def test_sync_waits_until_it_is_ready(
    started: Start, controller: Controller, name: str
) -> None:
    process = await started("sync", name, "--wait")
    asked = await controller.until_asked()
    handled = {"lastHandledReconcileAt": asked["metadata"]["annotations"][REQUESTED_AT]}
    await controller.report(working("Waiting", lastAttemptedRevision=revision(OLDER)))
    await controller.report(working("Applying", 12, **handled))
    await controller.report(working("Applying", 30))
    await controller.report(ready_status(OLDER))
    done = await ended(process)
    assert done.code == 0
    assert done.out == f"gitops/{name} is ready at main@2b2b2b2: 3/3 objects ready\n"
    assert done.err.splitlines()[1:] == [
        "Healthy · main@1a1a1a1",
        "Waiting 0/40 · main@2b2b2b2",
        "Ready=Unknown (Progressing)",
        "Applying 12/40 · main@2b2b2b2",
        "Healthy · main@2b2b2b2",
        "Ready=True (Succeeded: applied main)",
    ]


async def test_an_answer_to_somebody_else_is_not_waited_for(
    started: Start, controller: Controller, name: str
) -> None:
    process = await started("sync", name, "--wait", "--timeout", "2s")
    await controller.until_asked()
    await controller.report(ready_status(lastHandledReconcileAt="2026-01-01T00:00:00Z"))
    done = await ended(process)
    assert done.code == 1
    assert done.out == f"gitops/{name} is not done after 2s: Healthy · main@1a1a1a1\n"


async def test_what_failed_is_printed_with_its_place(
    started: Start, controller: Controller, name: str
) -> None:
    process = await started("sync", name, "--wait")
    asked = await controller.until_asked()
    request = asked["metadata"]["annotations"][REQUESTED_AT]
    await controller.report(failed_status(lastHandledReconcileAt=request, failuresOmitted=4))
    done = await ended(process)
    assert done.code == 1
    assert done.out.splitlines() == [
        f"gitops/{name} is not ready: 1 of 3 objects failed",
        "apps/back.yaml:7:3: WebApp shop/back: spec.replicas: must be a number",
        "and 4 more",
        "hint: correct the files in git: the next commit is applied by itself",
    ]


async def test_a_source_that_goes_while_it_is_waited_for(
    started: Start, cluster: Cluster, controller: Controller, name: str
) -> None:
    process = await started("sync", name, "--wait")
    await controller.until_asked()
    await cluster.delete(ref(name))
    done = await ended(process)
    assert (done.code, done.out) == (1, "the source was deleted\n")


async def test_ctrl_c_leaves_cleanly(started: Start, controller: Controller, name: str) -> None:
    process = await started("sync", name, "--wait")
    assert process.stderr is not None
    assert await process.stderr.readline() == f"requested a sync of gitops/{name}\n".encode()
    assert await process.stderr.readline() == b"Healthy \xc2\xb7 main@1a1a1a1\n"
    process.send_signal(signal.SIGINT)
    done = await ended(process)
    assert (done.code, done.out) == (130, "")
    assert done.err == f"stopped waiting; gitops/{name} continues in the cluster\n"


async def test_a_terminal_gets_one_line_that_changes(
    started: Start, controller: Controller, name: str
) -> None:
    ours, theirs = pty.openpty()
    process = await started("sync", name, "--wait", stderr=theirs)
    os.close(theirs)
    seen: list[bytes] = []
    reading = asyncio.create_task(asyncio.to_thread(_read_all, ours, seen))
    asked = await controller.until_asked()
    request = asked["metadata"]["annotations"][REQUESTED_AT]
    await controller.report(working("Applying", 12))
    await until(lambda: b"Applying 12/40" in b"".join(seen))
    await controller.report(ready_status(lastHandledReconcileAt=request))
    done = await ended(process)
    await reading
    os.close(ours)
    assert done.code == 0
    shown = b"".join(seen)
    assert b"\r\x1b[2K" in shown  # the line is erased and written again
    assert shown.endswith(b"\r\x1b[1A\x1b[2K")  # nothing is left of it
    assert b"Ready=" not in shown  # conditions are for logs


async def test_a_terminal_without_colours_gets_lines(
    started: Start, controller: Controller, name: str
) -> None:
    ours, theirs = pty.openpty()
    process = await started("sync", name, "--wait", "--no-color", stderr=theirs)
    os.close(theirs)
    seen: list[bytes] = []
    reading = asyncio.create_task(asyncio.to_thread(_read_all, ours, seen))
    asked = await controller.until_asked()
    request = asked["metadata"]["annotations"][REQUESTED_AT]
    await controller.report(working("Applying", 12))
    await until(lambda: b"Applying 12/40" in b"".join(seen))
    await controller.report(ready_status(lastHandledReconcileAt=request))
    assert (await ended(process)).code == 0
    await reading
    os.close(ours)
    assert b"\x1b" not in b"".join(seen)


def _read_all(descriptor: int, seen: list[bytes]) -> None:
    while True:
        try:
            piece = os.read(descriptor, 4096)
        except OSError:  # the other end is closed
            return
        if not piece:
            return
        seen.append(piece)


async def test_suspend_says_why_and_resume_forgets_it(
    started: Start, cluster: Cluster, controller: Controller, name: str
) -> None:
    async with obedient(controller):
        words = ("suspend", f"gitops/{name}", "--reason", "migration", "--wait")
        done = await ended(await started(*words))
        assert (done.code, done.out) == (0, f"gitops/{name} is suspended: migration\n")
        found = await cluster.get(ref(name))
        assert found["spec"]["suspend"] is True
        listed = await ended(await started("get", "sources", name))
        assert table(listed)[0]["MESSAGE"] == "suspended: migration"
        refused = await ended(await started("sync", name))
        assert refused.code == 1
        assert f"error[source-suspended]: gitops/{name} is suspended: migration" in refused.err
        done = await ended(await started("resume", name, "--wait"))
        assert (done.code, done.out.split(":")[0]) == (0, f"gitops/{name} is ready at main@1a1a1a1")
    found = await cluster.get(ref(name))
    assert found["spec"]["suspend"] is False
    assert SUSPEND_REASON not in found["metadata"].get("annotations", {})


@pytest.fixture
async def brake(cluster: Cluster) -> AsyncIterator[str]:
    """Give a namespace with two sources, of which one is suspended."""
    namespace = f"brake-{secrets.token_hex(4)}"
    build = Builder(cluster)
    await build.make(obj(NAMESPACE, namespace))
    await build.make(source("one", namespace), ready_status())
    reason = {"annotations": {SUSPEND_REASON: "migration"}}
    await build.make({**source("two", namespace, suspend=True), **_named("two", namespace, reason)})
    yield namespace
    for name in ("one", "two"):
        await cluster.delete(ObjectRef(GIT_SOURCE_KIND, namespace, name))


def _named(name: str, namespace: str, more: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace, **more}}


async def suspended(cluster: Cluster, namespace: str) -> list[bool]:
    found = [await cluster.get(ObjectRef(GIT_SOURCE_KIND, namespace, n)) for n in ("one", "two")]
    return [each["spec"].get("suspend", False) for each in found]


async def test_all_sources_of_a_namespace_are_suspended_and_resumed(
    started: Start, cluster: Cluster, brake: str
) -> None:
    words = ("--all", "-n", brake, "--yes")
    done = await ended(await started("suspend", *words, "--reason", "incident 42"))
    assert done.code == 0, done.err
    assert [row["NAME"] for row in table(done)] == ["one"]  # the other is suspended already
    assert f"{brake}/one is suspended; " in done.err
    assert await suspended(cluster, brake) == [True, True]
    kept = await cluster.get(ObjectRef(GIT_SOURCE_KIND, brake, "two"))
    assert kept["metadata"]["annotations"][SUSPEND_REASON] == "migration"
    done = await ended(await started("resume", *words))
    assert done.code == 0, done.err
    assert {row["NAME"]: row["MESSAGE"] for row in table(done)} == {
        "one": "suspended: incident 42",
        "two": "suspended: migration",
    }
    assert await suspended(cluster, brake) == [False, False]
    done = await ended(await started("resume", *words))
    assert done.err == f"no source of namespace '{brake}' has to be changed\n"


async def test_without_a_terminal_the_brake_needs_a_confirmation(
    started: Start, cluster: Cluster, brake: str
) -> None:
    done = await ended(await started("suspend", "--all", "-n", brake))
    assert done.code == 2
    assert "there is no terminal to ask on; --yes confirms it" in done.err
    assert await suspended(cluster, brake) == [False, True]


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"\n", 2), (b"\x03", 130)])
async def test_on_a_terminal_the_brake_asks(
    answer: bytes, code: int, world: World, cluster: Cluster, brake: str
) -> None:
    ours, theirs = pty.openpty()
    words = ("suspend", "--all", "-n", brake, "--kubeconfig", str(world.kubeconfig))
    process = await asyncio.create_subprocess_exec(
        str(PROGRAM), *words, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=_own_terminal
    )
    os.close(theirs)
    seen: list[bytes] = []
    reading = asyncio.create_task(asyncio.to_thread(_read_all, ours, seen))
    question = f"Suspend 1 source of namespace '{brake}'; 1 other not changed? [y/N] "
    await until(lambda: question.encode() in b"".join(seen))
    os.write(ours, answer)
    assert await process.wait() == code
    await reading
    os.close(ours)
    assert await suspended(cluster, brake) == [code == 0, True]


def _own_terminal() -> None:
    """Let Ctrl-C on the terminal reach the program."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


async def test_who_resumes_what_goes_on_is_told(started: Start, name: str) -> None:
    done = await ended(await started("resume", name))
    assert (done.code, done.err) == (0, f"gitops/{name} was not suspended\n")


def test_history_counts_back_from_what_runs(world: World) -> None:
    rows = table(world.ask("history", "shop"))
    assert [(row["N"], row["REVISION"], row["RESULT"], row["CHANGES"]) for row in rows] == [
        ("0", "main@1a1a1a1", "Healthy", "+1 ~2"),
        ("-", "main@4d4d4d4", "Failed", "!3"),
        ("1", "main@2b2b2b2", "Healthy", "-1"),
        ("-", "main@1a1a1a1", "Healthy", "none"),
        ("2", "main@3c3c3c3", "Degraded", "none"),
    ]
    assert (rows[0]["TOOK"], rows[0]["AUTHOR"], rows[0]["MESSAGE"]) == ("5s", "Ann", "Add the cart")


def test_history_as_data(world: World) -> None:
    found = world.ask("history", "shop", "-o", "json").json
    assert [each.pop("n") for each in found] == [0, None, 1, None, 2]
    assert found == HISTORY
    assert world.ask("history", "fresh", "-o", "json").json == []


def test_a_source_without_a_history(world: World) -> None:
    done = world.ask("history", "fresh")
    assert (done.code, done.out, done.err) == (0, "", "gitops/fresh has applied nothing yet\n")


async def pinned(cluster: Cluster, name: str) -> dict[str, Any]:
    found: KubeObject = await cluster.get(ref(name))
    pin: dict[str, Any] = found["spec"].get("pin", {})
    return pin


async def test_rollback_pins_what_ran_before(
    world: World, started: Start, cluster: Cluster, controller: Controller, name: str
) -> None:
    async with obedient(controller):
        words = ("rollback", name, "--reason", "checkout fails", "--for", "2h", "--wait")
        done = await ended(await started(*words))
    assert (done.code, done.out) == (
        0,
        f"gitops/{name} is ready at main@2b2b2b2: 3/3 objects ready\n",
    )
    assert f"gitops/{name} is pinned to {OLDER} until " in done.err
    assert "the normal way is `git revert`" in done.err
    assert f"kro-gitops rollback gitops/{name} --undo\n" in done.err
    pin = await pinned(cluster, name)
    config = json.loads(world.kubeconfig.read_text())
    assert (pin["commit"], pin["reason"]) == (OLDER, "checkout fails")
    assert pin["by"] == config["contexts"][0]["context"]["user"]
    found = await cluster.get(ref(name))
    begun = parse_time(found["metadata"]["creationTimestamp"])
    expires = parse_time(pin["expires"])
    assert begun is not None
    assert expires is not None
    assert 7100 < (expires - begun).total_seconds() < 7300


async def test_another_pin_replaces_the_first_and_undo_removes_it(
    started: Start, cluster: Cluster, controller: Controller, name: str
) -> None:
    async with obedient(controller):
        for words in (("--reason", "a", "--for", "1h"), ("2", "--reason", "b")):
            assert (await ended(await started("rollback", name, *words))).code == 0
        pin = await pinned(cluster, name)
        assert (pin["commit"], pin["reason"], "expires" in pin) == (OLDEST, "b", False)
        done = await ended(await started("rollback", name, "--undo", "--wait"))
    assert done.code == 0, done.err
    assert f"gitops/{name} follows git again\n" in done.err
    assert await pinned(cluster, name) == {}


async def test_rollback_to_a_commit_by_its_first_digits(
    started: Start, cluster: Cluster, controller: Controller, name: str
) -> None:
    words = ("rollback", name, "--to", BAD[:8], "--reason", "x")
    async with obedient(controller):
        done = await ended(await started(*words))
    assert done.code == 0, done.err
    assert "warning: main@4d4d4d4 ended as Failed when it ran\n" in done.err
    assert (await pinned(cluster, name))["commit"] == BAD


async def test_a_number_that_is_not_there_changes_nothing(
    started: Start, cluster: Cluster, name: str
) -> None:
    done = await ended(await started("rollback", name, "9", "--reason", "x"))
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines() == [
        "error[no-such-revision]: the history has no revision 9",
        "  hint: there are:",
        "    0  main@1a1a1a1  Healthy  Add the cart",
        "    1  main@2b2b2b2  Healthy  Paint it blue",
        "    2  main@3c3c3c3  Degraded  Begin",
    ]
    assert await pinned(cluster, name) == {}


async def test_a_pin_that_cannot_be_fetched_is_a_failure(
    started: Start, cluster: Cluster, controller: Controller, name: str
) -> None:
    words = ("rollback", name, "--to", "5e" * 20, "--reason", "x", "--wait")
    process = await started(*words)
    planning = asyncio.create_task(controller.obey())
    generation = (await controller.until_changed())["metadata"]["generation"]
    planning.cancel()
    text = "the remote has no commit 5e5e5e5"
    conditions = [
        condition("Ready", "False", "FetchFailed", text),
        condition("FetchFailed", "True", "CommitNotFound", text),
        condition("Reconciling", "True", "ProgressingWithRetry"),
    ]
    for each in conditions:
        each["observedGeneration"] = generation
    status = {"phase": "Failed", "observedGeneration": generation, "conditions": conditions}
    await controller.report(ready_status() | status)
    done = await ended(process)
    assert done.code == 1
    assert done.out.splitlines() == [
        f"gitops/{name} is not ready: {text}",
        "hint: check spec.url, spec.ref and the Secret; what was applied before stays",
    ]


RBAC = "rbac.authorization.k8s.io"


@pytest.mark.parametrize(
    ("user", "allowed", "missing"),
    [("jane", ["get"], "patch"), ("joe", ["get", "patch"], "watch")],
)
def test_without_rights_the_missing_role_is_printed(
    user: str, allowed: list[str], missing: str, world: World, tmp_path: Path
) -> None:
    rule = {"apiGroups": ["gitops.kro.run"], "resources": ["gitsources"], "verbs": allowed}
    whose = {"apiVersion": f"{RBAC}/v1", "metadata": {"name": user}}
    role = {**whose, "kind": "ClusterRole", "rules": [rule]}
    bound = {"apiGroup": RBAC, "kind": "ClusterRole", "name": user}
    subject = {"apiGroup": RBAC, "kind": "User", "name": user}
    binding = {**whose, "kind": "ClusterRoleBinding", "roleRef": bound, "subjects": [subject]}
    asyncio.run(_make(world.kubeconfig, role, binding, source(f"of-{user}")))
    config = json.loads(world.kubeconfig.read_text())
    config["users"][0]["user"]["as"] = user
    humble = tmp_path / "kubeconfig"
    humble.write_text(json.dumps(config))
    done = run("sync", f"of-{user}", "--wait", "--kubeconfig", humble)
    assert done.code == 1
    assert f'User "{user}" cannot {missing} resource "gitsources"' in done.err
    wanted = yaml.safe_load(done.err.partition("this role would allow it:")[2])
    assert wanted["metadata"]["namespace"] == "gitops"
    assert wanted["rules"] == [{**rule, "verbs": [missing]}]


async def _make(kubeconfig: Path, *objects: KubeObject) -> None:
    async with connect(kubeconfig) as connection:
        for each in objects:
            await connection.client.create(each)


ABOUT_SOURCES = ("sync", "suspend", "resume", "history", "rollback")
OF_SOURCES = [
    *(c for verb in ABOUT_SOURCES for c in _EXAMPLE.findall(VERBS[verb].examples)),
    *(
        command
        for verb in ("get", "tree")
        for command in _EXAMPLE.findall(VERBS[verb].examples)
        if "source" in command
    ),
]


@pytest.mark.parametrize("command", OF_SOURCES)
async def test_an_example_of_the_help_works(
    command: str, started: Start, controller: Controller, name: str
) -> None:
    words = [re.sub(r"(^|/)shop$", rf"\1{name}", word) for word in shlex.split(command)]
    async with obedient(controller):
        done = await ended(await started(*words))
    assert done.code == 0, done.err
