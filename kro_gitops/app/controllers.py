"""
Assembles the controllers of a process: the engine, the sources and the recorder of Events.
"""

import asyncio
import socket
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from kro_gitops.app.child_plan import EngineChildPlanner
from kro_gitops.app.observers import (
    EngineMetrics,
    InstanceLoopObserver,
    LoopObserver,
    ResourceNames,
    SourceMetrics,
)
from kro_gitops.app.wiring import (
    EngineView,
    account_rules,
    engine_settings,
    source_defaults,
    source_rules,
)
from kro_gitops.engine.child_rules import child_rules
from kro_gitops.engine.controllers.context import EngineContext
from kro_gitops.engine.controllers.engine import DEFINITIONS, INSTANCES, REVISIONS, Engine
from kro_gitops.kube.client import Client
from kro_gitops.kube.discovery import Discovery
from kro_gitops.kube.events import EventRecorder
from kro_gitops.local.dry_run import offline_api
from kro_gitops.preview.diagnosis import Diagnosis
from kro_gitops.settings.settings import Gate, Settings
from kro_gitops.source.controllers.ownership import Ownership, SourceRecords
from kro_gitops.source.controllers.state import SourceStore
from kro_gitops.source.controllers.wiring import SourceController
from kro_gitops.telemetry.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Controllers:
    """The controllers that run once this replica leads; `events` records what they report."""

    engine: Engine
    records: SourceRecords
    sources: SourceController | None
    events: EventRecorder | None

    async def run_sources(self, is_stopping: asyncio.Event) -> None:
        """Reconcile sources until the process stops and running reconciles have ended."""
        if self.sources is None:
            await is_stopping.wait()
        else:
            await self.sources.run()

    def stop(self) -> None:
        """Start no new reconcile; the engine ends after the sources, which may wait for it."""
        if self.sources is not None:
            self.sources.stop()

    def is_idle(self) -> bool:
        """Return True if no reconcile is due or running."""
        queues = list(self.engine.queues.values())
        depths = [each.depth for each in queues]
        if self.sources is not None:
            depths.append(self.sources.queue.depth)
        return self.engine.is_ready and not any(each.ready or each.working for each in depths)


def build_controllers(
    settings: Settings, metrics: Metrics, client: Client, discovery: Discovery, storage: Path
) -> Controllers:
    """Build the controllers; `storage` is the folder for git mirrors."""
    # Sources decide as whom instances are reconciled, also if they are not reconciled here.
    store = SourceStore(settings.default_service_account)
    records = SourceRecords(client, store, source_defaults(settings))
    ownership = Ownership(records, account_rules(settings))
    events = None
    if settings.events:
        host = socket.gethostname()
        events = EventRecorder(client, "kro-gitops", host, lambda: datetime.now(UTC))
    plurals = ResourceNames()
    counting = EngineMetrics(
        metrics, plurals, conditions=Gate.CONDITION_METRICS in settings.feature_gates
    )
    observers = {
        DEFINITIONS: LoopObserver(
            metrics, "ResourceGraphDefinition", lambda: plurals.depth_of(DEFINITIONS)
        ),
        REVISIONS: LoopObserver(metrics, "graphrevision", lambda: plurals.depth_of(REVISIONS)),
        INSTANCES: InstanceLoopObserver(metrics, plurals),
    }
    context = EngineContext(client, discovery, counting, events, observers, ownership)
    options = engine_settings(settings)
    engine = Engine(context, options)
    plurals.set_engine(engine)
    metrics.dynamic_controller_gvr_count.set_function(lambda: len(engine.served_kinds))
    metrics.dynamic_controller_watch_count.set_function(engine.watches.count)
    metrics.kro_gitops_evaluation_waiting.set_function(engine.waiting_evaluations)
    metrics.kro_gitops_children_held.set_function(engine.gate.held_children)
    metrics.graph_revision_registry_entries.labels("active").set_function(engine.active_graphs)
    if not settings.sources:
        return Controllers(engine, records, None, events)
    diagnosis = Diagnosis(options.options, child_rules(settings), offline_api())
    sources = SourceController(
        client,
        discovery,
        EngineView(engine),
        records,
        replace(source_rules(settings, storage), diagnose=diagnosis),
        events=events,
        observer=SourceMetrics(metrics),
        children=EngineChildPlanner(engine, client, child_rules(settings)),
    )
    return Controllers(engine, records, sources, events)
