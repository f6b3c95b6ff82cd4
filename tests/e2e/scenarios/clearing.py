"""
Taking away what a scenario left, in the order in which it goes by itself.

Instances first, since nobody tends to them without their definition, then definitions, the CRDs
they brought about, and what else has no namespace. What does not go in time is freed of its
finalizers: a scenario that failed must not stand in the way of the next.
"""

import asyncio
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from kro_gitops.errors import NotServed
from kro_gitops.kube.api import Cluster, DeleteOptions, MergePatch, Propagation, Selection
from kro_gitops.kube.responses import ApiError
from kube_objects.refs import Kind, KubeObject, ObjectRef

DEFINITION = Kind("kro.run", "v1alpha1", "ResourceGraphDefinition")
CRD = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")

# Seconds that each may take by itself. kro looks after an instance that goes only every 5 s:
# waiting for that would double the time of most scenarios, and proves nothing.
INSTANCES_WITHIN = 1.0
DEFINITIONS_WITHIN = 8.0
CRDS_WITHIN = 3.0


@dataclass(frozen=True, slots=True)
class Clearing:
    """What is to go from a cluster."""

    cluster: Cluster
    made: tuple[KubeObject, ...]

    async def clear(self) -> None:
        """Take away what was made, as far as it goes; no scenario needs it to be complete."""
        definitions = [obj for obj in self.made if ObjectRef.of(obj).kind == DEFINITION]
        kinds = {_kind_of(each) for each in definitions}
        await self._remove(await self._instances(kinds), INSTANCES_WITHIN)
        await self._remove(map(ObjectRef.of, definitions), DEFINITIONS_WITHIN)
        await self._remove(await self._crds({kind.group for kind in kinds}), CRDS_WITHIN)
        rest = [ref for ref in map(ObjectRef.of, self.made) if ref.kind not in kinds | {DEFINITION}]
        await asyncio.gather(*(self._delete(ref) for ref in reversed(rest) if not ref.namespace))

    async def _instances(self, kinds: Iterable[Kind]) -> list[ObjectRef]:
        """List all instances: also those that an instance brought about."""
        found = []
        for kind in kinds:
            with suppress(ApiError, NotServed):
                listing = await self.cluster.list(Selection(kind, metadata_only=True))
                found += [_ref(kind, obj) for obj in listing.items]
        return found

    async def _crds(self, groups: set[str]) -> list[ObjectRef]:
        listing = await self.cluster.list(Selection(CRD, metadata_only=True))
        refs = [_ref(CRD, obj) for obj in listing.items]
        return [ref for ref in refs if ref.name.partition(".")[2] in groups]

    async def _remove(self, refs: Iterable[ObjectRef], within: float) -> None:
        await asyncio.gather(*(self._remove_one(ref, within) for ref in refs))

    async def _remove_one(self, ref: ObjectRef, within: float) -> None:
        deadline = time.monotonic() + within
        await self._delete(ref)
        while await self._is_there(ref):
            if time.monotonic() > deadline:
                await self._free(ref)
                return
            await asyncio.sleep(0.1)

    async def _delete(self, ref: ObjectRef) -> None:
        with suppress(ApiError, NotServed):
            await self.cluster.delete(ref, DeleteOptions(propagation=Propagation.BACKGROUND))

    async def _is_there(self, ref: ObjectRef) -> bool:
        try:
            return await self.cluster.find(ref) is not None
        except NotServed:
            return False

    async def _free(self, ref: ObjectRef) -> None:
        with suppress(ApiError, NotServed):
            await self.cluster.patch(ref, MergePatch({"metadata": {"finalizers": None}}))


def _kind_of(definition: KubeObject) -> Kind:
    schema = definition["spec"]["schema"]
    return Kind(schema["group"], schema["apiVersion"], schema["kind"])


def _ref(kind: Kind, obj: KubeObject) -> ObjectRef:
    metadata = obj["metadata"]
    return ObjectRef(kind, metadata.get("namespace", ""), metadata["name"])
