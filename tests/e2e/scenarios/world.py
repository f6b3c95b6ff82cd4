"""
A place of one's own for a scenario, on a cluster where a controller runs.

A `World` has a namespace and an API group that nobody else uses, so scenarios run side by side
under one controller. It builds definitions and instances, waits for what is said of them, and
takes everything away at the end: instances before their definitions, definitions before CRDs.
"""

import asyncio
import copy
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from kro_gitops.errors import NotServed
from kro_gitops.kube.api import Cluster, DeleteOptions, JsonPatch, MergePatch, WriteOptions
from kro_gitops.kube.responses import ApiError, Conflict, NotFound
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.e2e.scenarios.clearing import CRD, DEFINITION, Clearing
from tests.e2e.scenarios.controllers import Controller

T = TypeVar("T")
Named = KubeObject | ObjectRef

VERSION = "v1alpha1"  # of the kinds that scenarios define
SERVED_WITHIN = 15.0  # seconds from "Established" until a server really serves a kind

# What a check may raise while it does not hold yet.
NOT_YET = (AssertionError, ApiError, NotServed, LookupError, TypeError, AttributeError)


class World:
    """A namespace of one's own on a cluster where a controller runs."""

    def __init__(
        self, cluster: Cluster, controller: Controller, *, target: str, version: str
    ) -> None:
        token = secrets.token_hex(4)
        self.namespace = f"test-{token}"
        self.group = f"t{token}.example.org"
        self.cluster = cluster
        self.controller = controller
        self.target = target
        self.version = version  # what the controller writes into labels
        self._made: list[KubeObject] = []

    # Building

    def definition(
        self,
        kind: str,
        spec: dict[str, Any] | None = None,
        *,
        status: dict[str, Any] | None = None,
        resources: Sequence[dict[str, Any]] = (),
        scope: str = "Namespaced",
        name: str | None = None,
        **schema_extra: Any,
    ) -> KubeObject:
        """Build a definition of a kind in our group."""
        schema: dict[str, Any] = {"apiVersion": VERSION, "kind": kind, "group": self.group}
        schema |= {"scope": scope, "spec": spec or {}}
        if status is not None:
            schema["status"] = status
        return {
            "apiVersion": DEFINITION.api_version,
            "kind": DEFINITION.kind,
            "metadata": {"name": name or f"{kind.lower()}-{secrets.token_hex(4)}"},
            "spec": {"schema": schema | schema_extra, "resources": list(resources)},
        }

    def instance(
        self,
        kind: str,
        name: str,
        spec: dict[str, Any] | None = None,
        *,
        namespace: str | None = None,
        labels: dict[str, str] | None = None,
        annotations: dict[str, str] | None = None,
    ) -> KubeObject:
        """Build an instance of a kind in our group; an empty namespace is the cluster's scope."""
        where = self.namespace if namespace is None else namespace
        given = {"namespace": where, "labels": labels, "annotations": annotations}
        return {
            "apiVersion": f"{self.group}/{VERSION}",
            "kind": kind,
            "metadata": {"name": name} | {key: value for key, value in given.items() if value},
            "spec": spec or {},
        }

    def ref(
        self, api_version: str, kind: str, name: str, namespace: str | None = None
    ) -> ObjectRef:
        """Name an object in our namespace, in another, or (empty) in none."""
        where = self.namespace if namespace is None else namespace
        return ObjectRef(Kind.of(api_version, kind), where, name)

    def crd_of(self, definition: KubeObject, plural: str) -> ObjectRef:
        """Name the CRD that a definition brings about."""
        group = definition["spec"]["schema"]["group"]
        return ObjectRef(CRD, "", f"{plural}.{group}")

    # Reading and writing

    async def create(self, obj: KubeObject) -> KubeObject:
        """Create an object; its kind may be so new that it is only about to be served."""
        deadline = time.monotonic() + SERVED_WITHIN
        while True:
            try:
                made = await self.cluster.create(obj)
            except NotServed:
                if time.monotonic() > deadline:
                    raise
                await asyncio.sleep(0.1)
            else:
                self._made.append(made)
                return made

    async def get(self, named: Named) -> KubeObject:
        """Return an object as it is now, or raise `NotFound`."""
        return await self.cluster.get(_ref(named))

    async def find(self, named: Named) -> KubeObject | None:
        """Return an object as it is now, or `None`; nothing exists of a kind that is not served."""
        try:
            return await self.cluster.find(_ref(named))
        except NotServed:
            return None

    async def change(self, named: Named, mutate: Callable[[KubeObject], None]) -> KubeObject:
        """Read an object, change it and write it, again if somebody else was faster."""
        ref = _ref(named)
        while True:
            before = await self.cluster.get(ref)
            after = copy.deepcopy(before)
            mutate(after)
            with suppress(Conflict):
                return await self.cluster.patch(ref, JsonPatch(_operations(before, after)))

    async def merge(
        self, named: Named, patch: dict[str, Any], *, subresource: str = ""
    ) -> KubeObject:
        """Change some fields of an object, or with `status` those nobody else reports here."""
        options = WriteOptions(subresource=subresource)
        return await self.cluster.patch(_ref(named), MergePatch(patch), options)

    async def delete(self, named: Named, **options: Any) -> None:
        """Begin to delete an object, if it is there."""
        with suppress(NotFound, NotServed):
            await self.cluster.delete(_ref(named), DeleteOptions(**options))

    async def another_namespace(self) -> str:
        """Make one more namespace that nobody else uses."""
        name = f"test-{secrets.token_hex(4)}"
        await self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        return name

    # Waiting

    async def until(
        self, check: Callable[[], Awaitable[T]], within: float = 30.0, every: float = 0.1
    ) -> T:
        """Return what a check returns as soon as it does."""
        deadline = time.monotonic() + within
        while True:
            try:
                return await check()
            except NOT_YET as failure:
                if time.monotonic() > deadline:
                    words = f"after {within:g} s still: {type(failure).__name__}: {failure}"
                    raise AssertionError(words) from failure
            await asyncio.sleep(every)

    async def holds(self, check: Callable[[], Awaitable[object]], during: float) -> None:
        """Fail unless a check holds all the time."""
        deadline = time.monotonic() + during
        while True:
            await check()
            if time.monotonic() > deadline:
                return
            await asyncio.sleep(0.1)

    async def absent(self, named: Named, during: float = 2.0) -> None:
        """Fail if an object appears."""

        async def check() -> None:
            found = await self.find(named)
            assert found is None, f"{_ref(named)} is there"

        await self.holds(check, during)

    async def gone(self, named: Named, within: float = 20.0) -> None:
        """Return when an object is not there any longer."""

        async def check() -> None:
            found = await self.find(named)
            assert found is None, f"{_ref(named)} is still there: {found['metadata']}"

        await self.until(check, within)

    async def active(self, definition: Named, within: float = 30.0) -> KubeObject:
        """Return a definition when it is served as it is written now."""
        return await self._judged(definition, "Active", within)

    async def inactive(self, definition: Named, within: float = 30.0) -> KubeObject:
        """Return a definition when it was refused as it is written now."""
        return await self._judged(definition, "Inactive", within)

    async def in_state(self, instance: Named, state: str, within: float = 30.0) -> KubeObject:
        """Return an instance when its state is this."""

        async def check() -> KubeObject:
            found = await self.get(instance)
            assert found["status"]["state"] == state, found["status"]
            return found

        return await self.until(check, within)

    async def settled(self, instance: Named, within: float = 30.0) -> KubeObject:
        """Return an instance when it is active and ready as it is written now."""

        async def check() -> KubeObject:
            found = await self.get(instance)
            assert found["status"]["state"] == "ACTIVE", found["status"]
            if any(each["type"] == "Ready" for each in found["status"].get("conditions", [])):
                ready = condition(found, "Ready")
                assert ready["status"] == "True", ready
                assert ready["observedGeneration"] == found["metadata"]["generation"], ready
            return found

        return await self.until(check, within)

    async def _judged(self, definition: Named, state: str, within: float) -> KubeObject:
        async def check() -> KubeObject:
            found = await self.get(definition)
            assert found["status"]["state"] == state, found["status"]
            ready = condition(found, "Ready")
            # A state may be that of the generation before.
            assert ready["observedGeneration"] == found["metadata"]["generation"], ready
            return found

        return await self.until(check, within)

    # The beginning and the end

    async def open(self) -> None:
        """Make the namespace."""
        made: KubeObject = {"apiVersion": "v1", "kind": "Namespace"}
        await self.create(made | {"metadata": {"name": self.namespace}})

    async def close(self) -> None:
        """Take away what was made."""
        await Clearing(self.cluster, tuple(self._made)).clear()


def condition(obj: KubeObject, kind: str) -> dict[str, Any]:
    """Return an object's condition of a type."""
    found: list[dict[str, Any]] = obj.get("status", {}).get("conditions", [])
    for each in found:
        if each["type"] == kind:
            return each
    raise AssertionError(f"no condition {kind} among {[each['type'] for each in found]}")


def labels(obj: KubeObject) -> dict[str, str]:
    """Return an object's labels."""
    return obj["metadata"].get("labels") or {}


def annotations(obj: KubeObject) -> dict[str, str]:
    """Return an object's annotations."""
    return obj["metadata"].get("annotations") or {}


def _ref(named: Named) -> ObjectRef:
    return named if isinstance(named, ObjectRef) else ObjectRef.of(named)


def _operations(before: KubeObject, after: KubeObject) -> list[dict[str, Any]]:
    """Return how to get from one object to another, if it is still the same version."""
    version = before["metadata"]["resourceVersion"]
    same = [{"op": "replace", "path": "/metadata/resourceVersion", "value": version}]
    top = _replaced("", before, after, besides=("metadata",))
    return same + top + _replaced("/metadata", before["metadata"], after["metadata"])


def _replaced(
    prefix: str, before: KubeObject, after: KubeObject, besides: Iterable[str] = ()
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for key in sorted((before.keys() | after.keys()) - set(besides)):
        path = f"{prefix}/{key}"
        if key not in after:
            found.append({"op": "remove", "path": path})
        elif key not in before or before[key] != after[key]:
            found.append({"op": "add", "path": path, "value": after[key]})
    return found
