"""
Compiles definitions with the schemas that the cluster serves now, and caches the graphs.

The schema of a custom kind is read from its CRD, not from the published documents, which lag
behind: so a definition can use a kind as soon as it exists. Graphs are compiled in a thread beside
the event loop, and cached as long as neither the spec nor any schema it uses changes.
"""

import asyncio
import time
from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kro_gitops.engine.api import DEFINITION_KIND, own_kinds
from kro_gitops.engine.controllers.observer import Observer
from kro_gitops.engine.definition import parse
from kro_gitops.engine.graph.build import Built, try_build
from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.engine.kinds import CRD_KIND
from kro_gitops.engine.options import Options
from kro_gitops.errors import DefinitionError, NotServed
from kro_gitops.kube.api import Reader
from kro_gitops.kube.discovery import Discovery
from kro_gitops.kube.informer import Informer
from kube_objects.crds import kinds_of_crd
from kube_objects.refs import Kind, KubeObject, ObjectRef
from kube_objects.schemas import KindSchema, SchemaSet

_T = TypeVar("_T")
Fingerprint = tuple[tuple[Kind, str], ...]


@dataclass(slots=True)
class _CachedCrd:
    """The kinds of a CRD, as of one version of it."""

    version: str
    kinds: Mapping[Kind, KindSchema]


@dataclass(slots=True)
class Compiled:
    """A compiled graph, or the problems found, with the schemas it depends on."""

    hash: str
    fingerprint: Fingerprint
    graph: Graph | None
    problems: tuple[Any, ...] = ()
    groups: frozenset[str] = field(default_factory=frozenset)

    @property
    def message(self) -> str:
        """Return the first problem, in kro's words."""
        return str(DefinitionError(self.problems)) if self.problems else ""


class Compiler:
    """Compiles definitions and caches the result."""

    def __init__(
        self,
        reader: Reader,
        discovery: Discovery,
        crds: Informer,
        options: Options,
        observer: Observer,
    ) -> None:
        self._reader = reader
        self._discovery = discovery
        self._crds = crds
        self._options = options
        self._observer = observer
        self._known: dict[str, _CachedCrd] = {}
        self._compiled: dict[tuple[str, str], Compiled] = {}
        self._turn = asyncio.Semaphore(1)

    async def compile(self, definition: KubeObject, hash_: str) -> Compiled:
        """Compile a definition, unless that was done with the same schemas."""
        name = definition["metadata"]["name"]
        schemas = SchemaSet()
        versions: list[tuple[Kind, str]] = []
        own = own_kinds()
        for kind in sorted(kinds_used(definition)):
            if kind == DEFINITION_KIND:
                known, version = own.schema_of(kind), "own"
            else:
                known, version = await self._schema(kind)
            if known is not None:
                schemas.add(known)
            versions.append((kind, version))
        fingerprint = tuple(versions)
        former = self._compiled.get((name, hash_))
        if former is not None and former.fingerprint == fingerprint:
            return former
        async with self._turn:  # one at a time: the interpreter has one lock anyway
            began = time.perf_counter()
            built: Built = await asyncio.to_thread(try_build, definition, schemas, self._options)
        self._observer.graph_built(
            name, time.perf_counter() - began, succeeded=built.graph is not None
        )
        groups = frozenset(kind.group for kind, _ in fingerprint)
        compiled = Compiled(hash_, fingerprint, built.graph, built.problems, groups)
        self._compiled[name, hash_] = compiled
        return compiled

    def keep_only(self, name: str, hashes: Iterable[str]) -> None:
        """Forget graphs of a definition that nothing needs any more."""
        kept, before = set(hashes), len(self._compiled)
        self._compiled = {
            key: each for key, each in self._compiled.items() if key[0] != name or key[1] in kept
        }
        self._observer.graphs_evicted(before - len(self._compiled))

    def users_of(self, group: str) -> list[str]:
        """Return the definitions that use kinds of a group, in any revision that is cached."""
        return sorted({name for (name, _), each in self._compiled.items() if group in each.groups})

    async def _schema(self, kind: Kind) -> tuple[KindSchema | None, str]:
        try:
            resource = await self._discovery.resource_of(kind)
        except NotServed:
            return None, ""
        crd_name = f"{resource.plural}.{kind.group}"
        about = self._crds.cache.find("", crd_name)
        if about is None:
            self._evict(crd_name)
            try:
                published = await self._timed(self._discovery.schema_of(kind))
            except NotServed:
                return None, ""
            # Documents that did not change are not parsed again, so their schemas stay the same.
            return published, str(id(published.schema))
        name = about["metadata"]["name"]
        version = f"{about['metadata']['uid']}/{about['metadata'].get('generation')}"
        known = self._known.get(name)
        was_known = known is not None and known.version == version
        self._observer.schema_asked(was_known=was_known)
        if known is None or not was_known:
            crd = await self._timed(self._reader.find(ObjectRef(CRD_KIND, "", name)))
            if crd is None:
                self._evict(name)
                return None, ""
            version = f"{crd['metadata']['uid']}/{crd['metadata'].get('generation')}"
            known = _CachedCrd(version, {each.kind: each for each in kinds_of_crd(crd)})
            self._known[name] = known
            self._observer.schemas_cached(len(self._known))
        return known.kinds.get(kind), known.version

    async def _timed(self, request: Awaitable[_T]) -> _T:
        """Await a request for a schema, and report how it went."""
        began = time.perf_counter()
        succeeded = False
        try:
            answer = await request
            succeeded = True
            return answer
        finally:
            self._observer.schema_fetched(time.perf_counter() - began, succeeded=succeeded)

    def _evict(self, crd_name: str) -> None:
        if self._known.pop(crd_name, None) is not None:
            self._observer.schema_evicted()
            self._observer.schemas_cached(len(self._known))


def kinds_used(definition: KubeObject) -> set[Kind]:
    """Return the kinds that a definition's resources have, as far as they are written out."""
    found = set()
    for resource in parse(definition).definition.resources:
        ref = ObjectRef.of(resource.body)
        if ref.kind.kind and ref.kind.version:
            found.add(ref.kind)
    return found
