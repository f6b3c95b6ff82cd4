"""
Creates, updates and deletes the CRDs of definitions.
"""

import asyncio
from collections.abc import Awaitable
from enum import StrEnum
from typing import TypeVar

from kro_gitops.engine.controllers.compile_cache import CRD_KIND
from kro_gitops.engine.crd.build import with_ownership
from kro_gitops.engine.crd.update import (
    changes_needed,
    is_served,
    owner_of,
    why_not_served,
)
from kro_gitops.engine.instance_metadata import is_deleting
from kro_gitops.engine.labels import label_value
from kro_gitops.errors import NotYet, Unavailable
from kro_gitops.kube.api import Cluster, MergePatch
from kro_gitops.kube.discovery import Discovery
from kro_gitops.kube.informer import Informer
from kro_gitops.kube.responses import NotFound
from kube_objects.refs import KubeObject, ObjectRef

# The API server needs a moment to serve a new CRD.
_POLL_INTERVAL = 0.05
_TIMEOUT = 30.0


class CrdWrite(StrEnum):
    """What we did to a CRD."""

    NOTHING = "nothing"
    CREATED = "created"
    CHANGED = "changed"


class CrdPublisher:
    """Creates, updates and deletes the CRDs of definitions."""

    def __init__(
        self, cluster: Cluster, discovery: Discovery, crds: Informer, version: str
    ) -> None:
        self._cluster = cluster
        self._discovery = discovery
        self._crds = crds
        self._version = version
        # What was found in order, by name: the CRD as it was wanted, and its version.
        self._settled: dict[str, tuple[KubeObject, str, KubeObject]] = {}
        self._written: dict[str, CrdWrite] = {}  # what we did to CRDs, until somebody asks

    async def publish(self, wanted: KubeObject, definition: KubeObject) -> KubeObject:
        """Create or update a CRD and wait until it is served; return it."""
        about = definition["metadata"]
        wanted = with_ownership(wanted, about["name"], about["uid"], self._version)
        name = wanted["metadata"]["name"]
        settled = self._settled.get(name)
        if settled is not None and settled[0] == wanted and settled[1] == self._stamp(name):
            return settled[2]
        ensure_ref = ObjectRef.of(wanted)
        live = await _with_kro_message("check for existing CRD", self._cluster.find(ensure_ref))
        if live is None:
            self._written[ensure_ref.name] = CrdWrite.CREATED
            crd = await _with_kro_message("create CRD", self._cluster.create(wanted))
        else:
            if is_deleting(live):
                raise NotYet("crd-deleting", f"CRD {ensure_ref.name} is being deleted")
            patch = changes_needed(live, wanted, definition)
            if patch is None:
                crd = live
            else:
                self._written[ensure_ref.name] = CrdWrite.CHANGED
                crd = await _with_kro_message(
                    "patch CRD", self._cluster.patch(ensure_ref, MergePatch(patch))
                )
        ref = ObjectRef.of(crd)
        until = asyncio.get_running_loop().time() + _TIMEOUT
        while not is_served(crd):
            if asyncio.get_running_loop().time() > until:
                raise NotYet("not-established", f"CRD {ref.name}: {why_not_served(crd)}")
            await asyncio.sleep(_POLL_INTERVAL)
            crd = await self._cluster.get(ref)
        self._discovery.learn(crd)
        self._settled[name] = (wanted, _crd_version(crd), crd)
        return crd

    async def delete_crd(self, name: str, definition: str) -> bool:
        """Delete a definition's CRD; return whether there was one."""
        ref = ObjectRef(CRD_KIND, "", name)
        self._settled.pop(name, None)
        live = await self._cluster.find(ref)
        if live is None or owner_of(live) != label_value(definition):
            return False
        if not is_deleting(live):
            try:
                await self._cluster.delete(ref)
            except NotFound:
                return False
        return True

    def take_last_write(self, name: str) -> CrdWrite:
        """Say, once, what we have done to a CRD."""
        return self._written.pop(name, CrdWrite.NOTHING)

    def owns(self, name: str, definition: str) -> bool:
        """Return whether a CRD is there and is a definition's."""
        about = self._crds.cache.find("", name)
        return about is not None and owner_of(about) == label_value(definition)

    def _stamp(self, name: str) -> str:
        about = self._crds.cache.find("", name)
        return _crd_version(about) if about is not None else ""


def _crd_version(crd: KubeObject) -> str:
    """Return what changes whenever anything of a CRD changes but its status."""
    metadata = crd["metadata"]
    marks = (metadata.get("labels"), metadata.get("annotations"), metadata.get("deletionTimestamp"))
    return f"{metadata['uid']}/{metadata.get('generation')}/{marks}"


_T = TypeVar("_T")


async def _with_kro_message(what: str, request: Awaitable[_T]) -> _T:
    """Return in kro's words what could not be done."""
    try:
        return await request
    except Unavailable as error:
        raise Unavailable(error.code, f"failed to {what}: {error.message}") from error
