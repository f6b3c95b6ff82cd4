"""
Reconciles a definition: compile it, create its revision, publish its CRD, serve its kind.

One reconcile goes as far as possible. A definition that needs the kind of another one is queued
again by a watch: whenever a CRD is created, changed or deleted, the definitions that use its group
are queued. A new spec that is invalid, or that would break stored objects, leaves the last good
revision at work.
"""

import logging
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kro_gitops.control.outcome import DONE, Result
from kro_gitops.control.workqueue import WorkItem
from kro_gitops.engine import definition_status as reported
from kro_gitops.engine.api import DEFINITION_KIND
from kro_gitops.engine.child_health import parse_readiness
from kro_gitops.engine.conditions import published_ready
from kro_gitops.engine.controllers.compile_cache import Compiled, Compiler
from kro_gitops.engine.controllers.context import EngineContext
from kro_gitops.engine.controllers.crd_publisher import CrdPublisher
from kro_gitops.engine.controllers.prune_gate import PruneGate
from kro_gitops.engine.controllers.revisions import Revision, RevisionReconciler
from kro_gitops.engine.controllers.serving import KindServer
from kro_gitops.engine.crd.build import CrdInputs
from kro_gitops.engine.crd.update import served_kind_name
from kro_gitops.engine.deletion_policy import definition_policy
from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.engine.instance_metadata import has_finalizer, is_deleting
from kro_gitops.engine.plan.drift import DEFAULT_DRIFT_RULES, DriftRules, with_annotations
from kro_gitops.engine.plan.prune_limit import PRUNE_BLOCKED
from kro_gitops.engine.revision import spec_hash
from kro_gitops.engine.served_kind import ServedKind
from kro_gitops.errors import KroGitopsError, Unavailable
from kro_gitops.kube.api import JsonPatch, MergePatch, WriteOptions
from kro_gitops.kube.event_aggregation import EventType
from kro_gitops.kube.informer import Informer
from kro_gitops.kube.responses import NotFound
from kro_gitops.metadata import (
    FINALIZER,
    KRO_GROUP,
    PRUNE_APPROVED,
    REVISION,
    SOURCE,
)
from kro_gitops.settings.option import AuthorReady
from kube_objects.conditions import Condition, ConditionSet
from kube_objects.errors import RefusedError
from kube_objects.refs import Kind, KubeObject, ObjectRef
from kube_objects.times import parse_time

log = logging.getLogger(__name__)

_STATUS = WriteOptions(subresource="status")
_MAX_RETRY_DELAY = 30.0  # seconds; watches usually wake a definition sooner


@dataclass(frozen=True, slots=True)
class DefinitionSettings:
    """Settings of the platform."""

    deletes_crds: bool = False
    keeps_revisions: int = 5
    progress_delay: float = 3.0
    sync_limit: float = 30.0
    drift: DriftRules = DEFAULT_DRIFT_RULES
    author_ready: AuthorReady = AuthorReady.SOURCE


@dataclass(slots=True)
class _Session:
    """One reconcile of one definition."""

    definition: KubeObject
    conditions: ConditionSet
    now: datetime
    graph: Graph | None = None
    last_issued: int = 0
    problem: KroGitopsError | None = None

    @property
    def name(self) -> str:
        name: str = self.definition["metadata"]["name"]
        return name

    def set(self, condition: Condition) -> None:
        self.conditions.set(condition, self.now)


class DefinitionReconciler:
    """Compiles definitions, publishes their CRDs and has their kinds served."""

    def __init__(
        self,
        engine: EngineContext,
        settings: DefinitionSettings,
        informer: Informer,
        compiler: Compiler,
        revisions: RevisionReconciler,
        publisher: CrdPublisher,
        kinds: KindServer,
        gate: PruneGate,
    ) -> None:
        self._cluster = engine.cluster
        self._observer = engine.observer
        self._events = engine.events
        self._settings = settings
        self._informer = informer
        self._compiler = compiler
        self._revisions = revisions
        self._publisher = publisher
        self._kinds = kinds
        self._gate = gate
        self._attempts: dict[str, int] = {}

    async def reconcile(self, work: WorkItem[str]) -> Result:
        """Reconcile a definition as far as possible now."""
        definition = self._informer.cache.find("", work.key)
        if definition is None:
            self._compiler.keep_only(work.key, ())
            return DONE
        now = datetime.now(UTC)
        conditions = ConditionSet.of(reported.TYPES, definition, now)
        session = _Session(definition, conditions, now)
        if is_deleting(definition):
            return await self._delete(session)
        if not has_finalizer(session.definition):
            finalizers = [*(session.definition["metadata"].get("finalizers") or ()), FINALIZER]
            answer = await self._set_finalizers(session.definition, finalizers)
            session.definition = self._put(answer)
        await self._advance(session)
        self._report_held(session)
        await self._report(session)
        problem = session.problem
        if problem is None:
            self._attempts.pop(session.name, None)
            return DONE
        log.warning(
            "definition has a problem",
            extra={"definition": session.name, "problem": problem.message},
        )
        if isinstance(problem, Unavailable):
            raise problem
        # Watches queue it when something changes; the delay is for what they do not show.
        attempts = self._attempts[session.name] = self._attempts.get(session.name, 0) + 1
        return Result(
            min(self._settings.progress_delay * 2 ** min(attempts - 1, 10), _MAX_RETRY_DELAY)
        )

    async def _advance(self, session: _Session) -> None:
        """Serve the latest spec if it compiles, with a revision of its own; else the former one."""
        revisions, definition = self._revisions, session.definition
        await revisions.adopt(definition, revisions.live(session.name))
        live = revisions.live(session.name)
        hash_ = spec_hash(definition["spec"])
        if live:
            session.last_issued = live[0].number
        if live and live[0].hash == hash_:
            latest = live[0]
            compiled = await self._compiler.compile(latest.definition(definition), hash_)
            if compiled.graph is None:
                session.set(reported.revision_failed(latest.number))
                session.set(reported.not_accepted(compiled.message))
                session.problem = _problem(compiled)
                await revisions.report(latest, compiled)
                await self._serve_older_revision(session, live[1:])
            else:
                await self._accept(session, live, compiled)
        else:
            compiled = await self._compiler.compile(definition, hash_)
            if live:
                session.set(reported.resolved(live[0].number))
            if compiled.graph is None:
                session.set(reported.not_accepted(compiled.message))
                session.problem = _problem(compiled)
                await self._serve_older_revision(session, live)
                return
            try:
                revision = await revisions.issue(definition)
            except KroGitopsError as error:
                session.set(reported.not_accepted(f"creating graph revision: {error.message}"))
                session.problem = error
                return
            self._observer.revision_issued("spec_changed" if live else "no_revision")
            session.last_issued = revision.number
            await self._accept(session, [revision, *live], compiled)
        if session.problem is not None:
            return
        try:
            deleted = await revisions.collect(session.name, self._settings.keeps_revisions)
        except KroGitopsError as error:
            log.warning("old revisions not deleted", extra={"error": error.message})
            self._observer.revision_gc_failed()
            return
        self._observer.revisions_collected(deleted)
        self._compiler.keep_only(
            session.name, (revision.hash for revision in revisions.live(session.name)[:2])
        )

    async def _accept(self, session: _Session, live: list[Revision], compiled: Compiled) -> None:
        latest = live[0]
        await self._revisions.report(latest, compiled)
        session.set(reported.resolved(latest.number))
        session.set(reported.IS_ACCEPTED)
        session.graph = compiled.graph
        assert compiled.graph is not None, "accepted definitions are compiled"
        try:
            crd = await self._publisher.publish(compiled.graph.crd, session.definition)
        except KroGitopsError as error:
            session.set(reported.kind_failed(error.message))
            session.problem = error
            await self._serve_older_revision(session, live[1:])
            return
        session.set(reported.kind_ready(served_kind_name(crd)))
        await self._serve(session, latest, compiled.graph)

    async def _serve_older_revision(self, session: _Session, live: Iterable[Revision]) -> None:
        """Serve the newest revision that still compiles, unless one is being served."""
        served = self._kinds.find(session.name)
        if served is not None and served.graph is not None:
            return
        for revision in live:
            definition = revision.definition(session.definition)
            compiled = await self._compiler.compile(definition, revision.hash)
            if compiled.graph is not None:
                # The kind, and its instances, may belong to another definition.
                crd = compiled.graph.crd["metadata"]["name"]
                if self._publisher.owns(crd, session.name):
                    await self._serve(session, revision, compiled.graph)
                return
        schema = session.definition["spec"]["schema"]
        named = CrdInputs(schema["kind"], schema["apiVersion"], schema.get("group") or KRO_GROUP)
        if session.problem is None or not self._publisher.owns(named.name, session.name):
            return
        await self._kinds.serve_problem(
            ServedKind(
                Kind(named.group, named.api_version, named.kind),
                named.plural,
                session.name,
                session.definition["metadata"]["uid"],
                problem=session.problem.message,
            )
        )

    async def _serve(self, session: _Session, revision: Revision, graph: Graph) -> None:
        metadata = session.definition["metadata"]
        annotations = metadata.get("annotations") or {}
        try:
            drift = with_annotations(self._settings.drift, session.definition)
            policy = definition_policy(session.definition)
            readiness = parse_readiness(annotations)
        except RefusedError as error:
            session.set(reported.not_running(f"{error.message}; {error.hint}"))
            session.problem = error
            return
        served = ServedKind(
            kind=graph.served.kind,
            plural=graph.served.plural,
            definition=session.name,
            definition_uid=metadata["uid"],
            revision=revision.number,
            graph=graph,
            ready_conditions=published_ready(annotations, self._settings.author_ready),
            readiness=readiness,
            drift=drift,
            source_revision=annotations.get(REVISION, ""),
            source=annotations.get(SOURCE, ""),
            prune_approved=annotations.get(PRUNE_APPROVED, ""),
            deletion_policy=policy,
        )
        try:
            await self._kinds.serve(served)
        except KroGitopsError as error:
            session.set(reported.not_running(f"add parent handler {served.kind}: {error.message}"))
            session.problem = error
        else:
            session.set(reported.IS_RUNNING)

    async def _delete(self, session: _Session) -> Result:
        """Release a definition; its instances stay, and can still be deleted."""
        if not has_finalizer(session.definition):
            return DONE
        served = self._kinds.find(session.name)
        if served is not None and self._settings.deletes_crds:
            await self._publisher.delete_crd(served.crd_name, session.name)
            left = self._kinds.count_instances(served.kind)
            if left:
                # The API server deletes them now, which takes the engine to delete their children.
                session.set(reported.deleting(f"waiting for {left} instances to be deleted"))
                await self._report(session)
                return Result(1.0)
            self._kinds.stop(served.kind)
        elif served is not None:
            await self._kinds.serve_deletions(served.kind, served.plural, session.name)
        rest = [e for e in session.definition["metadata"]["finalizers"] if e != FINALIZER]
        with suppress(NotFound):
            await self._set_finalizers(session.definition, rest)
        self._compiler.keep_only(session.name, ())
        began = parse_time(session.definition["metadata"].get("deletionTimestamp"))
        seconds = (session.now - began).total_seconds() if began is not None else 0.0
        self._observer.definition_deleted(session.name, max(seconds, 0.0))
        return DONE

    def _report_held(self, session: _Session) -> None:
        """Report children that a change of the definition would delete, and that are held."""
        served = self._kinds.find(session.name)
        held = self._gate.condition(served) if served is not None else None
        former = session.conditions.find(PRUNE_BLOCKED)
        if held is not None:
            session.set(held)
            if self._events is not None and (former is None or former.message != held.message):
                text = held.message or ""
                self._events.record(session.definition, "Warning", PRUNE_BLOCKED, text)
        elif served is None or self._gate.is_decided(served):
            session.conditions.drop(PRUNE_BLOCKED)

    async def _set_finalizers(self, definition: KubeObject, finalizers: list[str]) -> KubeObject:
        """Write the finalizers, and return the answer; raise Conflict if the object changed."""
        # With the version: a finalizer that another client adds meanwhile must not be lost.
        version = definition["metadata"]["resourceVersion"]
        changes = {"metadata": {"resourceVersion": version, "finalizers": finalizers}}
        ref = ObjectRef(DEFINITION_KIND, "", definition["metadata"]["name"])
        return await self._cluster.patch(ref, MergePatch(changes))

    async def _report(self, session: _Session) -> None:
        former: dict[str, Any] = session.definition.get("status") or {}
        status = reported.definition_status(
            session.conditions, session.graph, session.last_issued, former
        )
        if status == former:
            return
        ref = ObjectRef(DEFINITION_KIND, "", session.name)
        patch = JsonPatch([{"op": "add", "path": "/status", "value": status}])
        try:
            answer = await self._cluster.patch(ref, patch, _STATUS)
        except NotFound:
            return
        self._put(answer)
        before, after = former.get("state", ""), status["state"]
        if before != after:
            self._observer.definition_changed(session.name, before, after)
            if self._events is None:
                return
            root = session.conditions.root
            is_active = answer["status"]["state"] == reported.ACTIVE
            type_: EventType = "Normal" if is_active else "Warning"
            text = f"revision {session.last_issued} is served" if is_active else root.message or ""
            self._events.record(answer, type_, answer["status"]["state"], text)

    def _put(self, answer: KubeObject) -> KubeObject:
        answer["metadata"].pop("managedFields", None)
        self._informer.record_write(answer)
        return answer


def _problem(compiled: Compiled) -> KroGitopsError:
    first = compiled.problems[0]
    return KroGitopsError(first.code, compiled.message, hint=first.hint)
