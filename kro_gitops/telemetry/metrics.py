"""
Counters, gauges and histograms, and the page that Prometheus reads.

An attribute of `Metrics` is named as its metric. kro's are here with its names, labels and
buckets, so that dashboards and alerts made for kro go on working; so are those that kro has of
controller-runtime. What only we have begins with `kro_gitops_`.

Values may be changed and read by any thread.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from typing import Generic, Protocol, TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric

from kro_gitops import __version__
from kube_objects.conditions import Condition

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

M = TypeVar("M")

_NO_RESPONSE = "<error>"  # client-go's word for it
_DISCOVERY = "discovery"


def _exponential_buckets(first: float, factor: float, count: int) -> tuple[float, ...]:
    return tuple(first * factor**exponent for exponent in range(count))


_SHORT_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)  # Go's defaults
_LONG_BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 20, 25, 30, 45, 60, 120)
_QUEUE_BUCKETS = _exponential_buckets(1e-8, 10, 12)
_REQUEST_BUCKETS = _exponential_buckets(0.001, 2, 16)
_SIZE_BUCKETS = _exponential_buckets(64, 2, 16)


class ApiRequest(Protocol):
    """What a request to the API server asked for."""

    @property
    def method(self) -> str:
        """Return the HTTP method."""

    @property
    def verb(self) -> str:
        """Return the Kubernetes verb."""

    @property
    def subject(self) -> str:
        """Return the kind, or the path of a document."""


class SentRequest(Protocol):
    """A request to the API server that ended."""

    @property
    def request(self) -> ApiRequest:
        """Return what was asked for."""

    @property
    def http_code(self) -> int | None:
        """Return the status code, None without a response."""

    @property
    def seconds(self) -> float:
        """Return how long it took."""

    @property
    def bytes_out(self) -> int:
        """Return the size of the request body."""

    @property
    def bytes_in(self) -> int | None:
        """Return the size of the response body, None if unknown."""

    @property
    def held_back(self) -> float:
        """Return how long the client's rate limit delayed it."""

    @property
    def repetition(self) -> int:
        """Return how many times it was sent before."""


class Declared(Generic[M]):
    """A row of the table below: in `Metrics` it becomes a metric of the same name."""

    def __init__(self, make: Callable[[str, CollectorRegistry], M]) -> None:
        self._make = make
        self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, metrics: "Metrics", owner: type) -> M:
        # From now on the attribute is found without asking here.
        made = metrics.__dict__[self._name] = self._make(self._name, metrics.registry)
        return made


def counter(text: str, *labels: str) -> Declared[Counter]:
    """Declare what only grows."""
    return Declared(lambda name, registry: Counter(name, text, labels, registry=registry))


def gauge(text: str, *labels: str) -> Declared[Gauge]:
    """Declare what goes up and down."""
    return Declared(lambda name, registry: Gauge(name, text, labels, registry=registry))


def histogram(text: str, buckets: tuple[float, ...], *labels: str) -> Declared[Histogram]:
    """Declare what is measured again and again."""
    return Declared(
        lambda name, registry: Histogram(name, text, labels, buckets=buckets, registry=registry)
    )


_SOURCE_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class Metrics:
    """Every metric there is, in a registry of its own."""

    # Expressions and nodes.
    cel_expr_eval_total = counter("CEL expressions evaluated")
    cel_expr_eval_duration_seconds = histogram(
        "Average time to evaluate one CEL expression in a pass", _SHORT_BUCKETS
    )
    runtime_node_eval_total = counter("Nodes resolved to desired objects")
    runtime_node_eval_errors_total = counter("Nodes that could not be resolved")
    runtime_node_eval_duration_seconds = histogram(
        "Average time to resolve one node in a pass", _SHORT_BUCKETS
    )
    runtime_creation_total = counter("Graph passes prepared for instances")
    runtime_creation_duration_seconds = histogram(
        "Time to prepare a graph pass for an instance", _SHORT_BUCKETS
    )
    kro_gitops_evaluation_cpu_seconds_total = counter(
        "CPU time spent on the expressions of instances", "gvr", "namespace"
    )
    kro_gitops_evaluation_stopped_total = counter(
        "Reconciles stopped because the expressions of the instance took too long",
        "gvr",
        "namespace",
    )
    kro_gitops_evaluation_waiting = gauge(
        "Reconciles that wait for a turn to evaluate further expressions"
    )
    kro_gitops_children_held = gauge(
        "Children that are no longer desired, and kept until their deletion is approved"
    )
    runtime_node_ignored_check_total = counter("Evaluations of includeWhen")
    runtime_node_ignored_total = counter("Nodes skipped because of includeWhen")
    runtime_node_ready_check_total = counter("Evaluations of readyWhen")
    runtime_node_not_ready_total = counter("Nodes that were not ready when checked")
    runtime_collection_size = histogram(
        "Number of objects in one forEach collection", _exponential_buckets(1, 2, 10)
    )

    # Reconciles of instances, as the queue sees them; `gvr` is `group/version/plural`.
    dynamic_controller_reconcile_total = counter("Reconciles of instances", "gvr")
    dynamic_controller_reconcile_duration_seconds = histogram(
        "Duration of instance reconciles", _LONG_BUCKETS, "gvr"
    )
    dynamic_controller_requeue_total = counter(
        "Instance reconciles by how the key was requeued",
        "gvr",
        "type",
    )
    dynamic_controller_handler_errors_total = counter("Instance reconciles that failed", "gvr")
    dynamic_controller_reconcile_panics_total = counter(
        "Instance reconciles that ended with an unexpected exception", "gvr"
    )
    dynamic_controller_handler_count_total = gauge(
        "Running informers: parent for instances, child for children and external objects",
        "type",
    )
    dynamic_controller_handler_attach_total = counter("Informers started", "type")
    dynamic_controller_handler_detach_total = counter("Informers stopped", "type")

    # Watches.
    dynamic_controller_gvr_count = gauge("Kinds of instances that are reconciled")
    dynamic_controller_queue_length = gauge("Instances that are due in the workqueue")
    dynamic_controller_watch_count = gauge("Running watches, one for each kind and purpose")
    dynamic_controller_informer_sync_duration_seconds = histogram(
        "Time from starting an informer to its first complete list", _LONG_BUCKETS, "gvr"
    )
    dynamic_controller_informer_events_total = counter(
        "Watch events about instances", "gvr", "event_type"
    )
    dynamic_controller_instance_watch_count = gauge(
        "Instances that watch external objects", "parent_gvr"
    )
    dynamic_controller_watch_request_count = gauge(
        "External objects (scalar) and selectors (collection) that instances watch", "gvr", "type"
    )
    dynamic_controller_route_total = counter(
        "Watch events about children and external objects", "gvr"
    )
    dynamic_controller_route_match_total = counter(
        "Watch events about children and external objects that queued an instance", "gvr"
    )

    # Instances.
    instance_state_transitions_total = counter(
        "State changes of instances", "gvr", "from_state", "to_state"
    )
    instance_reconcile_duration_seconds = histogram(
        "Duration of instance reconciles", _LONG_BUCKETS, "gvr"
    )
    instance_reconcile_total = counter("Reconciles of instances", "gvr")
    instance_reconcile_errors_total = counter("Instance reconciles that failed", "gvr")
    instance_graph_resolution_success_total = counter(
        "Instance reconciles that found a compiled graph", "gvr"
    )
    instance_graph_resolution_pending_total = counter(
        "Instance reconciles whose graph was not compiled yet", "gvr"
    )
    instance_graph_resolution_failures_total = counter(
        "Instance reconciles without a usable graph", "gvr", "reason"
    )

    # Definitions.
    rgd_graph_build_total = counter("Graphs compiled", "name")
    rgd_graph_build_errors_total = counter("Graphs that failed to compile", "name")
    rgd_graph_build_duration_seconds = histogram("Time to compile a graph", _LONG_BUCKETS, "name")
    rgd_deletions_total = counter("ResourceGraphDefinitions deleted", "name")
    rgd_deletion_duration_seconds = histogram(
        "Time from the deletion request to the removal of the finalizer", _LONG_BUCKETS, "name"
    )
    rgd_state_transitions_total = counter(
        "State changes of ResourceGraphDefinitions", "name", "from", "to"
    )
    rgd_graph_revision_issue_total = counter("GraphRevisions created", "reason")
    rgd_graph_revision_gc_deleted_total = counter("Old GraphRevisions deleted")
    rgd_graph_revision_gc_errors_total = counter("Failed deletions of old GraphRevisions")

    # Graph revisions.
    graph_revision_compile_total = counter("GraphRevisions compiled", "result")
    graph_revision_compile_duration_seconds = histogram(
        "Time to compile a GraphRevision", _LONG_BUCKETS, "result"
    )
    graph_revision_status_update_errors_total = counter("Failed writes of a GraphRevision's status")
    graph_revision_finalizer_evictions_total = counter(
        "Deleted GraphRevisions whose finalizer was removed"
    )
    graph_revision_registry_entries = gauge("Compiled graphs in use", "state")
    graph_revision_registry_evictions_total = counter("Compiled graphs dropped from memory")

    # Schemas.
    schema_resolver_cache_hits_total = counter("Schema lookups answered from the cache")
    schema_resolver_cache_misses_total = counter("Schema lookups that needed a request")
    schema_resolver_cache_evictions_total = counter(
        "CRDs dropped from the schema cache because they are gone"
    )
    schema_resolver_errors_total = counter("Failed requests for a schema")
    schema_resolver_cache_size = gauge("CRDs in the schema cache")
    schema_resolver_api_call_duration_seconds = histogram(
        "Duration of requests for a schema", _exponential_buckets(0.01, 2, 10)
    )

    # Requests to the API server.
    rest_client_requests_total = counter(
        "HTTP requests to the API server", "code", "method", "host"
    )
    rest_client_request_duration_seconds = histogram(
        "Time to the response headers of a request", _REQUEST_BUCKETS, "verb"
    )
    rest_client_rate_limiter_duration_seconds = histogram(
        "Time that the client-side rate limiter delayed requests", _REQUEST_BUCKETS, "verb"
    )
    rest_client_request_size_bytes = histogram("Size of request bodies", _SIZE_BUCKETS, "verb")
    rest_client_response_size_bytes = histogram("Size of response bodies", _SIZE_BUCKETS, "verb")
    rest_client_request_retries_total = counter("Retries of requests", "code", "method")

    # Queues and controllers, as controller-runtime counts them.
    workqueue_depth = gauge("Keys that are due", "name", "controller", "priority")
    workqueue_adds_total = counter("Keys added to the workqueue", "name", "controller")
    workqueue_queue_duration_seconds = histogram(
        "Time that keys stayed in the workqueue before they were processed",
        _QUEUE_BUCKETS,
        "name",
        "controller",
    )
    workqueue_work_duration_seconds = histogram(
        "Time to process a key", _QUEUE_BUCKETS, "name", "controller"
    )
    workqueue_retries_total = counter(
        "Keys requeued after they were processed", "name", "controller"
    )
    controller_runtime_reconcile_total = counter(
        "Reconciles by controller and result", "controller", "result"
    )
    controller_runtime_reconcile_errors_total = counter("Reconciles that failed", "controller")

    # What only we have.
    kro_gitops_build_info = gauge(
        "Always 1; the labels hold the versions", "version", "kro_version"
    )
    kro_gitops_leader = gauge("1 while this replica is the leader")
    kro_gitops_api_requests_total = counter("Requests to the API server", "verb", "kind", "code")
    kro_gitops_children_applied_total = counter("Children applied", "kind")
    kro_gitops_drift_repaired_total = counter(
        "Children applied again because another field manager had changed them", "kind"
    )
    kro_gitops_repairs_delayed_total = counter(
        "Repairs of children that another client keeps changing; the next repair has to wait",
        "kind",
    )
    kro_gitops_source_polls_total = counter("Polls of git remotes", "source", "outcome")
    kro_gitops_source_poll_seconds = histogram(
        "Duration of a poll, including the fetch", _SOURCE_BUCKETS, "source"
    )
    kro_gitops_source_syncs_total = counter("Revisions applied, by result", "source", "result")
    kro_gitops_source_sync_seconds = histogram(
        "Time to apply a revision", _SOURCE_BUCKETS, "source"
    )
    kro_gitops_source_step_seconds = histogram(
        "Duration of each step of applying a revision", _SOURCE_BUCKETS, "source", "step"
    )
    kro_gitops_source_writes_total = counter(
        "Objects of a source that were created, changed or pruned", "source", "what"
    )
    kro_gitops_source_ready = gauge("1 if the source is ready, 0 if not", "source")
    kro_gitops_source_condition = gauge(
        "1 for each condition that a source has beside Ready; Degraded: objects are not healthy",
        "source",
        "type",
    )
    kro_gitops_source_objects = gauge("Objects in the source's inventory", "source")
    kro_gitops_source_documents = gauge("Documents of a source that are kept in memory", "source")
    kro_gitops_source_stale = gauge(
        "1 if git could not be read in time, so that the revision may be outdated", "source"
    )
    kro_gitops_fetch_wait_seconds = histogram(
        "Time that an operation of git waited for its namespace's share of threads",
        _SOURCE_BUCKETS,
    )
    kro_gitops_storage_bytes = gauge("Bytes of fetched repositories on disk")
    kro_gitops_storage_evictions_total = counter(
        "Fetched repositories deleted to make room for others"
    )
    kro_gitops_webhooks_total = counter("Webhook deliveries", "forge", "outcome")
    kro_gitops_informer_objects = gauge("Objects in informer caches", "kind")

    def __init__(self, kro_version: str = "", clock: Callable[[], float] = time.time) -> None:
        self.registry = CollectorRegistry()
        for name, row in vars(Metrics).items():
            if isinstance(row, Declared):
                getattr(self, name)  # made now, so that the page is complete from the start
        self.kro_gitops_build_info.labels(__version__, kro_version).set(1)
        self.conditions = ConditionAges(clock)
        self.registry.register(self.conditions)
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)

    def page(self) -> bytes:
        """Write all values in Prometheus' text format."""
        return generate_latest(_WithoutCreatedSeries(self.registry))

    def observe_request(self, sent: SentRequest, host: str = "") -> None:
        """Count a request to the API server."""
        request = sent.request
        code = str(sent.http_code or _NO_RESPONSE)
        # Documents of discovery are named by path, of which there are too many for a label.
        kind = _DISCOVERY if request.subject.startswith("/") else request.subject
        self.rest_client_requests_total.labels(code, request.method, host).inc()
        self.rest_client_request_duration_seconds.labels(request.method).observe(sent.seconds)
        self.kro_gitops_api_requests_total.labels(request.verb, kind, code).inc()
        self.rest_client_request_size_bytes.labels(request.method).observe(sent.bytes_out)
        if sent.bytes_in is not None:
            self.rest_client_response_size_bytes.labels(request.method).observe(sent.bytes_in)
        if sent.held_back:
            held_back = self.rest_client_rate_limiter_duration_seconds
            held_back.labels(request.method).observe(sent.held_back)
        if sent.repetition:
            self.rest_client_request_retries_total.labels(code, request.method).inc()


class _WithoutCreatedSeries:
    """A registry without the series that say when each counter was made: kro has none."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        """Yield every metric, with the samples that are to be seen."""
        for metric in self._registry.collect():
            metric.samples = [each for each in metric.samples if not each.name.endswith("_created")]
            yield metric


_Instance = tuple[str, str, str]  # gvr, namespace, name
_ConditionState = tuple[str, str, float]  # status, reason, time of the last transition


class ConditionAges:
    """
    `instance_condition_current_status_seconds`: the age of the status of each condition.

    It is computed when it is read, so that it grows while nothing happens. It is only fed with the
    gate `InstanceConditionMetrics`; without it there is no such metric.
    """

    NAME = "instance_condition_current_status_seconds"
    LABELS = ("gvr", "namespace", "name", "condition_type", "condition_status", "reason")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = Lock()
        self._known: dict[_Instance, dict[str, _ConditionState]] = {}

    def put(self, gvr: str, namespace: str, name: str, conditions: Iterable[Condition]) -> None:
        """Replace all conditions of an instance."""
        instance = (gvr, namespace, name)
        with self._lock:
            former, current = self._known.get(instance, {}), dict[str, _ConditionState]()
            for condition in conditions:
                type_, status, reason = condition.type, condition.status, condition.reason or ""
                if condition.changed is not None:
                    current[type_] = (status, reason, condition.changed.timestamp())
                elif type_ in former and former[type_][:2] == (status, reason):
                    current[type_] = former[type_]
                else:  # without a time, it counts from when it was first seen
                    current[type_] = (status, reason, self._clock())
            self._known[instance] = current

    def drop(self, gvr: str, namespace: str, name: str) -> None:
        """Forget an instance."""
        with self._lock:
            self._known.pop((gvr, namespace, name), None)

    def describe(self) -> list[Metric]:
        """Return what will be collected."""
        text = "Seconds since a condition of an instance became what it is"
        return [GaugeMetricFamily(self.NAME, text, labels=self.LABELS)]

    def collect(self) -> list[Metric]:
        """Compute the ages of all conditions."""
        with self._lock:
            rows = [
                ((*instance, type_, status, reason), since)
                for instance, conditions in self._known.items()
                for type_, (status, reason, since) in conditions.items()
            ]
        if not rows:
            return []
        now = self._clock()
        family = GaugeMetricFamily(self.NAME, self.describe()[0].documentation, labels=self.LABELS)
        for labels, since in rows:
            family.add_metric(labels, max(0.0, now - since))
        return [family]
