"""
Creates, adopts, verifies, garbage-collects and releases GraphRevisions.

A revision is an immutable copy of a definition's spec. Only the latest is compiled as a rule; its
finalizer keeps it for as long as it may be needed to serve instances.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kro_gitops.control.outcome import DONE, Result
from kro_gitops.control.workqueue import WorkItem
from kro_gitops.engine.api import DEFINITION_KIND
from kro_gitops.engine.controllers.compile_cache import Compiled, Compiler
from kro_gitops.engine.controllers.observer import Observer
from kro_gitops.engine.definition_status import (
    IS_VERIFIED,
    REVISION_TYPES,
    VERIFIED,
    not_verified,
    topology_status,
)
from kro_gitops.engine.instance_metadata import has_finalizer, is_deleting
from kro_gitops.engine.revision import (
    REVISION_KIND,
    expired_numbers,
    next_number,
    revision_object,
    revision_owner,
    spec_hash,
)
from kro_gitops.errors import KroGitopsError
from kro_gitops.kube.api import Cluster, DeleteOptions, JsonPatch, MergePatch, WriteOptions
from kro_gitops.kube.informer import Informer
from kro_gitops.kube.responses import NotFound
from kro_gitops.metadata import FINALIZER
from kube_objects.conditions import UNKNOWN, ConditionSet
from kube_objects.refs import KubeObject, ObjectRef

log = logging.getLogger(__name__)

_STATUS = WriteOptions(subresource="status")
BY_DEFINITION = "definition"


@dataclass(frozen=True, slots=True)
class Revision:
    """A kept spec of a definition."""

    number: int
    hash: str
    object: KubeObject

    @property
    def name(self) -> str:
        """Return the name of the object."""
        name: str = self.object["metadata"]["name"]
        return name

    def definition(self, about: KubeObject) -> KubeObject:
        """Return the definition with the spec that was kept."""
        return {**about, "spec": self.object["spec"]["snapshot"]["spec"]}


def snapshot_name(revision: KubeObject) -> tuple[str, ...]:
    """Return the definition a revision is of."""
    return (revision["spec"]["snapshot"]["name"],)


class RevisionReconciler:
    """Keeps the revisions of all definitions."""

    def __init__(
        self,
        cluster: Cluster,
        informer: Informer,
        compiler: Compiler,
        version: str,
        observer: Observer,
    ) -> None:
        self._cluster = cluster
        self._informer = informer
        self._compiler = compiler
        self._version = version
        self._observer = observer
        self._hashes: dict[str, str] = {}  # uid → hash: a revision never changes

    def live(self, definition: str) -> list[Revision]:
        """Return the revisions of a definition that are not being deleted, the newest first."""
        cached = self._informer.cache.by(BY_DEFINITION, definition)
        found = [each for each in cached if not is_deleting(each)]
        revisions = [Revision(_number(each), self._hash(each), each) for each in found]
        return sorted(revisions, key=lambda each: each.number, reverse=True)

    async def issue(self, definition: KubeObject) -> Revision:
        """Create a revision with the current spec of a definition."""
        name = definition["metadata"]["name"]
        last = (definition.get("status") or {}).get("lastIssuedRevision") or 0
        issued = self._informer.cache.by(BY_DEFINITION, name)
        number = next_number(last, map(_number, issued))
        desired = revision_object(definition, number, self._version)
        desired["metadata"]["finalizers"] = [FINALIZER]
        created = await self._cluster.create(desired)
        self._put(created)
        return Revision(number, self._hash(created), created)

    async def adopt(self, definition: KubeObject, revisions: Iterable[Revision]) -> None:
        """Make a definition the owner of revisions that have none, or one that is gone."""
        about = definition["metadata"]
        ours = revision_owner(about["name"], about["uid"])
        for revision in revisions:
            metadata = revision.object["metadata"]
            owners = metadata.get("ownerReferences") or []
            if any(each.get("uid") == about["uid"] for each in owners):
                continue
            # A definition of the same name that is gone owns nothing any more.
            others = [
                owner
                for owner in owners
                if (owner.get("kind"), owner.get("apiVersion"))
                != (DEFINITION_KIND.kind, DEFINITION_KIND.api_version)
            ]
            changes = {
                "resourceVersion": metadata["resourceVersion"],
                "ownerReferences": [*others, ours],
            }
            await self._patch(revision.object, {"metadata": changes})

    async def report(self, revision: Revision, compiled: Compiled) -> None:
        """Write whether a revision compiles into its status."""
        now = datetime.now(UTC)
        conditions = ConditionSet.of(REVISION_TYPES, revision.object, now)
        if compiled.graph is not None:
            conditions.set(IS_VERIFIED, now)
        else:
            conditions.set(not_verified(revision.name, compiled.message), now)
        status: dict[str, Any] = {
            "conditions": conditions.to_json(),
            **topology_status(compiled.graph),
        }
        if status == (revision.object.get("status") or {}):
            return
        patch = JsonPatch([{"op": "add", "path": "/status", "value": status}])
        try:
            answer = await self._cluster.patch(ObjectRef.of(revision.object), patch, _STATUS)
        except KroGitopsError:
            self._observer.revision_status_failed()
            raise
        self._put(answer)

    async def collect(self, definition: str, keep: int) -> int:
        """Delete the oldest revisions beyond those to keep; return how many were deleted."""
        live = {each.number: each for each in self.live(definition)}
        gone = expired_numbers(live, keep)
        for number in gone:
            obj = live[number].object
            try:
                await self._cluster.delete(
                    ObjectRef.of(obj), DeleteOptions(uid=obj["metadata"]["uid"])
                )
            except NotFound:
                continue
        return len(gone)

    async def reconcile(self, work: WorkItem[str]) -> Result:
        """Release a deleted revision; verify one that has no verdict yet."""
        revision = self._informer.cache.find("", work.key)
        if revision is None:
            return DONE
        if is_deleting(revision):
            finalizers = revision["metadata"].get("finalizers") or []
            if FINALIZER in finalizers:
                others = [each for each in finalizers if each != FINALIZER]
                try:
                    await self._set_finalizers(revision, others)
                except NotFound:
                    pass
                else:
                    self._hashes.pop(revision["metadata"]["uid"], None)
                    self._observer.revision_released()
            return DONE
        if not has_finalizer(revision):
            finalizers = [*(revision["metadata"].get("finalizers") or ()), FINALIZER]
            revision = await self._set_finalizers(revision, finalizers)
        conditions = ConditionSet.of(REVISION_TYPES, revision, datetime.now(UTC))
        found = conditions.find(VERIFIED)
        if found is None or found.status == UNKNOWN:
            # No reconcile of its definition has reported on it.
            kept = Revision(_number(revision), self._hash(revision), revision)
            name = revision["spec"]["snapshot"]["name"]
            about = {
                "apiVersion": DEFINITION_KIND.api_version,
                "kind": DEFINITION_KIND.kind,
                "metadata": {"name": name},
            }
            compiled = await self._compiler.compile(kept.definition(about), kept.hash)
            await self.report(kept, compiled)
        return DONE

    async def _set_finalizers(self, revision: KubeObject, finalizers: list[str]) -> KubeObject:
        # With the version: a finalizer that another client adds meanwhile must not be lost.
        version = revision["metadata"]["resourceVersion"]
        changes = {"resourceVersion": version, "finalizers": finalizers}
        return await self._patch(revision, {"metadata": changes})

    async def _patch(self, revision: KubeObject, changes: KubeObject) -> KubeObject:
        answer = await self._cluster.patch(ObjectRef.of(revision), MergePatch(changes))
        if not is_deleting(answer):
            self._put(answer)
        return answer

    def _put(self, answer: KubeObject) -> None:
        answer["metadata"].pop("managedFields", None)
        self._informer.record_write(answer)

    def _hash(self, revision: KubeObject) -> str:
        """Return the hash of a revision's snapshot, which is immutable: computed once per uid."""
        uid = revision["metadata"]["uid"]
        found = self._hashes.get(uid)
        if found is None:
            found = self._hashes[uid] = spec_hash(revision["spec"]["snapshot"]["spec"])
        return found


def _number(revision: KubeObject) -> int:
    number: int = revision["spec"]["revision"]
    return number


__all__ = ["BY_DEFINITION", "REVISION_KIND", "Revision", "RevisionReconciler", "snapshot_name"]
