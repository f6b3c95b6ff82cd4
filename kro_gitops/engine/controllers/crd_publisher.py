"""
Creates, updates and deletes the CRDs of definitions.
"""

import asyncio
from collections.abc import Awaitable
from enum import StrEnum
from typing import TypeVar

from kro_gitops.engine.crd.build import with_ownership
from kro_gitops.engine.crd.update import (
    changes_needed,
    is_served,
    owner_of,
    why_not_served,
)
from kro_gitops.engine.instance_metadata import is_deleting
from kro_gitops.engine.kinds import CRD_KIND
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
        # Published CRDs by name: the CRD as desired, its version, and the CRD as served.
        self._published: dict[str, tuple[KubeObject, str, KubeObject]] = {}
        self._written: dict[str, CrdWrite] = {}  # our last write, until `take_last_write`

    async def publish(self, desired: KubeObject, definition: KubeObject) -> KubeObject:
        """Create or update a CRD and wait until it is served; return it."""
        about = definition["metadata"]
        desired = with_ownership(desired, about["name"], about["uid"], self._version)
        ref = ObjectRef.of(desired)
        cached = self._crds.cache.find("", ref.name)
        published = self._published.get(ref.name)
        if published is not None and cached is not None:
            former, version, crd = published
            if former == desired and version == _crd_version(cached):
                return crd
        live = await _with_kro_message("check for existing CRD", self._cluster.find(ref))
        if live is None:
            self._written[ref.name] = CrdWrite.CREATED
            crd = await _with_kro_message("create CRD", self._cluster.create(desired))
        elif is_deleting(live):
            raise NotYet("crd-deleting", f"CRD {ref.name} is being deleted")
        else:
            patch = changes_needed(live, desired, definition)
            crd = live
            if patch is not None:
                self._written[ref.name] = CrdWrite.CHANGED
                crd = await _with_kro_message(
                    "patch CRD", self._cluster.patch(ref, MergePatch(patch))
                )
        until = asyncio.get_running_loop().time() + _TIMEOUT
        while not is_served(crd):
            if asyncio.get_running_loop().time() > until:
                raise NotYet("not-established", f"CRD {ref.name}: {why_not_served(crd)}")
            await asyncio.sleep(_POLL_INTERVAL)
            crd = await self._cluster.get(ref)
        self._discovery.learn(crd)
        self._published[ref.name] = (desired, _crd_version(crd), crd)
        return crd

    async def delete_crd(self, name: str, definition: str) -> bool:
        """Delete a definition's CRD; return whether there was one."""
        ref = ObjectRef(CRD_KIND, "", name)
        self._published.pop(name, None)
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
        """Return what our last write did to a CRD; a second call returns NOTHING."""
        return self._written.pop(name, CrdWrite.NOTHING)

    def owns(self, name: str, definition: str) -> bool:
        """Return whether a CRD exists and belongs to a definition."""
        about = self._crds.cache.find("", name)
        return about is not None and owner_of(about) == label_value(definition)


def _crd_version(crd: KubeObject) -> str:
    """Return a text that changes with everything of a CRD but its status."""
    metadata = crd["metadata"]
    marks = (metadata.get("labels"), metadata.get("annotations"), metadata.get("deletionTimestamp"))
    return f"{metadata['uid']}/{metadata.get('generation')}/{marks}"


_T = TypeVar("_T")


async def _with_kro_message(what: str, request: Awaitable[_T]) -> _T:
    """Add to an error what could not be done, in kro's words."""
    try:
        return await request
    except Unavailable as error:
        raise Unavailable(error.code, f"failed to {what}: {error.message}") from error
