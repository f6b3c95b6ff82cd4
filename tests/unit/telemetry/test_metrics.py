import ast
import asyncio
import threading
from collections.abc import Hashable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from kro_gitops import __version__
from kro_gitops.app.observers import LoopObserver
from kro_gitops.control.backoff import Backoff
from kro_gitops.control.loop import Loop, LoopSettings
from kro_gitops.control.outcome import DONE, REQUEUE, Result, RetryDelays
from kro_gitops.control.workqueue import WorkItem, WorkQueue
from kro_gitops.errors import ClusterUnavailable, DataPending, UserError
from kro_gitops.kube.api import Resource
from kro_gitops.kube.requests import get, read
from kro_gitops.kube.transport import RequestReport
from kro_gitops.telemetry.metrics import Declared, Metrics
from kube_objects.conditions import Condition
from kube_objects.refs import Kind, ObjectRef

REPOSITORY = Path(__file__).parents[3]

DEPLOYMENT = Kind("apps", "v1", "Deployment")
DEPLOYMENTS = Resource(DEPLOYMENT, "deployments", namespaced=True)
WEBAPPS = "kro.run/v1alpha1/webapps"

SHORT = "0.005 0.01 0.025 0.05 0.1 0.25 0.5 1.0 2.5 5.0 10.0"
LONG = "0.01 0.05 0.1 0.25 0.5 1.0 2.5 5.0 10.0 15.0 20.0 25.0 30.0 45.0 60.0 120.0"

COUNTERS = {
    "cel_expr_eval_total": "",
    "runtime_node_eval_total": "",
    "runtime_node_eval_errors_total": "",
    "runtime_creation_total": "",
    "runtime_node_ignored_check_total": "",
    "runtime_node_ignored_total": "",
    "runtime_node_ready_check_total": "",
    "runtime_node_not_ready_total": "",
    "dynamic_controller_reconcile_total": "gvr",
    "dynamic_controller_requeue_total": "gvr type",
    "dynamic_controller_handler_errors_total": "gvr",
    "dynamic_controller_reconcile_panics_total": "gvr",
    "dynamic_controller_handler_attach_total": "type",
    "dynamic_controller_handler_detach_total": "type",
    "dynamic_controller_informer_events_total": "gvr event_type",
    "dynamic_controller_route_total": "gvr",
    "dynamic_controller_route_match_total": "gvr",
    "instance_state_transitions_total": "gvr from_state to_state",
    "instance_reconcile_total": "gvr",
    "instance_reconcile_errors_total": "gvr",
    "instance_graph_resolution_success_total": "gvr",
    "instance_graph_resolution_pending_total": "gvr",
    "instance_graph_resolution_failures_total": "gvr reason",
    "rgd_graph_build_total": "name",
    "rgd_graph_build_errors_total": "name",
    "rgd_deletions_total": "name",
    "rgd_state_transitions_total": "name from to",
    "rgd_graph_revision_issue_total": "reason",
    "rgd_graph_revision_gc_deleted_total": "",
    "rgd_graph_revision_gc_errors_total": "",
    "graph_revision_compile_total": "result",
    "graph_revision_status_update_errors_total": "",
    "graph_revision_finalizer_evictions_total": "",
    "graph_revision_registry_evictions_total": "",
    "schema_resolver_cache_hits_total": "",
    "schema_resolver_cache_misses_total": "",
    "schema_resolver_cache_evictions_total": "",
    "schema_resolver_errors_total": "",
    "rest_client_request_retries_total": "code method",
    "rest_client_requests_total": "code method host",
    "controller_runtime_reconcile_total": "controller result",
    "controller_runtime_reconcile_errors_total": "controller",
    "workqueue_adds_total": "name controller",
    "workqueue_retries_total": "name controller",
    "kro_gitops_api_requests_total": "verb kind code",
    "kro_gitops_children_applied_total": "kind",
    "kro_gitops_drift_repaired_total": "kind",
    "kro_gitops_repairs_delayed_total": "kind",
    "kro_gitops_evaluation_cpu_seconds_total": "gvr namespace",
    "kro_gitops_evaluation_stopped_total": "gvr namespace",
    "kro_gitops_source_polls_total": "source outcome",
    "kro_gitops_source_syncs_total": "source result",
    "kro_gitops_source_writes_total": "source what",
    "kro_gitops_storage_evictions_total": "",
    "kro_gitops_webhooks_total": "forge outcome",
}
GAUGES = {
    "dynamic_controller_gvr_count": "",
    "dynamic_controller_queue_length": "",
    "dynamic_controller_watch_count": "",
    "dynamic_controller_handler_count_total": "type",
    "dynamic_controller_instance_watch_count": "parent_gvr",
    "dynamic_controller_watch_request_count": "gvr type",
    "graph_revision_registry_entries": "state",
    "schema_resolver_cache_size": "",
    "workqueue_depth": "name controller priority",
    "kro_gitops_build_info": "version kro_version",
    "kro_gitops_children_held": "",
    "kro_gitops_evaluation_waiting": "",
    "kro_gitops_leader": "",
    "kro_gitops_informer_objects": "kind",
    "kro_gitops_source_ready": "source",
    "kro_gitops_source_condition": "source type",
    "kro_gitops_source_objects": "source",
    "kro_gitops_source_stale": "source",
    "kro_gitops_source_documents": "source",
    "kro_gitops_storage_bytes": "",
}
HISTOGRAMS = {
    "cel_expr_eval_duration_seconds": ("", SHORT),
    "runtime_node_eval_duration_seconds": ("", SHORT),
    "runtime_creation_duration_seconds": ("", SHORT),
    "runtime_collection_size": ("", "1.0 2.0 4.0 8.0 16.0 32.0 64.0 128.0 256.0 512.0"),
    "dynamic_controller_reconcile_duration_seconds": ("gvr", LONG),
    "dynamic_controller_informer_sync_duration_seconds": ("gvr", LONG),
    "instance_reconcile_duration_seconds": ("gvr", LONG),
    "rgd_graph_build_duration_seconds": ("name", LONG),
    "rgd_deletion_duration_seconds": ("name", LONG),
    "graph_revision_compile_duration_seconds": ("result", LONG),
    "schema_resolver_api_call_duration_seconds": (
        "",
        "0.01 0.02 0.04 0.08 0.16 0.32 0.64 1.28 2.56 5.12",
    ),
    "rest_client_request_duration_seconds": ("verb", None),
    "rest_client_rate_limiter_duration_seconds": ("verb", None),
    "rest_client_request_size_bytes": ("verb", None),
    "rest_client_response_size_bytes": ("verb", None),
    "workqueue_queue_duration_seconds": ("name controller", None),
    "workqueue_work_duration_seconds": ("name controller", None),
    "kro_gitops_source_poll_seconds": ("source", None),
    "kro_gitops_source_sync_seconds": ("source", None),
    "kro_gitops_source_step_seconds": ("source step", None),
    "kro_gitops_fetch_wait_seconds": ("", None),
}
FORMS = {
    **{name: ("counter", labels) for name, labels in COUNTERS.items()},
    **{name: ("gauge", labels) for name, labels in GAUGES.items()},
    **{name: ("histogram", labels) for name, (labels, _) in HISTOGRAMS.items()},
}


def samples(metrics: Metrics) -> dict[str, dict[tuple[str, ...], float]]:
    """Read the page: by name of the sample, the values by label values in order of the labels."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(metrics.page().decode()):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.values())] = sample.value
    return found


def types(metrics: Metrics) -> dict[str, str]:
    lines = metrics.page().decode().splitlines()
    return dict(line.split()[2:4] for line in lines if line.startswith("# TYPE "))


@pytest.mark.parametrize("name", FORMS)
def test_metrics_have_the_names_types_and_labels_that_dashboards_expect(name: str) -> None:
    form, labels = FORMS[name]
    metrics = Metrics()
    assert types(metrics)[name] == form
    metric = getattr(metrics, name)
    if labels:
        metric.labels(**dict.fromkeys(labels.split(), "x"))
    sample = f"{name}_count" if form == "histogram" else name
    assert sample in samples(metrics)


def test_there_are_no_others_but_those_of_the_process() -> None:
    others = set(types(Metrics())) - set(FORMS)
    assert {name.partition("_")[0] for name in others} == {"process", "python"}


NOT_EXPORTED = (
    "rgd_graph_revision_wait_total",
    "rgd_graph_revision_resolution_total",
    "rgd_graph_revision_registry_miss_total",
    "graph_revision_registry_transitions_total",
    "graph_revision_activation_deferred_total",
    "schema_resolver_singleflight_deduplicated_total",
)


@pytest.mark.parametrize("name", NOT_EXPORTED)
def test_kro_metrics_without_a_counterpart_are_not_exported_and_documented(name: str) -> None:
    assert name not in types(Metrics())
    page = REPOSITORY / "docs/explanation/differences-from-kro.md"
    assert f"`{name}`" in page.read_text()


def test_every_declared_metric_is_updated_by_some_code() -> None:
    updated = set()
    for path in (REPOSITORY / "kro_gitops").rglob("*.py"):
        tree = ast.parse(path.read_text())
        updated |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    declared = {name for name, row in vars(Metrics).items() if isinstance(row, Declared)}
    assert declared - updated == set()


@pytest.mark.parametrize("name", [name for name, (_, b) in HISTOGRAMS.items() if b])
def test_histograms_have_the_buckets_of_kro(name: str) -> None:
    labels, buckets = HISTOGRAMS[name]
    metrics = Metrics()
    if labels:
        getattr(metrics, name).labels("x")
    found = [value for key in samples(metrics)[f"{name}_bucket"] for value in key if value != "x"]
    assert found == [*(buckets or "").split(), "+Inf"]


def test_the_page_has_no_birthdays() -> None:
    metrics = Metrics()
    metrics.rgd_graph_build_total.labels("webapp").inc()
    assert "_created" not in metrics.page().decode()


def test_the_page_says_what_runs() -> None:
    assert samples(Metrics("v0.9.4"))["kro_gitops_build_info"] == {("v0.9.4", __version__): 1}


def test_two_of_them_do_not_meet() -> None:
    one, other = Metrics(), Metrics()
    one.cel_expr_eval_total.inc()
    assert samples(other)["cel_expr_eval_total"] == {(): 0}


def test_threads_may_count_at_once() -> None:
    metrics = Metrics()

    def work() -> None:
        for _ in range(2000):
            metrics.instance_reconcile_total.labels(WEBAPPS).inc()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert samples(metrics)["instance_reconcile_total"] == {(WEBAPPS,): 8000}


def test_requests_are_counted_by_kind_and_answer() -> None:
    metrics = Metrics()
    request = get(DEPLOYMENTS, ObjectRef(DEPLOYMENT, "shop", "front"))
    metrics.observe_request(RequestReport(request, 200, 0.003), host="10.0.0.1:6443")
    metrics.observe_request(RequestReport(request, 0, 1.0), host="10.0.0.1:6443")
    metrics.observe_request(RequestReport(read("/openapi/v3/apis/apps/v1"), 200, 0.1))
    found = samples(metrics)
    assert found["rest_client_requests_total"] == {
        ("200", "10.0.0.1:6443", "GET"): 1,
        ("<error>", "10.0.0.1:6443", "GET"): 1,
        ("200", "", "GET"): 1,
    }
    assert found["kro_gitops_api_requests_total"] == {
        ("200", "deployments.apps", "get"): 1,
        ("<error>", "deployments.apps", "get"): 1,
        ("200", "discovery", "get"): 1,
    }
    assert found["rest_client_request_duration_seconds_sum"] == {("GET",): pytest.approx(1.103)}


async def worked(
    observer: LoopObserver, queue: WorkQueue[str], errors: dict[str, Exception]
) -> None:
    """Let a loop work on a key of each sort once, and twice on the one that wants it."""
    left = ["fine", "later", "again", "again", *errors]
    done = asyncio.Event()
    results = {"later": Result(1000.0), "again": REQUEUE}

    async def reconcile(work: WorkItem[str]) -> Result:
        left.remove(work.key)
        if not left:
            done.set()
        if work.key in errors:
            raise errors[work.key]
        is_last = work.key not in left and work.key == "again"
        return DONE if is_last else results.get(work.key, DONE)

    # What is tried again is due when the test is over.
    pace = RetryDelays(later=1000.0, backoff=Backoff(first=1000.0))
    loop = Loop(queue, reconcile, LoopSettings(pace=pace), observer)
    for key in sorted(set(left)):
        loop.add(key)
    async with asyncio.TaskGroup() as group:
        group.create_task(loop.run())
        await done.wait()
        loop.stop()


ERRORS: dict[str, Exception] = {
    "pending": DataPending("pending", "no such key: x"),
    "mistake": UserError("mistake", "the author must change something"),
    "down": ClusterUnavailable("down", "no answer"),
    "bug": ValueError("nobody foresaw this"),
}


def gvr(_key: Hashable) -> str:
    return WEBAPPS


async def test_reconciles_of_instances_are_counted_as_kro_counts_them() -> None:
    metrics, queue = Metrics(), WorkQueue[str](str)
    depth = lambda: queue.depth.ready  # noqa: E731
    await worked(LoopObserver(metrics, "dynamic-controller-queue", depth, gvr), queue, ERRORS)
    found = samples(metrics)
    assert found["dynamic_controller_requeue_total"] == {
        (WEBAPPS, "requeue"): 1,
        (WEBAPPS, "requeue_after"): 2,  # «later» and «pending»
        (WEBAPPS, "no_requeue"): 1,
        (WEBAPPS, "rate_limited"): 2,
    }
    assert found["dynamic_controller_handler_errors_total"] == {(WEBAPPS,): 3}
    assert found["dynamic_controller_reconcile_panics_total"] == {(WEBAPPS,): 1}
    total = found["dynamic_controller_reconcile_total"][(WEBAPPS,)]
    assert total == 8  # «again» came twice
    assert found["dynamic_controller_reconcile_duration_seconds_count"] == {(WEBAPPS,): total}
    name = ("dynamic-controller-queue", "dynamic-controller-queue")
    assert found["workqueue_adds_total"] == {name: total}
    assert found["workqueue_queue_duration_seconds_count"] == {name: total}
    assert found["workqueue_work_duration_seconds_count"] == {name: total}
    assert found["workqueue_retries_total"] == {name: 5}
    assert "controller_runtime_reconcile_total" not in found


async def test_reconciles_of_other_controllers_are_counted_as_controller_runtime_does() -> None:
    metrics, queue = Metrics(), WorkQueue[str](str)
    observer = LoopObserver(metrics, "ResourceGraphDefinition", lambda: queue.depth.ready)
    await worked(observer, queue, ERRORS)
    found = samples(metrics)
    assert found["controller_runtime_reconcile_total"] == {
        ("ResourceGraphDefinition", "success"): 2,
        ("ResourceGraphDefinition", "requeue"): 1,
        ("ResourceGraphDefinition", "requeue_after"): 2,
        ("ResourceGraphDefinition", "error"): 3,
    }
    assert found["controller_runtime_reconcile_errors_total"] == {("ResourceGraphDefinition",): 3}
    assert "dynamic_controller_reconcile_total" not in found


def test_the_depth_of_a_queue_is_read_when_the_page_is() -> None:
    metrics, queue = Metrics(), WorkQueue[str](str)
    LoopObserver(metrics, "dynamic-controller-queue", lambda: queue.depth.ready, gvr)
    queue.add("a", 0.0)
    queue.add("b", 0.0)
    found = samples(metrics)
    assert list(found["workqueue_depth"].values()) == [2]
    assert found["dynamic_controller_queue_length"] == {(): 2}


CONDITIONS = "instance_condition_current_status_seconds"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def ready(status: str, changed: datetime | None = NOON) -> Condition:
    return Condition("Ready", status, "Because", changed=changed)


class Clock:
    """A clock that is set by hand, in seconds after noon."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return NOON.timestamp() + self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def metrics(clock: Clock) -> Metrics:
    return Metrics(clock=clock)


def ages(metrics: Metrics) -> list[float]:
    return list(samples(metrics).get(CONDITIONS, {}).values())


def test_conditions_grow_older_while_nothing_happens(metrics: Metrics, clock: Clock) -> None:
    metrics.conditions.put(WEBAPPS, "shop", "front", [ready("False")])
    clock.seconds = 90
    (line,) = [line for line in metrics.page().decode().splitlines() if line.startswith(CONDITIONS)]
    assert line == (
        f'{CONDITIONS}{{condition_status="False",condition_type="Ready",gvr="{WEBAPPS}",'
        'name="front",namespace="shop",reason="Because"} 90.0'
    )
    clock.seconds = 100
    assert ages(metrics) == [100]


def test_a_condition_has_one_series_and_starts_anew_when_it_changes(
    metrics: Metrics, clock: Clock
) -> None:
    metrics.conditions.put(WEBAPPS, "shop", "front", [ready("False")])
    clock.seconds = 60
    later = datetime.fromtimestamp(clock(), UTC)
    metrics.conditions.put(WEBAPPS, "shop", "front", [ready("True", later)])
    clock.seconds = 61
    assert ages(metrics) == [1]


def test_a_condition_of_the_future_is_new(metrics: Metrics, clock: Clock) -> None:
    metrics.conditions.put(WEBAPPS, "shop", "front", [ready("True")])
    clock.seconds = -5
    assert ages(metrics) == [0]


def test_a_condition_without_a_time_counts_from_when_it_was_seen(
    metrics: Metrics, clock: Clock
) -> None:
    for clock.seconds in (10, 20):
        metrics.conditions.put(WEBAPPS, "shop", "front", [ready("True", None)])
    assert ages(metrics) == [10]
    metrics.conditions.put(WEBAPPS, "shop", "front", [ready("False", None)])
    assert ages(metrics) == [0]


def test_what_is_gone_is_not_shown(metrics: Metrics) -> None:
    conditions = metrics.conditions
    for name in ("a", "b", "c"):
        conditions.put(WEBAPPS, "shop", name, [ready("True")])
    conditions.put("kro.run/v1alpha1/others", "", "d", [ready("True")])
    conditions.put(WEBAPPS, "shop", "a", [])
    assert len(ages(metrics)) == 3
    conditions.drop(WEBAPPS, "shop", "b")
    assert len(ages(metrics)) == 2
    conditions.drop(WEBAPPS, "shop", "c")
    assert len(ages(metrics)) == 1
    conditions.drop("kro.run/v1alpha1/others", "", "d")
    assert CONDITIONS not in metrics.page().decode()
