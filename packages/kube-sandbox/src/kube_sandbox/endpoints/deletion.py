"""
Delete: at once, after a while, or when the last finalizer is gone.

What the garbage collector is to do with dependents is left as a finalizer on the object. A Pod is
given time to end; nothing else is.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/registry/generic/registry/store.go Store.Delete,
deletionFinalizersForGarbageCollection, markAsDeleting;
k8s.io/apiserver/pkg/registry/rest/delete.go BeforeDelete.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from kube_objects.refs import KubeObject
from kube_objects.times import format_time, parse_time
from kube_sandbox import api_errors
from kube_sandbox.admission.chain import AdmissionChain
from kube_sandbox.endpoints.options import DeleteOptions
from kube_sandbox.endpoints.stored_objects import StoredObjects
from kube_sandbox.registry.kinds import Served

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
# Kinds whose deletion answers with the object that was.
_RETURN_DELETED_OBJECT = frozenset(
    (
        "csidrivers.storage.k8s.io",
        "csinodes.storage.k8s.io",
        "deviceclasses.resource.k8s.io",
        "namespaces",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "podtemplates",
        "resourceclaims.resource.k8s.io",
        "resourceclaimtemplates.resource.k8s.io",
        "resourcequotas",
        "resourceslices.resource.k8s.io",
        "serviceaccounts",
        "services",
        "storageclasses.storage.k8s.io",
        "volumeattachments.storage.k8s.io",
    )
)
_NAMESPACES = "namespaces"
_CHECK_OWN_PRECONDITIONS = frozenset(
    (_NAMESPACES, "customresourcedefinitions.apiextensions.k8s.io")
)
# Kinds whose dependents stay, unless something else is asked for.
_ORPHANING = frozenset(("jobs.batch", "replicationcontrollers"))
# Kinds whose deletion the garbage collector has no part in.
_UNCOLLECTED = frozenset(("events", "events.events.k8s.io"))
_ORPHANED_PODS_WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background "
    "to remove them or set propagationPolicy=Orphan to suppress this warning"
)
_FINISHED_PODS = frozenset(("Succeeded", "Failed"))
_POD_GRACE = 30

# The deletion of a kind: changes the object, and returns whether a finalizer keeps it.
MarkDeleted = Callable[[KubeObject, datetime], bool]


@dataclass(frozen=True, slots=True)
class Deleted:
    """What came of it: the object, or nothing but word of it."""

    answer: KubeObject
    is_gone: bool


class Deleter:
    """Deletes objects."""

    def __init__(
        self, records: StoredObjects, admission: AdmissionChain, marks: Mapping[str, MarkDeleted]
    ) -> None:
        self._records = records
        self._admission = admission
        self._marks = marks

    def delete(
        self, served: Served, namespace: str, name: str, options: DeleteOptions, now: datetime
    ) -> Deleted:
        """Delete an object, or begin to."""
        self._admission.delete(served, name)
        obj = self._records.find(served, namespace, name)
        if obj is None:
            raise api_errors.not_found(served.kind.group, served.plural, name)
        _check(served, obj, options)
        # Let a kind do what it does itself.
        mark = self._marks.get(served.bucket)
        if mark is None:
            marked = False
        else:
            if served.bucket == _NAMESPACES and "deletionTimestamp" not in obj["metadata"]:
                _set_finalizers(obj, _finalizers(served, obj, options))
                if options.orphan is False and FOREGROUND not in obj["metadata"].get(
                    "finalizers", ()
                ):
                    obj["metadata"].setdefault("finalizers", []).append(FOREGROUND)
            marked = mark(obj, now)
        if marked:
            return Deleted(self._save(served, obj, options), is_gone=False)
        graceful, pending = _start_graceful_deletion(served, obj, options, now)
        if pending:
            return Deleted(_answer(served, obj), is_gone=False)
        wanted = _finalizers(served, obj, options)
        if graceful is not None:
            # Note that an object is to end; if there is nothing to wait for it goes at once.
            _set_finalizers(obj, wanted)
            saved = self._save(served, obj, options)
            if wanted or graceful > 0:
                return Deleted(saved, is_gone=False)
            if options.dry_run:
                return Deleted(saved, is_gone=True)
            removed = self._records.remove(served, saved, dry_run=False)
            return Deleted(_answer(served, removed), is_gone=True)
        if wanted:
            _set_finalizers(obj, wanted)
            # Note that an object is to go.
            metadata = obj["metadata"]
            if "deletionTimestamp" not in metadata:
                if metadata.get("generation"):
                    metadata["generation"] += 1
                metadata["deletionTimestamp"] = format_time(now)
            metadata["deletionGracePeriodSeconds"] = 0
            return Deleted(self._save(served, obj, options), is_gone=False)
        gone = self._records.remove(served, obj, dry_run=options.dry_run)
        return Deleted(_answer(served, gone), is_gone=True)

    def _save(self, served: Served, obj: KubeObject, options: DeleteOptions) -> KubeObject:
        live = self._records.find(served, obj["metadata"].get("namespace", ""), _name(obj))
        if live == obj:
            return obj
        return self._records.save(served, obj, live, dry_run=options.dry_run)


def _name(obj: KubeObject) -> str:
    name: str = obj["metadata"]["name"]
    return name


def _check(served: Served, obj: KubeObject, options: DeleteOptions) -> None:
    """Reject to delete another object than the one that is meant."""
    metadata, kind = obj["metadata"], served.kind
    uid, version = metadata["uid"], metadata["resourceVersion"]
    group = kind.group if served.storage_group is None else served.storage_group
    if served.bucket in _CHECK_OWN_PRECONDITIONS:
        # These kinds check preconditions themselves, with words of their own.
        for what, wanted, actual in (
            ("UID", options.uid, uid),
            ("ResourceVersion", options.version, version),
        ):
            if wanted is not None and wanted != actual:
                why = f"{what} in precondition: {wanted}, {what} in object meta: {actual}"
                text = f"Precondition failed: {why}"
                raise api_errors.conflict(kind.group, served.plural, _name(obj), text)
    if options.uid is not None and options.uid != uid:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({uid})."
            " The object might have been deleted and then recreated"
        )
        raise api_errors.conflict(group, kind.kind, _name(obj), why)
    if options.version is not None and options.version != version:
        why = (
            f"the ResourceVersion in the precondition ({options.version}) does not match the "
            f"ResourceVersion in record ({version}). The object might have been modified"
        )
        raise api_errors.conflict(group, kind.kind, _name(obj), why)


def warnings(served: Served, options: DeleteOptions) -> list[str]:
    """Return the warnings for a client that deletes an object."""
    if served.bucket == "jobs.batch" and options.orphan is None and not options.propagation:
        return [_ORPHANED_PODS_WARNING]
    return []


def _start_graceful_deletion(
    served: Served, obj: KubeObject, options: DeleteOptions, now: datetime
) -> tuple[int | None, bool]:
    """Give a Pod time to end; return how much, and whether that had begun before."""
    if served.bucket != "pods":
        return None, False
    metadata = obj["metadata"]
    wanted = 1 if options.grace is not None and options.grace < 0 else options.grace
    if "deletionTimestamp" in metadata:
        left = metadata.get("deletionGracePeriodSeconds") or 0
        if not left:
            return None, False
        if wanted is None or wanted >= left:
            return None, True
        began = (parse_time(metadata["deletionTimestamp"]) or now) - timedelta(seconds=left)
        until = max(began + timedelta(seconds=wanted), now)
        metadata["deletionTimestamp"] = format_time(until)
        metadata["deletionGracePeriodSeconds"] = wanted
        return wanted, False
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in _FINISHED_PODS:
        grace = 0
    elif wanted is not None:
        grace = wanted
    else:
        grace = spec.get("terminationGracePeriodSeconds", _POD_GRACE)
    metadata["deletionTimestamp"] = format_time(now + timedelta(seconds=grace))
    metadata["deletionGracePeriodSeconds"] = grace
    if metadata.get("generation"):
        metadata["generation"] += 1
    return grace, False


def _finalizers(served: Served, obj: KubeObject, options: DeleteOptions) -> list[str]:
    """Return the finalizers that an object is to have while it goes."""
    present = list(obj["metadata"].get("finalizers") or ())
    kept = [each for each in present if each not in (ORPHAN, FOREGROUND)]
    if served.bucket in _UNCOLLECTED:
        return kept
    by_default = served.bucket in _ORPHANING
    if options.orphan is not None:
        orphans = options.orphan
    elif options.propagation:
        orphans = options.propagation == "Orphan"
    else:
        policies = _policies(present)
        orphans = policies[0] == ORPHAN if policies else by_default
    if orphans:
        kept.append(ORPHAN)
    if options.orphan is not None:
        waits_for_dependents = False
    elif options.propagation:
        waits_for_dependents = options.propagation == "Foreground"
    else:
        waits_for_dependents = _policies(present)[:1] == [FOREGROUND]
    if waits_for_dependents:
        kept.append(FOREGROUND)
    return present if set(kept) == set(present) else kept


def _policies(present: list[str]) -> list[str]:
    """Return what the finalizers of an object say of dependents; the first counts."""
    return [each for each in present if each in (ORPHAN, FOREGROUND)]


def _set_finalizers(obj: KubeObject, finalizers: list[str]) -> None:
    if finalizers:
        obj["metadata"]["finalizers"] = finalizers
    else:
        obj["metadata"].pop("finalizers", None)


def _answer(served: Served, obj: KubeObject) -> KubeObject:
    if served.bucket in _RETURN_DELETED_OBJECT:
        return obj
    details = {
        "name": obj["metadata"]["name"],
        "group": served.kind.group,
        "kind": served.plural,
        "uid": obj["metadata"]["uid"],
    }
    return api_errors.success({key: value for key, value in details.items() if value})
