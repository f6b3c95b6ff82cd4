"""
A definition: compiled, kept as a revision, its CRD served, its instances worked on.

In one go, as far as it comes. What cannot be had now (the kind of another definition, say) is
waited for by watching: whenever a CRD comes, goes or changes, the definitions that use its group
look again. A new spec that is wrong, or that would break what is stored, leaves the last good
revision at work.
"""

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kro_gitops.control.outcome import DONE, Result
from kro_gitops.control.workqueue import WorkItem
from kro_gitops.engine import definition_status as reported
from kro_gitops.engine.api import DEFINITION_KIND
from kro_gitops.engine.conditions import ReadyCondition, parse_ready_conditions
from kro_gitops.engine.controllers.compile_cache import Compiled, Compiler
from kro_gitops.engine.controllers.crd_publisher import CrdPublisher, CrdWrite
from kro_gitops.engine.controllers.observer import Observer
from kro_gitops.engine.controllers.revisions import Revision, RevisionReconciler
from kro_gitops.engine.controllers.watches import Watches
from kro_gitops.engine.crd.build import CrdInputs
from kro_gitops.engine.crd.update import served_kind_name
from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.engine.instance_metadata import has_finalizer, is_deleting
from kro_gitops.engine.revision import spec_hash
from kro_gitops.engine.served_kind import ServedKind
from kro_gitops.errors import KroGitopsError, Unavailable
from kro_gitops.kube.api import Cluster, JsonPatch, MergePatch, WriteOptions
from kro_gitops.kube.event_aggregation import EventType
from kro_gitops.kube.events import EventRecorder
from kro_gitops.kube.informer import Informer
from kro_gitops.kube.responses import NotFound
from kro_gitops.metadata import FINALIZER, KRO_GROUP, READY_CONDITIONS, REVISION
from kube_objects.conditions import Condition, ConditionSet
from kube_objects.refs import Kind, KubeObject, ObjectRef
from kube_objects.times import parse_time

log = logging.getLogger(__name__)

_STATUS = WriteOptions(subresource="status")
_MAX_RETRY_DELAY = (
    30.0  # seconds until a definition that does not compile looks again, all else failing
)


@dataclass(frozen=True, slots=True)
class DefinitionSettings:
    """What a platform chose."""

    deletes_crds: bool = False
    keeps_revisions: int = 5
    progress_delay: float = 3.0
    sync_limit: float = 30.0


@dataclass(frozen=True, slots=True)
class Tools:
    """What it takes to work on definitions."""

    cluster: Cluster
    informer: Informer
    compiler: Compiler
    revisions: RevisionReconciler
    publisher: CrdPublisher
    watches: Watches
    observer: Observer
    events: EventRecorder | None


@dataclass(frozen=True, slots=True)
class Wakes:
    """How to have others worked on."""

    instance: Callable[[ObjectRef], None]
    definition: Callable[[str], None]


@dataclass(slots=True)
class _Session:
    """One reconcile of one definition."""

    definition: KubeObject
    conditions: ConditionSet
    now: datetime
    graph: Graph | None = None
    last_issued: int = 0
    trouble: KroGitopsError | None = None

    @property
    def name(self) -> str:
        name: str = self.definition["metadata"]["name"]
        return name

    def set(self, condition: Condition) -> None:
        self.conditions.set(condition, self.now)


class DefinitionReconciler:
    """Keeps definitions served."""

    def __init__(
        self,
        tools: Tools,
        rules: DefinitionSettings,
        servings: dict[Kind, ServedKind],
        wake: Wakes,
    ) -> None:
        self._tools = tools
        self._rules = rules
        self._servings = servings
        self._wake = wake
        self._attempts: dict[str, int] = {}
        self._groups: dict[str, frozenset[str]] = {}  # by definition: the groups it uses

    def users_of(self, group: str) -> list[str]:
        """Return the definitions that use kinds of a group."""
        return [name for name, groups in self._groups.items() if group in groups]

    async def reconcile(self, work: WorkItem[str]) -> Result:
        """Bring a definition as far as it can come now."""
        definition = self._tools.informer.cache.find("", work.key)
        if definition is None:
            self._groups.pop(work.key, None)
            return DONE
        now = datetime.now(UTC)
        conditions = ConditionSet.of(reported.TYPES, definition, now)
        session = _Session(definition, conditions, now)
        if is_deleting(definition):
            return await self._delete(session)
        await self._ensure_finalizer(session)
        await self._bring_on(session)
        await self._report(session)
        return self._outcome(session)

    def _outcome(self, session: _Session) -> Result:
        trouble = session.trouble
        if trouble is None:
            self._attempts.pop(session.name, None)
            return DONE
        log.warning(
            "definition has a problem",
            extra={"definition": session.name, "problem": trouble.message},
        )
        if isinstance(trouble, Unavailable):
            raise trouble
        # Watches bring us back when something changes; now and then we look all the same.
        attempts = self._attempts[session.name] = self._attempts.get(session.name, 0) + 1
        return Result(
            min(self._rules.progress_delay * 2 ** min(attempts - 1, 10), _MAX_RETRY_DELAY)
        )

    async def _bring_on(self, session: _Session) -> None:
        revisions = self._tools.revisions
        live = revisions.live(session.name)
        await revisions.adopt(session.definition, live)
        live = revisions.live(session.name)
        hash_ = spec_hash(session.definition["spec"])
        if live and live[0].hash == hash_:
            session.last_issued = live[0].number
            await self._serve_latest(session, live)
        else:
            await self._issue_revision(session, live, hash_)
        await self._collect(session)

    # Revisions

    async def _issue_revision(self, session: _Session, live: list[Revision], hash_: str) -> None:
        """Keep a new spec, if it compiles; else stay with what there was."""
        compiled = await self._compile(session.definition, hash_)
        if live:
            session.last_issued = live[0].number
            session.set(reported.resolved(live[0].number))
        if compiled.graph is None:
            session.set(reported.not_accepted(compiled.message))
            session.trouble = _problem(compiled)
            await self._serve_older_revision(session, live)
            return
        try:
            revision = await self._tools.revisions.issue(session.definition)
        except KroGitopsError as error:
            session.set(reported.not_accepted(f"creating graph revision: {error.message}"))
            session.trouble = error
            return
        self._tools.observer.revision_issued("spec_changed" if live else "no_revision")
        session.last_issued = revision.number
        await self._accept(session, [revision, *live], compiled)

    async def _serve_latest(self, session: _Session, live: list[Revision]) -> None:
        latest = live[0]
        compiled = await self._compile(latest.definition(session.definition), latest.hash)
        if compiled.graph is None:
            session.set(reported.revision_failed(latest.number))
            session.set(reported.not_accepted(compiled.message))
            session.trouble = _problem(compiled)
            await self._tools.revisions.report(latest, compiled)
            await self._serve_older_revision(session, live[1:])
            return
        await self._accept(session, live, compiled)

    async def _accept(self, session: _Session, live: list[Revision], compiled: Compiled) -> None:
        latest = live[0]
        await self._tools.revisions.report(latest, compiled)
        session.set(reported.resolved(latest.number))
        session.set(reported.IS_ACCEPTED)
        session.graph = compiled.graph
        assert compiled.graph is not None, "accepted definitions are compiled"
        try:
            crd = await self._tools.publisher.publish(compiled.graph.crd, session.definition)
        except KroGitopsError as error:
            session.set(reported.kind_failed(error.message))
            session.trouble = error
            await self._serve_older_revision(session, live[1:])
            return
        session.set(reported.kind_ready(served_kind_name(crd)))
        await self._serve(session, latest, compiled.graph)

    async def _serve_older_revision(self, session: _Session, live: Iterable[Revision]) -> None:
        """Go on with the newest revision that still works, if none does already."""
        if self._is_serving(session.definition):
            return
        for revision in live:
            definition = revision.definition(session.definition)
            compiled = await self._compile(definition, revision.hash)
            if compiled.graph is not None:
                # The kind may be another definition's, and its instances with it.
                crd = compiled.graph.crd["metadata"]["name"]
                if self._tools.publisher.owns(crd, session.name):
                    await self._serve(session, revision, compiled.graph)
                return
        await self._serve_nothing(session)

    # Serving

    async def _serve(self, session: _Session, revision: Revision, graph: Graph) -> None:
        serving = ServedKind(
            kind=graph.served.kind,
            plural=graph.served.plural,
            definition=session.name,
            definition_uid=session.definition["metadata"]["uid"],
            revision=revision.number,
            graph=graph,
            ready_conditions=ready_conditions(session.definition),
            source_revision=_source_revision(session.definition),
        )
        former = self._servings.get(serving.kind)
        try:
            await self._tools.watches.serve(serving, self._rules.sync_limit)
        except KroGitopsError as error:
            session.set(reported.not_running(f"add parent handler {serving.kind}: {error.message}"))
            session.trouble = error
            if former is not None and former.graph is not None:
                return  # which stays at work
        else:
            session.set(reported.IS_RUNNING)
            self._renew(serving, is_first=former is None)
        # Also if something cannot be watched: instances then say what it is.
        self._servings[serving.kind] = serving
        if not serving.is_same_work(former):
            self._wake_all(serving.kind)
            for name in self.users_of(serving.kind.group):
                if name != session.name:
                    self._wake.definition(name)

    def _renew(self, serving: ServedKind, *, is_first: bool) -> None:
        """See instances anew if the API server may have shown them by a former schema."""
        writing = self._tools.publisher.take_last_write(serving.crd_name)
        if writing is CrdWrite.CHANGED:
            self._tools.watches.renew(serving.crd_name)
        elif is_first and writing is CrdWrite.NOTHING:
            # Whoever ran before us may have changed it just before we came.
            self._tools.watches.relist_later(serving.crd_name)

    async def _serve_nothing(self, session: _Session) -> None:
        """Tell instances of a kind that there is no graph for them; they can still be deleted."""
        named = _crd_inputs(session.definition)
        kind = Kind(named.group, named.api_version, named.kind)
        if session.trouble is None or not self._tools.publisher.owns(named.name, session.name):
            return
        uid = session.definition["metadata"]["uid"]
        problem = session.trouble.message
        lost = ServedKind(kind, named.plural, session.name, uid, problem=problem)
        former = self._servings.get(kind)
        self._servings[kind] = lost
        if former is None:
            with suppress(KroGitopsError):
                await self._tools.watches.serve(lost, self._rules.sync_limit)
        if not lost.is_same_work(former):
            self._wake_all(kind)

    def _wake_all(self, kind: Kind) -> None:
        watches = self._tools.watches
        lost = (ref for ref in watches.lost if ref.kind == kind)
        for ref in (*watches.instances(kind), *lost):
            self._wake.instance(ref)

    def _serving_of(self, definition: KubeObject) -> ServedKind | None:
        name = definition["metadata"]["name"]
        return next((each for each in self._servings.values() if each.definition == name), None)

    def _is_serving(self, definition: KubeObject) -> bool:
        serving = self._serving_of(definition)
        return serving is not None and serving.graph is not None

    # Deleting

    async def _delete(self, session: _Session) -> Result:
        """Let a definition go; instances stay, and can still be deleted."""
        if not has_finalizer(session.definition):
            return DONE
        serving = self._serving_of(session.definition)
        if serving is not None and self._rules.deletes_crds:
            await self._tools.publisher.delete_crd(serving.crd_name, session.name)
            left = len(self._tools.watches.instances(serving.kind))
            if left:
                # The API server deletes them now, and they need us for that.
                session.set(reported.deleting(f"waiting for {left} instances to be deleted"))
                await self._report(session)
                return Result(1.0)
            self._servings.pop(serving.kind, None)
            self._tools.watches.stop_serving(serving.kind)
        elif serving is not None:
            await self.serve_deletions(serving.kind, serving.plural, session.name)
        await self._release(session)
        return DONE

    async def serve_deletions(self, kind: Kind, plural: str, definition: str) -> None:
        """Let instances go of a kind that has no definition any more."""
        serving = ServedKind(kind, plural, definition, "")
        self._servings[kind] = serving
        await self._tools.watches.serve(serving, self._rules.sync_limit)
        # Some may wait for children whose going nobody watches any more.
        self._wake_all(kind)

    async def _release(self, session: _Session) -> None:
        rest = [e for e in session.definition["metadata"]["finalizers"] if e != FINALIZER]
        with suppress(NotFound):
            await self._set_finalizers(session.definition, rest)
        self._groups.pop(session.name, None)
        self._tools.compiler.keep_only(session.name, ())
        began = parse_time(session.definition["metadata"].get("deletionTimestamp"))
        seconds = (session.now - began).total_seconds() if began is not None else 0.0
        self._tools.observer.definition_deleted(session.name, max(seconds, 0.0))

    # The rest

    async def _compile(self, definition: KubeObject, hash_: str) -> Compiled:
        compiled = await self._tools.compiler.compile(definition, hash_)
        self._groups[definition["metadata"]["name"]] = compiled.groups
        return compiled

    async def _collect(self, session: _Session) -> None:
        if session.trouble is not None:
            return
        revisions = self._tools.revisions
        try:
            gone = await revisions.collect(session.name, self._rules.keeps_revisions)
        except KroGitopsError as error:
            log.warning("old revisions not deleted", extra={"error": error.message})
            return
        self._tools.observer.revisions_collected(gone)
        live = revisions.live(session.name)
        self._tools.compiler.keep_only(session.name, (each.hash for each in live[:2]))

    async def _ensure_finalizer(self, session: _Session) -> None:
        if has_finalizer(session.definition):
            return
        finalizers = [*(session.definition["metadata"].get("finalizers") or ()), FINALIZER]
        answer = await self._set_finalizers(session.definition, finalizers)
        session.definition = self._put(answer)

    async def _set_finalizers(self, definition: KubeObject, finalizers: list[str]) -> KubeObject:
        # With the version: a finalizer that somebody adds meanwhile must not be lost.
        version = definition["metadata"]["resourceVersion"]
        changes = {"metadata": {"resourceVersion": version, "finalizers": finalizers}}
        ref = ObjectRef(DEFINITION_KIND, "", definition["metadata"]["name"])
        return await self._tools.cluster.patch(ref, MergePatch(changes))

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
            answer = await self._tools.cluster.patch(ref, patch, _STATUS)
        except NotFound:
            return
        self._put(answer)
        before, after = former.get("state", ""), status["state"]
        if before != after:
            self._tools.observer.definition_changed(session.name, before, after)
            self._tell(session, answer)

    def _tell(self, session: _Session, definition: KubeObject) -> None:
        if self._tools.events is None:
            return
        root = session.conditions.root
        is_active = definition["status"]["state"] == reported.ACTIVE
        type_: EventType = "Normal" if is_active else "Warning"
        text = f"revision {session.last_issued} is served" if is_active else root.message or ""
        self._tools.events.record(definition, type_, definition["status"]["state"], text)

    def _put(self, answer: KubeObject) -> KubeObject:
        answer["metadata"].pop("managedFields", None)
        self._tools.informer.saw(answer)
        return answer


def ready_conditions(definition: KubeObject) -> tuple[ReadyCondition, ...]:
    """Return the conditions that count for Ready, if the definition names any."""
    annotations = definition["metadata"].get("annotations") or {}
    return parse_ready_conditions(annotations.get(READY_CONDITIONS, ""))


def _source_revision(definition: KubeObject) -> str:
    revision: str = (definition["metadata"].get("annotations") or {}).get(REVISION, "")
    return revision


def _crd_inputs(definition: KubeObject) -> CrdInputs:
    schema = definition["spec"]["schema"]
    return CrdInputs(schema["kind"], schema["apiVersion"], schema.get("group") or KRO_GROUP)


def _problem(compiled: Compiled) -> KroGitopsError:
    first = compiled.problems[0]
    return KroGitopsError(first.code, compiled.message, hint=first.hint)
