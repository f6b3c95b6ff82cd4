"""
Runs garbage collection, the deletion of namespaces and simulated workloads.

The store tells of each change while a request is still being answered, so nothing is done then:
what is to be looked at is noted, and `run` does it later, between requests. Whatever is done goes
through the verbs, as a controller's requests would, and comes back as the next changes.

Follows kubernetes 1.35 pkg/controller/garbagecollector/garbagecollector.go GarbageCollector.Run;
cmd/kube-controller-manager/app/controllermanager.go RunControllers.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

import orjson

from kube_objects.refs import KubeObject
from kube_sandbox.api_errors import StatusError
from kube_sandbox.controllers import garbage_collector
from kube_sandbox.controllers.client_interface import ControllerClient, Target
from kube_sandbox.controllers.event_recorder import EventContent, EventRecorder, refusal_events
from kube_sandbox.controllers.garbage_collector import Graph, Node, Places
from kube_sandbox.controllers.queue import Key, WorkQueue
from kube_sandbox.controllers.workloads import (
    adoption,
    namespace_steps,
    plan_steps,
    resource_quotas,
)
from kube_sandbox.controllers.workloads.indexes import RelatedIndexes
from kube_sandbox.controllers.workloads.plan_steps import (
    Plan,
    PlanContext,
    Settings,
)
from kube_sandbox.controllers.workloads.registry import controllers, standing_controllers
from kube_sandbox.storage.records import Change, ChangeType, Record
from kube_sandbox.storage.store import Store

GARBAGE_COLLECTOR = "garbage-collector-controller"
CONTROLLER_MANAGER = "kube-controller-manager"
_STEPS_PER_SLICE = 100  # steps that are done before requests have their turn again
_PASSED = frozenset((404, 409))  # the world went on meanwhile; the next change says how

log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ControllerManagerOptions:
    """The controllers that run; workloads are simulated only with settings."""

    places: Places
    namespaced: Callable[[], Iterable[str]]  # the buckets whose objects are in namespaces
    workloads: Settings | None = None
    authority: str = ""  # the CA's certificate, for new namespaces; without it they stay empty
    left_alone: frozenset[str] = frozenset()  # buckets without a workload controller


class ControllerManager:
    """Everything that happens without being asked for."""

    def __init__(
        self, store: Store, actor: ControllerClient, duties: ControllerManagerOptions
    ) -> None:
        self._store = store
        self._actor = actor
        self._duties = duties
        self._graph = Graph(duties.places)
        self._litter: dict[str, None] = {}
        self._agenda = WorkQueue()
        self._notices = EventRecorder()
        found = {**standing_controllers(), **(controllers() if duties.workloads else {})}
        self._controllers = {b: c for b, c in found.items() if b not in duties.left_alone}
        self._related = RelatedIndexes({b: c.sees for b, c in self._controllers.items()})
        self._going: set[str] = set()  # namespaces
        self._adoptions = RelatedIndexes(adoption.adoptions(self._controllers.values()))
        self._settings = duties.workloads or Settings()
        self._complaints: set[tuple[str, str]] = set()
        self._wake = asyncio.Event()

    def start(self) -> Callable[[], None]:
        """Look at everything that is there, and follow the store; return how to stop."""
        for bucket in list(self._store.buckets()):
            for record in self._store.list(bucket):
                self._note(bucket, record, orjson.loads(record.value))
        self._wake_quotas("")
        return self._store.listen(self.changed)

    def changed(self, change: Change) -> None:
        """Handle a change of the store."""
        obj = orjson.loads(change.record.value)
        if change.type is ChangeType.DELETED:
            self._litter |= dict.fromkeys(self._graph.remove(change.record.uid))
            self._wake_others(change.bucket, change.record, obj, is_gone=True)
        else:
            self._note(change.bucket, change.record, obj)
        if change.record.namespace and change.before is not None:
            is_gone = change.type is ChangeType.DELETED
            if resource_quotas.releases_quota(change.bucket, obj, is_gone=is_gone):
                self._wake_quotas(change.record.namespace)
        self._wake.set()

    def served(self, api_version: str, kind: str) -> None:
        """Look again at objects whose owners may be of a kind that is served now."""
        self._litter |= dict.fromkeys(self._graph.served(api_version, kind))
        self._wake_quotas("")
        self._wake.set()

    def _note(self, bucket: str, record: Record, obj: KubeObject) -> None:
        """Take a changed object into the owner graph, and queue every controller it concerns."""
        self._litter |= dict.fromkeys(self._graph.put(Node.of(bucket, obj)))
        controller = self._controllers.get(bucket)
        if bucket == "namespaces" or (controller and not controller.is_settled(obj)):
            self._agenda.wake((bucket, record.namespace, record.name))
        self._wake_others(bucket, record, obj, is_gone=False)

    def _wake_others(self, bucket: str, record: Record, obj: KubeObject, *, is_gone: bool) -> None:
        """Wake the controller of an object, its namespace if that cares, and all who look at it."""
        if bucket == "namespaces":
            self._going.discard(record.name)
            if plan_steps.is_deleting(obj) and not is_gone:
                self._going.add(record.name)
        elif (
            record.namespace in self._going
            or (bucket, record.name) in namespace_steps.INITIAL_OBJECTS
        ):
            self._agenda.wake(("namespaces", "", record.namespace))
        key = (bucket, record.namespace, record.name)
        known = None if is_gone else obj
        for each in (*self._related.put(key, known), *self._adoptions.put(key, known)):
            self._agenda.wake(each)
        owner = plan_steps.controller_of(obj)
        place = self._duties.places(owner["apiVersion"], owner["kind"]) if owner else None
        if owner and place:
            found = self._controllers.get(place.bucket)
            if bucket in (found.owns if found else ()):
                self._agenda.wake((place.bucket, record.namespace, owner["name"]))

    def _wake_quotas(self, namespace: str) -> None:
        """Have the quotas of a namespace counted, or all; most namespaces have none."""
        for each in self._store.list(resource_quotas.BUCKET, namespace):
            self._agenda.wake((resource_quotas.BUCKET, each.namespace, each.name))

    async def serve(self, clock: Callable[[], datetime]) -> None:
        """Do what is due, until cancelled."""
        while True:
            self._wake.clear()
            wait: float | None = 0.0
            try:
                wait = self.run(clock())
            except Exception:
                log.exception("a controller failed")
            if wait == 0.0:
                await asyncio.sleep(0)
                continue
            try:
                await asyncio.wait_for(self._wake.wait(), wait)
            except TimeoutError:
                continue

    def run(self, now: datetime) -> float | None:
        """Do what is due, or a part of it; return in how many seconds there is more."""
        self._agenda.move_due(now)
        done = 0
        while (self._litter or self._agenda) and done < _STEPS_PER_SLICE:
            done += 1
            if self._litter:
                queue = self._litter
                found = next(iter(queue))
                del queue[found]
                for step in self._graph.steps(found):
                    try:
                        self._clear(step, now)
                    except StatusError as error:
                        _log_refusal(error, step.node.bucket, step.node.name)
            else:
                self._look_after(self._agenda.take(), now)
        if self._litter or self._agenda:
            return 0.0
        return self._agenda.wait(now)

    # Garbage

    def _clear(self, step: garbage_collector.Step, now: datetime) -> None:
        node = step.node
        match step:
            case garbage_collector.DeleteObject():
                target = Target(node.namespace, node.name, node.uid, step.propagation)
                self._actor.delete(node.bucket, target)
            case garbage_collector.ReportInvalidOwner():
                if (message := (node.uid, step.owner.uid)) not in self._complaints:
                    self._complaints.add(message)
                    node = step.node
                    place = {"namespace": node.namespace} if node.namespace else {}
                    about = {
                        "kind": node.kind,
                        "apiVersion": node.api_version,
                        "metadata": {**place, "name": node.name, "uid": node.uid},
                    }
                    self._warn(
                        about,
                        EventContent(GARBAGE_COLLECTOR, "OwnerRefInvalidNamespace", step.message),
                        now,
                    )
            case _:
                self._strip(step, node)

    def _strip(
        self,
        step: garbage_collector.StripOwners
        | garbage_collector.UnblockOwnerDeletion
        | garbage_collector.RemoveFinalizer,
        node: Node,
    ) -> None:
        obj = self._find((node.bucket, node.namespace, node.name))
        if obj is None or obj["metadata"]["uid"] != node.uid:
            return
        metadata = obj["metadata"]
        match step:
            case garbage_collector.StripOwners():
                owners = metadata.get("ownerReferences") or ()
                _set(metadata, "ownerReferences", [o for o in owners if o["uid"] not in step.uids])
            case garbage_collector.UnblockOwnerDeletion():
                owners = metadata.get("ownerReferences") or ()
                metadata["ownerReferences"] = [{**o, "blockOwnerDeletion": False} for o in owners]
            case garbage_collector.RemoveFinalizer():
                held = metadata.get("finalizers") or ()
                _set(metadata, "finalizers", [each for each in held if each != step.finalizer])
        self._actor.replace(CONTROLLER_MANAGER, node.bucket, obj)

    # Workloads and namespaces

    def _look_after(self, key: Key, now: datetime) -> None:
        obj = self._find(key)
        plan = self._planned(key, obj, PlanContext(now, self._settings))
        manager = (
            CONTROLLER_MANAGER if key[0] == "namespaces" else self._controllers[key[0]].manager
        )
        again = plan.next
        for step in plan.steps:
            if (refusal := self._carry_out(manager, step)) is not None:
                again = plan_steps.soonest(again, self._agenda.refused(key))
                if obj is not None and isinstance(step, plan_steps.Create):
                    # Record a rejected write: in Events, and in the status of the owner.
                    causes = refusal.details.get("causes") or ()
                    if not any(each.get("reason") == "NamespaceTerminating" for each in causes):
                        for notice in refusal_events(key[0], obj, step, refusal.message):
                            self._warn(obj, notice, now)
                        moment = PlanContext(now, self._settings, refusal.message)
                        for each in self._planned(key, self._find(key), moment).steps:
                            if isinstance(each, plan_steps.SetStatus) and each.bucket == key[0]:
                                self._carry_out(self._controllers[key[0]].manager, each)
                break
        else:
            self._agenda.succeeded(key)
        if again is not None:
            self._agenda.add_after(key, now, again)

    def _planned(self, key: Key, obj: KubeObject | None, moment: PlanContext) -> Plan:
        if obj is None:
            return Plan()
        if key[0] == "namespaces":
            name = obj["metadata"]["name"]
            if plan_steps.is_deleting(obj):
                content = {each: self._list(each, name) for each in self._duties.namespaced()}
                return namespace_steps.plan(obj, content, moment)
            if not self._duties.authority:
                return Plan()
            initial = {
                each[0]: self._found([(each[0], name, each[1])])
                for each in namespace_steps.INITIAL_OBJECTS
            }
            missing = namespace_steps.missing_initial_objects(obj, initial, self._duties.authority)
            return Plan(missing)
        controller = self._controllers[key[0]]
        if not controller.minds(obj):
            return Plan()
        adoptable = self._adoptions.seen(key)
        orphans = {bucket: self._found(keys) for bucket, keys in adoptable.items()}
        owned: dict[str, list[KubeObject]] = {each: [] for each in controller.owns}
        for node in self._graph.dependents(obj["metadata"]["uid"]):
            dependent = self._find((node.bucket, node.namespace, node.name))
            if dependent is not None and node.bucket in owned:
                owned[node.bucket].append(dependent)
        mine = {bucket: plan_steps.owned_by(obj, objects) for bucket, objects in owned.items()}
        metadata = obj["metadata"]
        namespace = metadata.get("namespace", "")
        related = self._related.seen((controller.bucket, namespace, metadata["name"]))
        more = controller.looks(obj, self._duties.namespaced()) if controller.looks else ()
        seen, first = adoption.adopt_or_release(
            controller,
            obj,
            {
                **mine,
                **{each: self._found(keys) for each, keys in related.items()},
                **{each: self._list(each, namespace) for each in more},
            },
            orphans,
        )
        plan = controller.plan(obj, seen, moment)
        return replace(plan, steps=(*first, *plan.steps)) if first else plan

    def _warn(self, about: KubeObject, notice: EventContent, now: datetime) -> None:
        event: KubeObject = orjson.loads(orjson.dumps(self._notices.event(about, notice, now)))
        metadata = event["metadata"]
        known = self._find(("events", metadata["namespace"], metadata["name"]))
        try:
            if known is None:
                self._actor.create(CONTROLLER_MANAGER, "events", event)
            else:
                event["metadata"] = known["metadata"]
                self._actor.replace(CONTROLLER_MANAGER, "events", event)
        except StatusError as error:
            _log_refusal(error, "events", metadata["name"])

    def _carry_out(self, manager: str, step: plan_steps.Step) -> StatusError | None:
        """Do a step; return why those that follow it cannot be done now."""
        try:
            # Plans share parts of objects; the verbs change what they are given.
            obj: KubeObject = orjson.loads(orjson.dumps(step.obj))
            metadata = obj["metadata"]
            match step:
                case plan_steps.Create():
                    self._actor.create(manager, step.bucket, obj)
                case plan_steps.Update():
                    self._actor.replace(manager, step.bucket, obj)
                case plan_steps.Apply():
                    self._actor.apply(manager, step.bucket, obj)
                case plan_steps.SetStatus():
                    self._actor.set_status(manager, step.bucket, obj)
                case plan_steps.Bind():
                    self._actor.bind(obj, step.node)
                case plan_steps.Finalize():
                    self._actor.finalize(obj, step.finalizers)
                case plan_steps.Remove():
                    namespace, name = metadata.get("namespace", ""), metadata["name"]
                    target = Target(namespace, name, metadata["uid"], step.propagation, step.grace)
                    self._actor.delete(step.bucket, target)
        except StatusError as error:
            if error.code in _PASSED:
                return None
            _log_refusal(error, getattr(step, "bucket", ""), step.obj["metadata"].get("name", ""))
            return error
        return None

    # Reading

    def _find(self, key: Key) -> KubeObject | None:
        record = self._store.get(*key)
        found: KubeObject | None = orjson.loads(record.value) if record else None
        return found

    def _found(self, keys: Iterable[Key]) -> list[KubeObject]:
        return [found for each in keys if (found := self._find(each)) is not None]

    def _list(self, bucket: str, namespace: str) -> list[KubeObject]:
        return [orjson.loads(each.value) for each in self._store.list(bucket, namespace)]


def _set(metadata: dict[str, Any], name: str, values: list[Any]) -> None:
    if values:
        metadata[name] = values
    else:
        metadata.pop(name, None)


def _log_refusal(error: StatusError, bucket: str, name: str) -> None:
    """Log a rejected write, unless it is one that the next event settles."""
    if error.code not in _PASSED:
        log.warning(
            "background step rejected",
            extra={"bucket": bucket, "object": name, "refusal": error.message},
        )
