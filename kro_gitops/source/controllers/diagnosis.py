"""
Describes what a cluster rejected in the words, and with the places, of `validate`.

This is done once for what is wrong with a revision, in a thread: it compiles the definitions of the
revision, which takes time.
"""

import asyncio
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from kro_gitops.engine.definition import is_definition, parse
from kro_gitops.errors import KroGitopsError
from kro_gitops.source.controllers.context import ControllerContext
from kro_gitops.source.controllers.state import Fetched, SourceState
from kro_gitops.source.files.revision import Item
from kro_gitops.source.plan.desired import Desired
from kro_gitops.source.plan.result import Fault, SyncResult
from kube_objects.builtins.catalog import catalog
from kube_objects.problems import Finding
from kube_objects.refs import Kind, KubeObject, ObjectRef
from kube_objects.schemas import SchemaSet

log = logging.getLogger(__name__)

_MAX_SUSPECTS = 50


@dataclass(frozen=True, slots=True)
class _Known:
    """The last diagnosis of a source: of which commit, of which objects."""

    commit: str
    suspects: frozenset[ObjectRef]
    findings: Mapping[str, tuple[Finding, ...]]  # by subject


class Diagnoser:
    """Diagnoses what is wrong with the revisions of sources."""

    def __init__(self, controller: ControllerContext) -> None:
        self._controller = controller
        self._known: dict[str, _Known] = {}  # by source

    async def described(
        self, state: SourceState, fetched: Fetched, result: SyncResult, degraded: Iterable[Desired]
    ) -> SyncResult:
        """Return a result whose rejections are described as `validate` would."""
        rejected = {each.subject for each in result.failures if each.is_rejection}
        failed = [each for each in degraded if self._controller.engine.is_instance(each.ref.kind)]
        if self._controller.diagnose is None or not (rejected or failed):
            self._known.pop(state.name, None)
            return replace(result, rejections=()) if result.rejections else result
        items = {each.item: each.ref for each in failed[:_MAX_SUSPECTS]}
        for item in fetched.snapshot.items:
            placed = replace(item.ref, namespace=item.ref.namespace or state.key.namespace)
            if rejected & {str(item.ref), str(placed)} and len(items) < _MAX_SUSPECTS:
                items.setdefault(item, placed if str(placed) in rejected else item.ref)
        found = await self._findings(state, fetched, items)
        failures: list[Fault] = []
        described: set[str] = set()
        for fault in result.failures:
            findings = found.get(fault.subject, ()) if fault.is_rejection else ()
            if not findings:
                failures.append(fault)
            elif fault.subject not in described:
                described.add(fault.subject)
                failures += _faults(findings, fault.subject)
        rejections = [
            fault for each in failed for fault in _faults(found.get(str(each.ref), ()), each.ref)
        ]
        return replace(result, failures=tuple(failures), rejections=tuple(rejections))

    async def _findings(
        self, state: SourceState, fetched: Fetched, items: Mapping[Item, ObjectRef]
    ) -> Mapping[str, tuple[Finding, ...]]:
        diagnose, commit = self._controller.diagnose, fetched.snapshot.commit
        suspects = frozenset(items.values())
        known = self._known.get(state.name)
        if known is not None and (known.commit, known.suspects) == (commit, suspects):
            return known.findings
        assert diagnose is not None, "the caller has looked"
        schemas = await self._schemas(item.object for item in items)
        refs = {item.ref for item in items}
        try:
            findings = await asyncio.to_thread(
                lambda: diagnose(
                    [item.manifest for item in fetched.snapshot.items],
                    refs,
                    schemas,
                    state.key.namespace,
                )
            )
        except Exception:
            # What the cluster said is reported then: a better text must never be in its way.
            log.exception("failures not described", extra={"source": state.name})
            findings = ()
        by_subject: dict[str, tuple[Finding, ...]] = {}
        for item, ref in items.items():
            own = [each for each in findings if each.subject in (str(item.ref), str(ref))]
            by_subject[str(ref)] = tuple(own)
        self._known[state.name] = _Known(commit, suspects, by_subject)
        return by_subject

    async def _schemas(self, objects: Iterable[KubeObject]) -> SchemaSet:
        """Return the kinds that the objects use and the cluster serves, built-in ones left out."""
        found = SchemaSet()
        for kind in sorted(set(_kinds(objects))):
            if catalog.find(kind) is not None:
                continue
            # A definition of another source may generate it.
            served = self._controller.engine.schema_of(kind)
            try:
                found.add(served or await self._controller.discovery.schema_of(kind))
            except KroGitopsError:
                continue  # nothing serves it: that may be what is wrong
        return found


def _kinds(objects: Iterable[KubeObject]) -> Iterator[Kind]:
    for obj in objects:
        yield ObjectRef.of(obj).kind
        if is_definition(obj):
            for resource in parse(obj).definition.resources:
                kind = ObjectRef.of(resource.body).kind
                if kind.kind and kind.version:
                    yield kind


def _faults(findings: Collection[Finding], subject: object) -> list[Fault]:
    # Not lasting: the cluster may change, too.
    faults = map(Fault.of_finding, findings)
    return [
        replace(each, subject=str(subject), is_lasting=False, is_rejection=True) for each in faults
    ]
