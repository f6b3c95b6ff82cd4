"""
CustomResourceDefinitions at work: accepted, served, changed, and gone with all their objects.

What their status says next is decided by `custom.conditions`; this writes it, tells the registry,
and converts objects to a changed schema. Work is done soon after the write that requires it, never
within it: the client gets its response first, as from a real API server.

Follows kubernetes 1.35 k8s.io/apiextensions-apiserver/pkg/controller/finalizer/crd_finalizer.go
CRDFinalizer.sync, CRDFinalizer.deleteInstances;
k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go
crdHandler.updateCustomResourceDefinition.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import orjson

from kube_objects.refs import KubeObject
from kube_sandbox.api_errors import StatusError
from kube_sandbox.apiextensions.customresource.strategy import CustomStrategy
from kube_sandbox.apiextensions.customresourcedefinition import conditions
from kube_sandbox.apiextensions.served_kinds import is_terminating, served_of
from kube_sandbox.authentication.user_info import MASTERS, UserInfo
from kube_sandbox.endpoints.deletion import Deleter
from kube_sandbox.endpoints.options import DeleteOptions, WriteOptions
from kube_sandbox.endpoints.stored_objects import dumped
from kube_sandbox.endpoints.write import Writer
from kube_sandbox.endpoints.write_request import WriteRequest
from kube_sandbox.registry.kinds import Registry, Served
from kube_sandbox.storage.records import Change, ChangeType, Record

BUCKET = "customresourcedefinitions.apiextensions.k8s.io"
_DELETION = DeleteOptions()
_SYSTEM_USER = UserInfo("system:apiserver", (MASTERS,))

CallSoon = Callable[[Callable[[], None]], None]


class CRDController:
    """Serves custom kinds."""

    def __init__(
        self,
        registry: Registry,
        writer: Writer,
        deleter: Deleter,
        soon: CallSoon,
        clock: Callable[[], datetime],
    ) -> None:
        self._stored = writer.stored
        self._registry = registry
        self._writer = writer
        self._deleter = deleter
        # Called with the name of a definition whose kinds are not served as they were.
        self.changed: Callable[[str], None] = lambda name: None
        self.serves: Callable[[str, str], None] = lambda api_version, kind: None
        self._soon = soon
        self._clock = clock
        self._shown: dict[str, tuple[object, ...]] = {}  # by name: what of a definition is served
        self._ending: set[str] = set()  # names of those that wait for their objects to go

    def open(self) -> None:
        """Serve what is there, and whatever comes."""
        for record in self._stored.store.list(BUCKET):
            crd: KubeObject = orjson.loads(record.value)
            self._serve(crd)
            self._settle_soon(record.name)
        self._stored.store.listen(self._on_change)

    def _on_change(self, change: Change) -> None:
        if change.bucket == BUCKET:
            self._settle_soon(change.record.name)
        elif change.type is ChangeType.DELETED and change.bucket in self._ending:
            self._settle_soon(change.bucket)

    def _settle_soon(self, name: str) -> None:
        self._soon(lambda: self._settle(name))

    def _settle(self, name: str) -> None:
        """Bring a definition one step on; a step that is written calls for the next."""
        crd = self._stored.look(BUCKET, "", name)
        if crd is None:
            plural, _, group = name.partition(".")
            self._registry.remove(group, plural)
            self._shown.pop(name, None)
            self._ending.discard(name)
            self.changed(name)
        elif "deletionTimestamp" in crd["metadata"]:
            # Delete the objects of a definition that goes.
            end_crd: KubeObject = crd
            end_name, now = end_crd["metadata"]["name"], self._clock()
            if conditions.FINALIZER not in (end_crd["metadata"].get("finalizers") or ()):
                self._serve(end_crd)  # another finalizer keeps it, and objects may be created again
                return
            if end_name not in self._ending:
                self._ending.add(end_name)
                self._write(conditions.terminating(end_crd, now))
                end_crd = self._stored.look(BUCKET, "", end_name) or end_crd
                self._serve(end_crd)
                end_plural, _, end_group = end_name.partition(".")
                served = next(
                    (
                        e
                        for e in self._registry
                        if (e.kind.group, e.plural) == (end_group, end_plural)
                    ),
                    None,
                )
                if served is not None:
                    for record in self._stored.store.list(end_name):
                        self._deleter.delete(served, record.namespace, record.name, _DELETION, now)
            if not self._stored.store.count(end_name):
                self._ending.discard(end_name)
                self._write(conditions.terminated(end_crd, now))
        else:
            # Read only if it comes to that: a definition whose names are accepted needs no read.
            others = (orjson.loads(each.value) for each in self._stored.store.list(BUCKET))
            following = conditions.next_status(crd, others, self._clock())
            if following is not None:
                self._write(following)
            self._serve(crd)

    # Serving

    def _serve(self, crd: KubeObject) -> None:
        name = crd["metadata"]["name"]
        looks = (crd["metadata"]["uid"], crd["spec"], crd["status"].get("acceptedNames"))
        facts = (*looks, is_terminating(crd))
        before = self._shown.get(name)
        if before == facts or not (found := served_of(crd)):
            return
        self._shown[name] = facts
        first = found[0]
        self._registry.remove(first.kind.group, first.plural)
        for served in found:
            self._registry.add(served)
            self.serves(served.kind.api_version, served.kind.kind)
        if before is None or before[:-1] != looks:
            self._show(first)
            self.changed(name)

    def _show(self, served: Served) -> None:
        """Show objects by the schema of today."""
        strategy = served.strategy
        assert isinstance(strategy, CustomStrategy), "a custom kind has a custom strategy"
        kind = replace(served.kind, version=strategy.storage_version)
        viewed = replace(served, kind=kind, strategy=replace(strategy, kind=kind))
        store = self._stored.store

        def value(record: Record) -> bytes:
            raw: KubeObject = orjson.loads(store.stored(served.bucket, record))
            return dumped(viewed, self._stored.converted(viewed, raw))

        store.show(served.bucket, value)

    # Ending

    def _write(self, crd: KubeObject) -> None:
        served = self._registry.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        assert served is not None, "the kind of definitions is always served"
        write_request = WriteRequest(
            served,
            "",
            crd["metadata"]["name"],
            "status",
            WriteOptions(),
            conditions.MANAGER,
            _SYSTEM_USER,
            self._clock(),
        )
        try:
            self._writer.update(write_request, self._stored.copy(crd))
        except StatusError as error:
            if error.code not in (404, 409):  # another write came first and triggers this again
                raise


def delete_definition(crd: KubeObject, now: datetime) -> bool:
    """Begin to delete a definition: change it, and return whether a finalizer keeps it."""
    if "deletionTimestamp" in crd["metadata"]:
        return bool(crd["metadata"].get("finalizers"))
    marked = conditions.deleted(crd, now)
    crd.clear()
    crd.update(marked)
    return True
