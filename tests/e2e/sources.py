"""
Sources as their controller would leave them, and somebody who answers as the controller does.

Nothing is fetched here; statuses are written by hand through the API.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

from kro_gitops.cli.source_waiting import follow
from kro_gitops.kube.api import Cluster, MergePatch
from kro_gitops.metadata import (
    PLAN_REQUEST,
    REQUESTED_AT,
    REVISION,
    SOURCE,
    SOURCE_NAME,
    SOURCE_PATH,
)
from kro_gitops.source.api.crd import git_source_crd, source_inventory_crd
from kro_gitops.source.api.resources import GIT_SOURCE_KIND, SOURCE_INVENTORY_KIND
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.e2e.shop import (
    CRDS,
    HEALTHY,
    STATUS,
    WEBAPP,
    Builder,
    condition,
    definition,
    deployment,
    obj,
)

URL = "https://git.example.com/shop.git"
NEWEST, OLDER, OLDEST, BAD = ("1a" * 20, "2b" * 20, "3c" * 20, "4d" * 20)
CONFIG_MAP, DEPLOYMENT = Kind("", "v1", "ConfigMap"), Kind("apps", "v1", "Deployment")
FAILURE = {
    "object": "WebApp shop/back",
    "file": "apps/back.yaml",
    "line": 7,
    "column": 3,
    "code": "invalid",
    "message": "spec.replicas: must be a number",
}


def revision(commit: str) -> str:
    return f"main@sha1:{commit}"


def run_of(commit: str, result: str = "Healthy", **more: Any) -> dict[str, Any]:
    times = {"started": "2026-03-01T09:30:00Z", "finished": "2026-03-01T09:30:05Z"}
    return {"revision": revision(commit), "result": result, **times, "author": "Ann", **more}


HISTORY = [
    run_of(NEWEST, message="Add the cart", changed=2, created=1),
    run_of(BAD, "Failed", message="Break everything", failed=3),
    run_of(OLDER, message="Paint it blue", pruned=1),
    run_of(NEWEST, message="Add the cart"),
    run_of(OLDEST, "Degraded", message="Begin"),
]


def ready_status(commit: str = NEWEST, **more: Any) -> dict[str, Any]:
    return {
        "observedGeneration": 1,
        "phase": "Healthy",
        "lastAppliedRevision": revision(commit),
        "lastAttemptedRevision": revision(commit),
        "commit": {"id": commit, "author": "Ann"},
        "inventory": {"objects": 3, "ready": 3, "definitions": 1, "instances": 1, "failed": 0},
        "failures": None,
        "history": HISTORY,
        "conditions": [condition("Ready", "True", "Succeeded", "applied main")],
        **more,
    }


def working(phase: str, ready: int = 0, **more: Any) -> dict[str, Any]:
    conditions = [
        condition("Ready", "Unknown", "Progressing"),
        condition("Reconciling", "True", phase),
    ]
    inventory = {"objects": 40, "ready": ready}
    return {"phase": phase, "conditions": conditions, "inventory": inventory, **more}


def failed_status(**more: Any) -> dict[str, Any]:
    conditions = [
        condition("Ready", "False", "ApplyFailed", "1 of 3 objects failed"),
        condition("Applied", "False", "ApplyFailed", "1 of 3 objects failed"),
    ]
    return ready_status(phase="Degraded", failures=[FAILURE], conditions=conditions) | more


def source(name: str, namespace: str = "gitops", **spec: Any) -> KubeObject:
    return obj(GIT_SOURCE_KIND, name, namespace, spec={"url": URL, **spec})


def inventory(owner: KubeObject, **entries: dict[str, str]) -> KubeObject:
    name = owner["metadata"]["name"]
    metadata = {"labels": {SOURCE_NAME: name}}
    found = {key.replace("__", "/").replace("_", "."): value for key, value in entries.items()}
    return obj(SOURCE_INVENTORY_KIND, f"{name}-0", "gitops", metadata=metadata, entries=found)


async def install(build: Builder) -> None:
    """Make the CRDs, a namespace for sources, and sources that are never changed."""
    for each in (*CRDS, git_source_crd(), source_inventory_crd()):
        await build.make(each)
    for name in ("gitops", "shop", "empty"):
        await build.make(obj(Kind("", "v1", "Namespace"), name))
    await build.make(source("fresh"))
    whole = await build.make(source("shop", paths=["apps", "rgds"]), ready_status())
    broken = await build.make(source("broken"), failed_status())
    rgd = {"stage": "2", "path": "rgds/webapp.yaml:1", "revision": OLDER}
    app = {"stage": "3", "path": "apps/front.yaml:1", "revision": NEWEST}
    await build.make(
        inventory(
            whole,
            kro_run__ResourceGraphDefinition____webapp=rgd,
            kro_run__WebApp__shop__front=app,
            **{"__ConfigMap__shop__lost": app},
        )
    )
    await build.make(inventory(broken, kro_run__WebApp__shop__back=app))
    await _objects(build)


async def _objects(build: Builder) -> None:
    resources = {"id": "deployment", "template": deployment("${schema.metadata.name}")}
    valid = condition("GraphAccepted", "True", "Valid")
    accepted = condition("Ready", "True", "Ready")
    status = {"state": "Active", "conditions": [valid, accepted]}
    await build.make(definition("webapp", "WebApp", resources), status)
    places = {SOURCE: "gitops/shop", SOURCE_PATH: "apps/front.yaml:1", REVISION: NEWEST}
    front = await build.instance(WEBAPP, "front", HEALTHY, (DEPLOYMENT,), places)
    up = {"replicas": 2, "updatedReplicas": 2, "availableReplicas": 2, "readyReplicas": 2}
    await build.child(front, "deployment", deployment("front"), {**up, "observedGeneration": 1})
    await build.instance(WEBAPP, "back", HEALTHY)


class Controller:
    """Writes what the controller of sources would write about one source."""

    def __init__(self, cluster: Cluster, ref: ObjectRef) -> None:
        self._cluster = cluster
        self._ref = ref

    async def until_asked(self) -> KubeObject:
        """Return the source as soon as somebody asks for a sync."""
        return await self._until(
            lambda state: REQUESTED_AT in state["metadata"].get("annotations", {})
        )

    async def until_changed(self) -> KubeObject:
        """Return the source as soon as somebody changes its spec."""
        return await self._until(lambda state: state["metadata"]["generation"] > 1)

    async def _until(self, happened: Callable[[KubeObject], bool]) -> KubeObject:
        first = await self._cluster.get(self._ref)
        async with asyncio.timeout(40), aclosing(follow(self._cluster, first)) as states:
            async for state in states:
                if state and happened(state):
                    return state
        raise AssertionError("it never happened")

    async def report(self, status: dict[str, Any]) -> None:
        await self._cluster.patch(self._ref, MergePatch({"status": status}), STATUS)

    async def obey(self) -> None:
        """Do at once whatever the spec says, for ever."""
        first = await self._cluster.get(self._ref)
        async with aclosing(follow(self._cluster, first)) as states:
            async for state in states:
                if state and (status := answer(state)) != state.get("status"):
                    await self.report(status)


def answer(state: KubeObject) -> dict[str, Any]:
    """Return the status of a source that does what it is told."""
    spec, metadata = state["spec"], state["metadata"]
    number = metadata["generation"]
    request = metadata.get("annotations", {}).get(REQUESTED_AT, "")
    commit = spec.get("pin", {}).get("commit", NEWEST)
    status = ready_status(commit, observedGeneration=number, lastHandledReconcileAt=request)
    del status["failures"]
    if spec.get("suspend"):
        status["phase"] = "Suspended"
        status["conditions"] = [condition("Suspended", "True", "Suspended")]
    if asked := metadata.get("annotations", {}).get(PLAN_REQUEST):
        request = json.loads(asked)
        commit = (request["pin"] or {"commit": NEWEST})["commit"]
        counts = {"created": 0, "changed": 0, "deleted": 0}
        status["plan"] = {"request": request["id"], "revision": revision(commit), **counts}
    status["conditions"] = [{**each, "observedGeneration": number} for each in status["conditions"]]
    return status


@asynccontextmanager
async def obedient(controller: Controller) -> AsyncIterator[None]:
    """Have a controller at work."""
    working = asyncio.create_task(controller.obey())
    try:
        yield
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
