"""
Answers requests for a plan: what another pin of a source, or none, would change.

The controller has the repository, the source's credentials and the engine, so a user who may patch
a GitSource needs nothing else to see a plan. The request is an annotation with the fields of the
spec to assume and an id; the answer is `status.plan` with that id. It is planned beside reconciles,
also for a suspended source, and changes nothing in the cluster.
"""

import asyncio
import logging
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from kro_gitops.errors import KroGitopsError
from kro_gitops.kube.api import JsonPatch, WriteOptions
from kro_gitops.source.api.parse import Defaults, read_spec
from kro_gitops.source.controllers.context import ControllerContext
from kro_gitops.source.controllers.fetch import Fetcher
from kro_gitops.source.controllers.reporter import status_of
from kro_gitops.source.controllers.state import SourceState
from kro_gitops.source.controllers.sync import SourceSync
from kro_gitops.source.files.revision import Library
from kro_gitops.source.plan.pins import valid_pin, with_valid_pins
from kro_gitops.source.plan.preview import EngineChanges, PlannedChange, Preview
from kro_gitops.source.plan.requested_plan import assumed_source, request_id, request_of
from kro_gitops.source.plan.status import shortened
from kube_objects.refs import KubeObject

log = logging.getLogger(__name__)

_TIMEOUT = 240.0  # seconds
_STATUS = WriteOptions(subresource="status")


@dataclass(frozen=True, slots=True)
class ChildPlan:
    """How children change with their instances and definitions, and what would be rejected."""

    changes: tuple[PlannedChange, ...] = ()
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class ChildPlanner(Protocol):
    """Plans the children of instances, with the planner of the engine."""

    async def plan(self, changes: EngineChanges) -> ChildPlan:
        """Return how children change."""


class PlanRequests:
    """The requests for plans, and the answers, of all sources."""

    def __init__(
        self,
        controller: ControllerContext,
        fetcher: Fetcher,
        sync: SourceSync,
        children: ChildPlanner | None,
        defaults: Defaults,
    ) -> None:
        self._controller = controller
        self._fetcher = fetcher
        self._sync = sync
        self._children = children
        self._defaults = defaults
        self._running: dict[str, tuple[str, asyncio.Task[None]]] = {}

    def update(self, state: SourceState) -> None:
        """Start to plan if that is requested; one plan of a source is made at a time."""
        request = request_of(state.source)
        running = self._running.get(state.name)
        if running is not None and running[0] != request:
            running[1].cancel()
            del self._running[state.name]
            running = None
        answered = status_of(state.source).get("plan") or {}
        if not request or running is not None or answered.get("request") == request_id(request):
            return
        task = asyncio.create_task(self._answer(state, request))
        self._running[state.name] = (request, task)

    def forget(self, name: str) -> None:
        """Stop planning for a source that is gone."""
        running = self._running.pop(name, None)
        if running is not None:
            running[1].cancel()

    def close(self) -> None:
        """Stop planning."""
        for name in list(self._running):
            self.forget(name)

    async def _answer(self, state: SourceState, request: str) -> None:
        """Plan, and write the answer; errors are part of it."""
        written: dict[str, Any] = {"request": request_id(request)}
        try:
            async with asyncio.timeout(_TIMEOUT):
                preview = await self._plan(state, assumed_source(state.source, request))
            written |= preview.to_json()
        except KroGitopsError as error:
            message = shortened(error.full_text)
            written["error"] = {"code": error.code, "message": message}
        except TimeoutError:
            text = f"the plan was not finished after {_TIMEOUT:g} s"
            written["error"] = {"code": "no-plan", "message": text}
        operations = [{"op": "add", "path": "/status/plan", "value": written}]
        if not status_of(state.source):
            operations.insert(0, {"op": "add", "path": "/status", "value": {}})
        try:
            patched = await self._controller.cluster.patch(
                state.key, JsonPatch(operations), _STATUS
            )
        except KroGitopsError as error:
            facts = {"source": state.name, "error": error.message}
            log.warning("a plan could not be reported", extra=facts)
        else:
            patched["metadata"].pop("managedFields", None)
            self._controller.sources.record_write(patched)
        finally:
            self._running.pop(state.name, None)

    async def _plan(self, state: SourceState, assumed: KubeObject) -> Preview:
        spec = with_valid_pins(read_spec(assumed, self._defaults), datetime.now(UTC))
        pin, namespace = valid_pin(spec, datetime.now(UTC)), state.key.namespace
        fetcher = self._fetcher
        remote = await fetcher.remote(namespace, spec)
        chosen = await fetcher.ask(namespace, remote, spec, pin.commit if pin else "")
        signatures = await fetcher.fetch(namespace, remote, chosen, spec)
        fetched = await fetcher.read(
            namespace, remote, chosen, spec, Library(), signatures, former=state.fetched
        )
        preview, changes = await self._sync.preview(state, spec, fetched)
        if self._children is None:
            return preview
        children = await self._children.plan(changes)
        known = {change.ref for change in preview.changes}
        below = (change for change in children.changes if change.ref not in known)
        return replace(
            preview,
            changes=(*preview.changes, *below),
            failures=(*preview.failures, *children.failures),
            notes=(*preview.notes, *children.notes),
        )
