"""
Connects the observers of the engine and of the sources to the Prometheus metrics.

Names and label values are exactly kro's, so that dashboards keep working.
"""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable
from contextlib import suppress
from typing import Protocol

from kro_gitops.control.loop import ReconcileReport
from kro_gitops.engine.controllers.engine import INSTANCES
from kro_gitops.engine.controllers.observer import Observer
from kro_gitops.engine.controllers.watches import Watches
from kro_gitops.engine.graph.nodes import NodeKind
from kro_gitops.engine.plan.instance import Pass
from kro_gitops.engine.plan.steps import NodeState
from kro_gitops.engine.watchset import ObjectWatch
from kro_gitops.source.controllers.context import SourceObserver
from kro_gitops.source.files.budget import Amount
from kro_gitops.source.plan.status import STALE
from kro_gitops.telemetry.metrics import Metrics
from kube_objects.conditions import TRUE, Condition
from kube_objects.refs import Kind, ObjectRef


class EngineInfo(Protocol):
    """What the metrics read from the engine."""

    def due(self, queue: str) -> int:
        """Return how many keys of a queue are due."""

    def plural_of(self, kind: Kind) -> str:
        """Return the plural of a kind that is watched; empty if it is not."""


def resource_text(kind: Kind, plural: str) -> str:
    """Print a resource as Go does."""
    return f"{kind.group}/{kind.version}, Resource={plural}"


class LoopObserver:
    """
    Feeds the metrics of one queue and its controller from what a loop reports.

    `depth` returns how many keys are due; it is called when the page is read. With `gvr_of` it
    is the queue of instances, which has metrics of its own.
    """

    def __init__(
        self,
        metrics: Metrics,
        name: str,
        depth: Callable[[], int],
        gvr_of: Callable[[Hashable], str] | None = None,
    ) -> None:
        self._metrics = metrics
        self._name = name
        self._gvr_of = gvr_of
        names = (name, name)  # client-go's queue has the name of its controller
        self._adds = metrics.workqueue_adds_total.labels(*names)
        self._waited = metrics.workqueue_queue_duration_seconds.labels(*names)
        self._worked = metrics.workqueue_work_duration_seconds.labels(*names)
        self._retries = metrics.workqueue_retries_total.labels(*names)
        metrics.workqueue_depth.labels(*names, "").set_function(depth)
        if gvr_of is not None:
            metrics.dynamic_controller_queue_length.set_function(depth)

    def taken(self, key: Hashable, waited: float) -> None:
        """Called when a reconcile begins; every key that was added is taken once."""
        self._adds.inc()
        self._waited.observe(waited)

    def finished(self, report: ReconcileReport) -> None:
        """Called when a reconcile ended."""
        self._worked.observe(report.seconds)
        if report.outcome.after is not None:
            self._retries.inc()
        if self._gvr_of is not None:
            gvr = self._gvr_of(report.key)
            metrics = self._metrics
            metrics.dynamic_controller_reconcile_total.labels(gvr).inc()
            metrics.dynamic_controller_reconcile_duration_seconds.labels(gvr).observe(
                report.seconds
            )
            type_ = requeue_type(report)
            if type_:
                metrics.dynamic_controller_requeue_total.labels(gvr, type_).inc()
            if is_error(report):
                metrics.dynamic_controller_handler_errors_total.labels(gvr).inc()
            if report.outcome.traceback:
                metrics.dynamic_controller_reconcile_panics_total.labels(gvr).inc()
        else:
            metrics = self._metrics
            result = "error" if is_error(report) else requeue_type(report) or "success"
            metrics.controller_runtime_reconcile_total.labels(self._name, result).inc()
            if is_error(report):
                metrics.controller_runtime_reconcile_errors_total.labels(self._name).inc()


def is_error(report: ReconcileReport) -> bool:
    """Return whether a reconcile failed; one that waits for something has not."""
    outcome = report.outcome
    return report.error is not None and (outcome.is_failure or outcome.forgets_failures)


def requeue_type(report: ReconcileReport) -> str:
    """Return in kro's words when a key is tried again; empty after a plain success."""
    after = report.outcome.after
    if report.outcome.is_failure:
        return "rate_limited"
    if after is not None:
        return "requeue_after" if after > 0 else "requeue"
    return "no_requeue" if is_error(report) else ""


class EngineMetrics(Observer):
    """The engine's observer."""

    def __init__(self, metrics: Metrics, plurals: "ResourceNames", *, conditions: bool) -> None:
        """Count; `conditions` also keeps how long each condition has stood."""
        self._metrics = metrics
        self._plurals = plurals
        self._keeps_conditions = conditions

    def instance_event(self, kind: Kind, event: str) -> None:
        """Count the events of instances."""
        gvr = self._plurals.of(kind)
        self._metrics.dynamic_controller_informer_events_total.labels(gvr, event).inc()

    def change_routed(self, kind: Kind, *, woke: bool) -> None:
        """Count changes of children and of what instances look at."""
        gvr = self._plurals.of(kind)
        self._metrics.dynamic_controller_route_total.labels(gvr).inc()
        if woke:
            self._metrics.dynamic_controller_route_match_total.labels(gvr).inc()

    def child_applied(self, kind: Kind, *, is_repair: bool) -> None:
        """Count a child that was made, changed or repaired."""
        self._metrics.kro_gitops_children_applied_total.labels(kind.kind).inc()
        if is_repair:
            self._metrics.kro_gitops_drift_repaired_total.labels(kind.kind).inc()

    def repair_delayed(self, kind: Kind) -> None:
        """Count a repair after which the next one has to wait."""
        self._metrics.kro_gitops_repairs_delayed_total.labels(kind.kind).inc()

    def state_changed(self, instance: ObjectRef, before: str, after: str) -> None:
        """Count a change of state; kro calls the kind a resource here."""
        kind = f"{instance.kind.api_version}, Kind={instance.kind.kind}"
        self._metrics.instance_state_transitions_total.labels(kind, before, after).inc()

    def conditions_written(
        self, instance: ObjectRef, plural: str, conditions: Iterable[Condition]
    ) -> None:
        """Keep since when conditions stand, if that is asked for."""
        if self._keeps_conditions:
            gvr = resource_text(instance.kind, plural)
            self._metrics.conditions.put(gvr, instance.namespace, instance.name, conditions)

    def instance_gone(self, instance: ObjectRef, plural: str) -> None:
        """Drop what was kept of an instance."""
        if self._keeps_conditions:
            gvr = resource_text(instance.kind, plural)
            self._metrics.conditions.drop(gvr, instance.namespace, instance.name)

    def graph_resolved(self, instance: ObjectRef, plural: str, outcome: str) -> None:
        """Count whether an instance had a graph."""
        gvr = resource_text(instance.kind, plural)
        if outcome == "success":
            self._metrics.instance_graph_resolution_success_total.labels(gvr).inc()
        elif outcome == "pending":
            self._metrics.instance_graph_resolution_pending_total.labels(gvr).inc()
        else:
            self._metrics.instance_graph_resolution_failures_total.labels(gvr, outcome).inc()

    def passed(self, run: Pass, seconds: float) -> None:
        """Count a pass through a graph; single evaluations are too short to be timed one by one."""
        metrics, runs = self._metrics, run.runs
        metrics.runtime_creation_total.inc()
        metrics.runtime_creation_duration_seconds.observe(seconds)
        metrics.cel_expr_eval_total.inc(run.evaluator.evaluated)
        metrics.runtime_node_eval_total.inc(len(runs))
        metrics.runtime_node_ignored_check_total.inc(len(runs))
        if runs:
            metrics.runtime_node_eval_duration_seconds.observe(seconds / len(runs))
        if run.evaluator.evaluated:
            metrics.cel_expr_eval_duration_seconds.observe(seconds / run.evaluator.evaluated)
        for name, each in runs.items():
            if each.state is NodeState.SKIPPED:
                metrics.runtime_node_ignored_total.inc()
            if each.has_readiness:
                metrics.runtime_node_ready_check_total.inc()
            if each.waiting is not None:
                metrics.runtime_node_not_ready_total.inc()
            if each.state is NodeState.ERROR:
                metrics.runtime_node_eval_errors_total.inc()
            if run.graph.nodes[name].kind is NodeKind.COLLECTION and each.desired is not None:
                metrics.runtime_collection_size.observe(each.desired)

    def evaluated(self, instance: ObjectRef, plural: str, seconds: float) -> None:
        """Add up the CPU time of expressions."""
        gvr = resource_text(instance.kind, plural)
        cpu = self._metrics.kro_gitops_evaluation_cpu_seconds_total
        cpu.labels(gvr, instance.namespace).inc(seconds)

    def evaluation_stopped(self, instance: ObjectRef, plural: str) -> None:
        """Count a reconcile whose expressions took too long."""
        gvr = resource_text(instance.kind, plural)
        self._metrics.kro_gitops_evaluation_stopped_total.labels(gvr, instance.namespace).inc()

    def schema_asked(self, *, was_known: bool) -> None:
        """Count whether a schema was at hand."""
        metrics = self._metrics
        known = metrics.schema_resolver_cache_hits_total
        (known if was_known else metrics.schema_resolver_cache_misses_total).inc()

    def schema_fetched(self, seconds: float, *, succeeded: bool) -> None:
        """Count a request for a schema."""
        self._metrics.schema_resolver_api_call_duration_seconds.observe(seconds)
        if not succeeded:
            self._metrics.schema_resolver_errors_total.inc()

    def schema_evicted(self) -> None:
        """Count a CRD whose schemas were dropped."""
        self._metrics.schema_resolver_cache_evictions_total.inc()

    def schemas_cached(self, crds: int) -> None:
        """Record how many CRDs are in the schema cache."""
        self._metrics.schema_resolver_cache_size.set(crds)

    def handler_attached(self, type_: str) -> None:
        """Count an informer that was started."""
        self._metrics.dynamic_controller_handler_attach_total.labels(type_).inc()
        self._metrics.dynamic_controller_handler_count_total.labels(type_).inc()

    def handler_detached(self, type_: str) -> None:
        """Count an informer that was stopped."""
        self._metrics.dynamic_controller_handler_detach_total.labels(type_).inc()
        self._metrics.dynamic_controller_handler_count_total.labels(type_).dec()

    def informer_synced(self, kind: Kind, seconds: float) -> None:
        """Record how long the first list of a kind took."""
        gvr = self._plurals.of(kind)
        self._metrics.dynamic_controller_informer_sync_duration_seconds.labels(gvr).observe(seconds)

    def graph_built(self, definition: str, seconds: float, *, succeeded: bool) -> None:
        """Count a definition that was compiled."""
        self._metrics.rgd_graph_build_total.labels(definition).inc()
        self._metrics.rgd_graph_build_duration_seconds.labels(definition).observe(seconds)
        result = "success" if succeeded else "failed"
        self._metrics.graph_revision_compile_total.labels(result).inc()
        self._metrics.graph_revision_compile_duration_seconds.labels(result).observe(seconds)
        if not succeeded:
            self._metrics.rgd_graph_build_errors_total.labels(definition).inc()

    def revision_issued(self, reason: str) -> None:
        """Count a spec that was kept."""
        self._metrics.rgd_graph_revision_issue_total.labels(reason).inc()

    def revisions_collected(self, count: int) -> None:
        """Count old revisions that were deleted."""
        self._metrics.rgd_graph_revision_gc_deleted_total.inc(count)

    def revision_gc_failed(self) -> None:
        """Count an old revision that could not be deleted."""
        self._metrics.rgd_graph_revision_gc_errors_total.inc()

    def revision_status_failed(self) -> None:
        """Count a revision's status that could not be written."""
        self._metrics.graph_revision_status_update_errors_total.inc()

    def revision_released(self) -> None:
        """Count a deleted revision that was released."""
        self._metrics.graph_revision_finalizer_evictions_total.inc()

    def graphs_evicted(self, count: int) -> None:
        """Count compiled graphs that were dropped."""
        self._metrics.graph_revision_registry_evictions_total.inc(count)

    def definition_changed(self, definition: str, before: str, after: str) -> None:
        """Count a change of state; the first is none."""
        if before:
            self._metrics.rgd_state_transitions_total.labels(definition, before, after).inc()

    def definition_deleted(self, definition: str, seconds: float) -> None:
        """Count a definition that is gone."""
        self._metrics.rgd_deletions_total.labels(definition).inc()
        self._metrics.rgd_deletion_duration_seconds.labels(definition).observe(seconds)


class WatchMetrics:
    """Sets the gauges that describe what is watched; call `update` from time to time."""

    def __init__(self, metrics: Metrics, plurals: "ResourceNames") -> None:
        self._metrics = metrics
        self._plurals = plurals
        self._reported: dict[object, set[tuple[str, ...]]] = {}

    def update(self, watches: Watches) -> None:
        """Read the numbers off the engine's watches."""
        instances = Counter(key.kind for key in watches.router.watch_set)
        requests = Counter(
            (request.kind, "scalar" if isinstance(request, ObjectWatch) else "collection")
            for request in watches.router.watch_set.requests()
        )
        name = self._plurals.of
        for gauge, values in (
            (
                self._metrics.kro_gitops_informer_objects,
                {(kind.kind,): count for kind, count in watches.counts().items()},
            ),
            (
                self._metrics.dynamic_controller_instance_watch_count,
                {(name(kind),): count for kind, count in instances.items()},
            ),
            (
                self._metrics.dynamic_controller_watch_request_count,
                {(name(kind), type_): count for (kind, type_), count in requests.items()},
            ),
        ):
            for labels in self._reported.get(gauge, set()) - values.keys():
                gauge.remove(*labels)
            for labels, count in values.items():
                gauge.labels(*labels).set(count)
            self._reported[gauge] = set(values)


class InstanceLoopObserver(LoopObserver):
    """The observer of the queue of instances, which counts passes by kind as well."""

    def __init__(self, metrics: Metrics, plurals: "ResourceNames") -> None:
        super().__init__(
            metrics,
            "dynamic-controller-queue",
            lambda: plurals.depth_of(INSTANCES),
            plurals.slashed,
        )
        self._all = metrics
        self._plurals = plurals

    def finished(self, report: ReconcileReport) -> None:
        """Called when a reconcile ended."""
        super().finished(report)
        gvr = self._plurals.spelled(report.key)
        self._all.instance_reconcile_total.labels(gvr).inc()
        self._all.instance_reconcile_duration_seconds.labels(gvr).observe(report.seconds)
        if is_error(report):
            self._all.instance_reconcile_errors_total.labels(gvr).inc()


class SourceMetrics(SourceObserver):
    """The sources' observer."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._conditions: dict[str, set[str]] = {}  # that were recorded, by source

    def polled(self, source: str, seconds: float, outcome: str) -> None:
        """Count a question to a remote."""
        self._metrics.kro_gitops_source_polls_total.labels(source, outcome).inc()
        self._metrics.kro_gitops_source_poll_seconds.labels(source).observe(seconds)

    def synced(self, source: str, seconds: float, result: str) -> None:
        """Count a revision."""
        self._metrics.kro_gitops_source_syncs_total.labels(source, result).inc()
        self._metrics.kro_gitops_source_sync_seconds.labels(source).observe(seconds)

    def timed(self, source: str, step: str, seconds: float) -> None:
        """Keep the time of a step."""
        self._metrics.kro_gitops_source_step_seconds.labels(source, step).observe(seconds)

    def applied(self, source: str, created: int, changed: int, pruned: int) -> None:
        """Count what was written."""
        for what, count in (("created", created), ("changed", changed), ("pruned", pruned)):
            if count:
                self._metrics.kro_gitops_source_writes_total.labels(source, what).inc(count)

    def standing(
        self, source: str, ready: str, objects: int, conditions: Collection[str] = ()
    ) -> None:
        """Record the state of a source; drop one that is gone."""
        metrics, kept = self._metrics, set(conditions) if ready else set[str]()
        states = metrics.kro_gitops_source_condition
        for type_ in self._conditions.get(source, set[str]()) - kept:
            states.remove(source, type_)
        for type_ in kept:
            states.labels(source, type_).set(1)
        self._conditions[source] = kept
        if not ready:
            del self._conditions[source]
            for each in (
                metrics.kro_gitops_source_ready,
                metrics.kro_gitops_source_objects,
                metrics.kro_gitops_source_stale,
            ):
                with suppress(KeyError):
                    each.remove(source)
            return
        metrics.kro_gitops_source_ready.labels(source).set(ready == TRUE)
        metrics.kro_gitops_source_objects.labels(source).set(objects)
        metrics.kro_gitops_source_stale.labels(source).set(STALE in kept)

    def kept_in_memory(self, source: str, amount: Amount) -> None:
        """Record the documents of a source; drop one that is gone."""
        gauge = self._metrics.kro_gitops_source_documents
        if amount.documents:
            gauge.labels(source).set(amount.documents)
        else:
            with suppress(KeyError):
                gauge.remove(source)

    def waited_for_thread(self, seconds: float) -> None:
        """Record a wait for a thread."""
        self._metrics.kro_gitops_fetch_wait_seconds.observe(seconds)

    def stored(self, used: int, evicted: int) -> None:
        """Record the size of the mirrors."""
        self._metrics.kro_gitops_storage_bytes.set(used)
        if evicted:
            self._metrics.kro_gitops_storage_evictions_total.inc(evicted)

    def called(self, forge: str, outcome: str) -> None:
        """Count a call of a webhook."""
        self._metrics.kro_gitops_webhooks_total.labels(forge, outcome).inc()


class ResourceNames:
    """How the kinds of keys are called in metrics; set up once there is an engine to ask."""

    def __init__(self) -> None:
        self._engine: EngineInfo | None = None

    def set_engine(self, engine: EngineInfo) -> None:
        """Set the engine that knows the plurals and the queues."""
        self._engine = engine

    def depth_of(self, queue: str) -> int:
        """Return how many keys of a queue are due."""
        return self._engine.due(queue) if self._engine is not None else 0

    def of(self, kind: Kind) -> str:
        """Return `group/version, Resource=plural` of a kind."""
        plural = self._engine.plural_of(kind) if self._engine is not None else ""
        return resource_text(kind, plural or kind.kind.lower())

    def slashed(self, key: Hashable) -> str:
        """Return `group/version/plural`."""
        kind, plural = self._named(key)
        return f"{kind.group}/{kind.version}/{plural}"

    def spelled(self, key: Hashable) -> str:
        """Return `group/version, Resource=plural`."""
        return resource_text(*self._named(key))

    def _named(self, key: Hashable) -> tuple[Kind, str]:
        assert isinstance(key, ObjectRef), "instances are queued by their names"
        plural = self._engine.plural_of(key.kind) if self._engine is not None else ""
        return key.kind, plural or key.kind.kind.lower()
