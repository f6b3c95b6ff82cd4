"""
Decides as whom an instance is reconciled: the source that applied it, a default account, nobody.

| the outermost instance               | acts as the                      | if there is none       |
|---|---|---|
| is recorded by a source              | service account of the source    | the controller         |
| names a source that does not know it | default account of its namespace | nobody: not reconciled |
| names none                           | default account of its namespace | the controller         |

The limits of a source (`spec.allow`) also hold for the children of its instances.

A source records an instance if its inventory lists it, and the instance names this source, or names
another one while the inventory has its uid and the source may have it. The inventory alone is not
enough, and neither is the annotation: everyone who can write the instance can write the one, and
everyone who can write to the namespace of a source can write the other.

A nested instance has the authority of the outermost one, whatever inventories of other sources say;
`Lineage` says what makes it nested.

All sources of the cluster count, also those that this process does not reconcile because of
`--watch-namespaces` or `--no-sources`. Otherwise excluding a source would give its instances the
rights of the controller.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from kro_gitops.engine.authority import CONTROLLER, Authority, Lineage
from kro_gitops.engine.plan.prune_limit import PruneLimit
from kro_gitops.errors import NotServed, UserError
from kro_gitops.kube.api import Cluster, Identity, Selection
from kro_gitops.kube.cache import Change
from kro_gitops.kube.informer import Informer
from kro_gitops.kube.responses import Forbidden
from kro_gitops.metadata import (
    INSTANCE_GROUP,
    INSTANCE_KIND,
    INSTANCE_NAME,
    INSTANCE_NAMESPACE,
    INSTANCE_VERSION,
    OWNED,
    SOURCE,
    SOURCE_HASH,
)
from kro_gitops.source.api.parse import Defaults, read_spec
from kro_gitops.source.api.resources import GIT_SOURCE_KIND
from kro_gitops.source.api.types import Allow, Brake
from kro_gitops.source.controllers.inventories import Inventories
from kro_gitops.source.controllers.state import SourceStore
from kro_gitops.source.plan.permissions import child_rejection
from kro_gitops.source.plan.prune import NO_LIMIT
from kro_gitops.tracking.inventory import Inventory, key_of
from kube_objects.errors import RefusedError
from kube_objects.refs import Kind, KubeObject, ObjectRef

log = logging.getLogger(__name__)

_PARENT_KIND = (INSTANCE_GROUP, INSTANCE_VERSION, INSTANCE_KIND)


@dataclass(frozen=True, slots=True)
class AccountRules:
    """Which accounts act where nothing names one."""

    default_account: str = ""  # of sources and instances that name none; empty: the controller
    controller_namespace: str = ""  # where the default account of cluster-scoped instances is
    own_namespace_only: bool = False  # for children of instances without a source


@dataclass(frozen=True, slots=True)
class _Record:
    """A source, as far as it decides about its instances."""

    key: ObjectRef
    account: str
    allow: Allow
    brake: Brake
    inventory: Inventory


class SourceRecords:
    """
    All GitSources and SourceInventories of the cluster, also those of other controllers.

    The source controller uses the same informers. It keeps the states of the sources that it
    reconciles in the store; those are ahead of what is written in the cluster.
    """

    def __init__(self, cluster: Cluster, store: SourceStore, defaults: Defaults) -> None:
        self.sources = Informer(cluster, Selection(GIT_SOURCE_KIND))
        self.inventories = Inventories(cluster)
        self.store = store
        self._defaults = defaults
        self._others: dict[str, _Record] = {}  # sources that are not in the store
        self._wake: Callable[[ObjectRef], None] = lambda _ref: None
        self._tasks: list[asyncio.Task[None]] = []

    async def load(self, wake: Callable[[ObjectRef], None], *, is_required: bool) -> None:
        """
        Start the informers and wait until both are synced; nothing is written.

        `wake` queues an instance whose source has changed. Kinds that are not served have no
        objects. A controller that does not reconcile sources need not be allowed to list them
        (`is_required`): then it cannot verify any, and does not act for instances that name one.
        """
        informers = (self.inventories.informer, self.sources)
        self._tasks += [asyncio.create_task(informer.run()) for informer in informers]
        for informer in informers:
            while not await informer.wait_synced(0.5):
                problem = informer.problem
                if isinstance(problem, NotServed):
                    break  # then there are none
                if isinstance(problem, Forbidden) and not is_required:
                    kind, text = str(informer.selection.kind), problem.message
                    log.warning("sources are not known", extra={"kind": kind, "error": text})
                    break
                informer.log_waiting()
        self.wakes(wake)

    def wakes(self, wake: Callable[[ObjectRef], None]) -> None:
        """Have instances queued from now on, whenever a source that is not in the store changes."""
        self._wake = wake
        self.sources.listen(self._source_changed)
        self.inventories.informer.listen(self._inventory_changed)

    def close(self) -> None:
        """Stop the informers."""
        for task in self._tasks:
            task.cancel()

    def is_empty(self) -> bool:
        """Return True if the cluster has no source; False if that is not known."""
        if len(self.store) or len(self.sources.cache):
            return False
        return self.sources.is_synced or isinstance(self.sources.problem, NotServed)

    def find(self, name: str) -> _Record | None:
        """Return a source by `namespace/name`."""
        state = self.store.find(name)
        if state is not None:
            spec = state.spec
            allow, brake = (
                (spec.allow, spec.brake) if spec is not None else self._rules_of(state.source)
            )
            if state.allows_prune:
                brake = NO_LIMIT
            account = self.store.account_of(state.source)
            return _Record(state.key, account, allow, brake, state.inventory)
        source = self.sources.cache.find(*name.split("/", 1)) if "/" in name else None
        if source is None:
            return None
        record = self._others.get(name)
        if record is None:
            key = ObjectRef.of(source)
            inventory = self.inventories.load(key)
            account, (allow, brake) = self.store.account_of(source), self._rules_of(source)
            record = _Record(key, account, allow, brake, inventory)
            self._others[name] = record
        return record

    def _rules_of(self, source: KubeObject) -> tuple[Allow, Brake]:
        """Return the limits of a source, whether or not this process may read its repository."""
        try:
            spec = read_spec(source, replace(self._defaults, local_source=None))
        except UserError:
            return Allow(), Brake()  # its own namespace
        return spec.allow, spec.brake

    def __iter__(self) -> Iterator[_Record]:
        names = {state.name for state in self.store}
        names.update(ObjectRef.of(source).place for source in self.sources.cache)
        found = (self.find(name) for name in sorted(names))
        return (record for record in found if record is not None)

    # The store tells of its own sources itself. Changes of the others are seen here.

    def _source_changed(self, change: Change) -> None:
        before, after = change.before, change.after
        if before is None or after is None or before.get("spec") != after.get("spec"):
            self._renew(ObjectRef.of(change.object).place)

    def _inventory_changed(self, change: Change) -> None:
        """Read the sources of the namespace again: the label of a shard may be a shortened name."""
        prefix = change.object["metadata"]["namespace"] + "/"
        for source in self.sources.cache:
            name = ObjectRef.of(source).place
            if name.startswith(prefix):
                self._renew(name)

    def _renew(self, name: str) -> None:
        if name in self.store:
            return
        former = self._others.pop(name, None)
        present = self.find(name)
        for record in (former, present):
            for entry in record.inventory if record is not None else ():
                self._wake(entry.ref)


class Ownership:
    """Decides about the authority of instances."""

    def __init__(self, records: SourceRecords, rules: AccountRules) -> None:
        self._records = records
        self._rules = rules

    def authority_of(self, instance: KubeObject, lineage: Lineage) -> Authority:
        """
        Return as whom an instance is reconciled, and what it may touch.

        Raises `NotYet` if the plan of a parent is missing, and `RefusedError` if the instance
        belongs to a source or parent that does not know it, and there is no default account.
        """
        has_other_account = self._rules.default_account or _source_metadata(instance)
        if not has_other_account and self._records.is_empty():
            # The controller acts for everything: there is no parent to verify.
            return Authority(rejection_of=self._limits_of(ObjectRef.of(instance)))
        outermost, passed = instance, set[ObjectRef]()  # forged labels may form a cycle
        while True:
            ref = ObjectRef.of(outermost)
            # The source that it names, if that records it.
            annotations = outermost["metadata"].get("annotations") or {}
            record = self._records.find(annotations.get(SOURCE, ""))
            if record is not None and key_of(ref) in record.inventory:
                return _authority_of_source(record)
            parent = _parent_named_by(outermost)
            if parent is None or ref in passed:
                break
            passed.add(ref)
            above = lineage.parent_of(outermost, parent)
            if above is None:
                break
            outermost = above
        # Only now: no inventory takes a nested instance from its parent.
        record = self._source_with_uid_of(outermost)
        if record is not None:
            return _authority_of_source(record)
        return self._authority_without_source(outermost)

    def definition_limit(self, definition: ObjectRef, source: str) -> PruneLimit | None:
        """Return the limit of the source that applied a definition; None if none did."""
        record = self._records.find(source) if source else None
        if record is None or key_of(definition) not in record.inventory:
            return None
        return _limit_of(record)

    def _source_with_uid_of(self, instance: KubeObject) -> _Record | None:
        """Return the source that records the uid of an instance which names another one."""
        if not _origin_of(instance):
            return None  # created by hand: an inventory that lists it is forged
        ref, uid = ObjectRef.of(instance), instance["metadata"].get("uid")
        for record in self._records:
            entry = record.inventory.find(key_of(ref))
            if entry is None or not uid or entry.uid != uid:
                continue
            # A source that may not have it has not applied it: the inventory is forged.
            if not _authority_of_source(record).rejection_of(ref):
                return record
        return None

    def _authority_without_source(self, instance: KubeObject) -> Authority:
        ref, rules = ObjectRef.of(instance), self._rules
        origin = _origin_of(instance)
        if not rules.default_account:
            if origin:
                raise RefusedError(
                    "unknown-owner",
                    f"{ref} is not reconciled: it carries {origin}, but is not recorded there; the "
                    "controller does not use its own permissions for it",
                    hint="let that source apply it again, or remove this metadata to have it "
                    "reconciled like an instance that was created by hand, or set "
                    "--default-service-account",
                )
            return Authority(rejection_of=self._limits_of(ref))
        namespace = ref.namespace or rules.controller_namespace
        if not namespace:
            raise RefusedError(
                "unknown-owner",
                f"{ref} is not reconciled: it is cluster-scoped and has no source, and the "
                f"namespace of the service account {rules.default_account} is not known",
                hint="set --leader-election-namespace to the namespace of the controller",
            )
        identity = Identity.service_account(namespace, rules.default_account)
        return Authority(identity, self._limits_of(ref))

    def _limits_of(self, instance: ObjectRef) -> Callable[[ObjectRef], str]:
        """Return what holds for children of an instance without a source."""

        def rejection_of(child: ObjectRef) -> str:
            if child.namespace == instance.namespace:
                return ""
            place = f"in namespace {child.namespace}" if child.namespace else "cluster-scoped"
            return (
                f"{child} is {place}, and instances without a source may have children in their "
                "own namespace only (--instances-own-namespace-only)"
            )

        if not self._rules.own_namespace_only or not instance.namespace:
            return CONTROLLER.rejection_of
        return rejection_of


def _authority_of_source(record: _Record) -> Authority:
    namespace, name = record.key.namespace, record.key.place

    def rejection_of(child: ObjectRef) -> str:
        why = child_rejection(record.allow, namespace, child, bool(child.namespace))
        return f"source {name}: {why}" if why else ""

    identity = Identity.service_account(namespace, record.account) if record.account else None
    return Authority(identity, rejection_of, _limit_of(record), name)


def _limit_of(record: _Record) -> PruneLimit:
    brake = record.brake
    return PruneLimit(brake.percent, brake.count, f"spec.maxPrune of source {record.key.place}")


def _origin_of(instance: KubeObject) -> str:
    """Return which metadata says that an instance was not created by hand; empty if none does."""
    parent = _parent_named_by(instance)
    of_parent = f"the label {OWNED} of a child of {parent}" if parent is not None else ""
    return _source_metadata(instance) or of_parent


def _source_metadata(instance: KubeObject) -> str:
    """Return which metadata says that a source applied an instance; empty if none does."""
    metadata = instance["metadata"]
    named = (metadata.get("annotations") or {}).get(SOURCE)
    if named:
        return f"the annotation {SOURCE}: {named}"
    has_hash = (metadata.get("labels") or {}).get(SOURCE_HASH)
    return f"the label {SOURCE_HASH} of a source" if has_hash else ""


def _parent_named_by(instance: KubeObject) -> ObjectRef | None:
    """Return the instance that the labels of a nested instance name as its parent."""
    labels = instance["metadata"].get("labels") or {}
    if labels.get(OWNED) != "true" or not labels.get(INSTANCE_NAME):
        return None
    kind = Kind(*(labels.get(each, "") for each in _PARENT_KIND))
    return ObjectRef(kind, labels.get(INSTANCE_NAMESPACE, ""), labels[INSTANCE_NAME])
