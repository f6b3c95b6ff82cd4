"""What the engine does, as the metrics page tells it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kro_gitops.app.observers import (
    EngineMetrics,
    InstanceLoopObserver,
    ResourceNames,
    SourceMetrics,
    WatchMetrics,
    resource_text,
)
from kro_gitops.control.loop import ReconcileReport
from kro_gitops.control.outcome import Outcome
from kro_gitops.engine.controllers.engine import INSTANCES
from kro_gitops.engine.controllers.watches import Watches
from kro_gitops.engine.watchset import ObjectWatch, SelectorWatch
from kro_gitops.errors import Unavailable
from kro_gitops.telemetry.metrics import Metrics
from kube_objects.conditions import Condition
from kube_objects.label_selectors import Selector
from kube_objects.refs import Kind, ObjectRef
from tests.builders import config_map, definition, graph, instance, resource
from tests.small_cluster import SmallCluster

KIOSK = Kind("kro.run", "v1", "Kiosk")
CORNER = ObjectRef(KIOSK, "town", "corner")
GVR = "kro.run/v1, Resource=kiosks"


class Engine:
    """An engine that serves one kind."""

    def due(self, queue: str) -> int:
        return 3 if queue == INSTANCES else 0

    def plural_of(self, kind: Kind) -> str:
        return "kiosks" if kind == KIOSK else ""


@pytest.fixture
def metrics() -> Metrics:
    return Metrics("v0.9.4")


def counting(metrics: Metrics, *, conditions: bool = False) -> EngineMetrics:
    plurals = ResourceNames()
    plurals.set_engine(Engine())
    return EngineMetrics(metrics, plurals, conditions=conditions)


def value(metrics: Metrics, name: str) -> float:
    """Return the value of a metric without labels."""
    page = metrics.page().decode().splitlines()
    return next(float(line.split()[1]) for line in page if line.startswith(f"{name} "))


def lines(metrics: Metrics, name: str) -> list[str]:
    page = metrics.page().decode()
    return [line for line in page.splitlines() if line.startswith(f"{name}{{")]


def test_resources_are_printed_as_go_prints_them() -> None:
    assert resource_text(KIOSK, "kiosks") == GVR
    assert resource_text(Kind("", "v1", "Secret"), "secrets") == "/v1, Resource=secrets"


def test_children_and_repairs_are_counted_apart(metrics: Metrics) -> None:
    observer = counting(metrics)
    observer.child_applied(Kind("", "v1", "Secret"), is_repair=False)
    observer.child_applied(Kind("", "v1", "Secret"), is_repair=True)
    assert lines(metrics, "kro_gitops_children_applied_total")[0].endswith('{kind="Secret"} 2.0')
    assert lines(metrics, "kro_gitops_drift_repaired_total")[0].endswith('{kind="Secret"} 1.0')


@pytest.mark.parametrize(
    ("outcome", "name"),
    [
        ("success", "instance_graph_resolution_success_total"),
        ("pending", "instance_graph_resolution_pending_total"),
        ("failed", "instance_graph_resolution_failures_total"),
    ],
)
def test_graphs_are_counted_by_outcome(metrics: Metrics, outcome: str, name: str) -> None:
    counting(metrics).graph_resolved(CORNER, "kiosks", outcome)
    (line,) = lines(metrics, name)
    assert f'gvr="{GVR}"' in line
    assert line.endswith(" 1.0")


def test_conditions_are_kept_only_if_that_is_asked_for(metrics: Metrics) -> None:
    since = Condition("Ready", "True", changed=datetime(2026, 1, 1, tzinfo=UTC))
    counting(metrics).conditions_written(CORNER, "kiosks", [since])
    assert "corner" not in metrics.page().decode()
    keeping = counting(metrics, conditions=True)
    keeping.conditions_written(CORNER, "kiosks", [since])
    assert "corner" in metrics.page().decode()
    keeping.instance_gone(CORNER, "kiosks")
    assert "corner" not in metrics.page().decode()


def test_the_first_state_of_a_definition_is_no_change(metrics: Metrics) -> None:
    observer = counting(metrics)
    observer.definition_changed("kiosk", "", "Active")
    assert lines(metrics, "rgd_state_transitions_total") == []
    observer.definition_changed("kiosk", "Active", "Inactive")
    assert len(lines(metrics, "rgd_state_transitions_total")) == 1


def test_the_time_of_expressions_is_counted_by_kind_and_namespace(metrics: Metrics) -> None:
    observer = counting(metrics)
    observer.evaluated(CORNER, "kiosks", 0.5)
    observer.evaluated(CORNER, "kiosks", 0.25)
    observer.evaluation_stopped(CORNER, "kiosks")
    (line,) = lines(metrics, "kro_gitops_evaluation_cpu_seconds_total")
    assert f'gvr="{GVR}"' in line
    assert 'namespace="town"' in line
    assert line.endswith(" 0.75")
    (line,) = lines(metrics, "kro_gitops_evaluation_stopped_total")
    assert line.endswith(" 1.0")


def test_a_pass_tells_what_became_of_its_nodes(metrics: Metrics) -> None:
    made = graph(
        definition(
            resource("on", config_map("on")),
            resource("off", config_map("off"), includeWhen=["${schema.spec.wanted}"]),
            resource("many", config_map("${w}"), forEach=[{"w": "${schema.spec.words}"}]),
            spec={"wanted": "boolean", "words": "[]string"},
        )
    )
    run = SmallCluster().run(made, instance({"wanted": False, "words": ["a", "b", "c"]}))
    counting(metrics).passed(run, 0.01)
    assert value(metrics, "runtime_node_eval_total") == 3
    assert value(metrics, "runtime_node_ignored_total") == 1
    assert value(metrics, "runtime_collection_size_sum") == 3
    assert value(metrics, "cel_expr_eval_total") > 3


def test_changes_are_counted_whether_or_not_they_wake_anybody(metrics: Metrics) -> None:
    observer = counting(metrics)
    observer.change_routed(KIOSK, woke=True)
    observer.change_routed(KIOSK, woke=False)
    assert lines(metrics, "dynamic_controller_route_total")[0].endswith(" 2.0")
    assert lines(metrics, "dynamic_controller_route_match_total")[0].endswith(" 1.0")


def finished(metrics: Metrics, error: Exception | None = None, kind: Kind = KIOSK) -> None:
    plurals = ResourceNames()
    plurals.set_engine(Engine())
    key = ObjectRef(kind, "town", "corner")
    outcome = Outcome(is_failure=error is not None)
    InstanceLoopObserver(metrics, plurals).finished(ReconcileReport(key, outcome, error, 0.0, 0.1))


def test_passes_are_counted_by_kind(metrics: Metrics) -> None:
    finished(metrics)
    assert lines(metrics, "instance_reconcile_total") == [
        f'instance_reconcile_total{{gvr="{GVR}"}} 1.0'
    ]
    assert lines(metrics, "instance_reconcile_errors_total") == []


def test_passes_that_failed_are_counted_as_such(metrics: Metrics) -> None:
    finished(metrics, Unavailable("x", "down"))
    assert len(lines(metrics, "instance_reconcile_errors_total")) == 1


def test_a_kind_that_is_no_longer_served_still_has_a_name(metrics: Metrics) -> None:
    finished(metrics, kind=Kind("kro.run", "v1", "Gone"))
    (line,) = lines(metrics, "instance_reconcile_total")
    assert 'gvr="kro.run/v1, Resource=gone"' in line


def test_without_an_engine_nothing_is_due() -> None:
    plurals = ResourceNames()
    assert plurals.depth_of(INSTANCES) == 0
    assert plurals.slashed(CORNER) == "kro.run/v1/kiosk"
    plurals.set_engine(Engine())
    assert plurals.depth_of(INSTANCES) == 3
    assert plurals.slashed(CORNER) == "kro.run/v1/kiosks"


def test_the_steps_of_a_source_are_timed_however_they_end(metrics: Metrics) -> None:
    sources = SourceMetrics(metrics)
    sources.timed("shop/repo", "fetch", 1.5)
    with pytest.raises(Unavailable), sources.step("shop/repo", "fetch"):
        raise Unavailable("gone", "the remote is gone")
    page = metrics.page().decode()
    labels = 'source="shop/repo",step="fetch"'
    assert f"kro_gitops_source_step_seconds_count{{{labels}}} 2.0" in page


def test_informers_are_counted_when_they_start_and_stop(metrics: Metrics) -> None:
    observer = counting(metrics)
    observer.handler_attached("parent")
    observer.handler_attached("child")
    observer.handler_detached("child")
    observer.informer_synced(KIOSK, 0.2)
    assert lines(metrics, "dynamic_controller_handler_attach_total") == [
        'dynamic_controller_handler_attach_total{type="parent"} 1.0',
        'dynamic_controller_handler_attach_total{type="child"} 1.0',
    ]
    assert lines(metrics, "dynamic_controller_handler_detach_total") == [
        'dynamic_controller_handler_detach_total{type="child"} 1.0'
    ]
    assert lines(metrics, "dynamic_controller_handler_count_total") == [
        'dynamic_controller_handler_count_total{type="parent"} 1.0',
        'dynamic_controller_handler_count_total{type="child"} 0.0',
    ]
    name = "dynamic_controller_informer_sync_duration_seconds_sum"
    assert lines(metrics, name) == [f'{name}{{gvr="{GVR}"}} 0.2']


def test_errors_of_revisions_and_schemas_are_counted(metrics: Metrics) -> None:
    observer = counting(metrics)
    observer.revision_gc_failed()
    observer.revision_status_failed()
    observer.revision_released()
    observer.graphs_evicted(2)
    observer.schema_fetched(0.5, succeeded=True)
    observer.schema_fetched(0.5, succeeded=False)
    observer.schema_evicted()
    observer.schemas_cached(2)
    assert value(metrics, "rgd_graph_revision_gc_errors_total") == 1
    assert value(metrics, "graph_revision_status_update_errors_total") == 1
    assert value(metrics, "graph_revision_finalizer_evictions_total") == 1
    assert value(metrics, "graph_revision_registry_evictions_total") == 2
    assert value(metrics, "schema_resolver_errors_total") == 1
    assert value(metrics, "schema_resolver_cache_evictions_total") == 1
    assert value(metrics, "schema_resolver_cache_size") == 2
    assert value(metrics, "schema_resolver_api_call_duration_seconds_sum") == 1.0


async def test_watches_of_external_objects_are_counted_and_dropped(metrics: Metrics) -> None:
    plurals = ResourceNames()
    plurals.set_engine(Engine())
    reader: Any = None  # nothing is served, so nothing is read
    watches = Watches(reader, lambda key, delay=0.0: None)
    gauges = WatchMetrics(metrics, plurals)
    watches.router.watch_set.look(CORNER, ObjectWatch(KIOSK, "town", "other"))
    watches.router.watch_set.look(
        CORNER, SelectorWatch(KIOSK, "town", Selector.parse({"matchLabels": {"a": "b"}}))
    )
    gauges.update(watches)
    name = "dynamic_controller_watch_request_count"
    assert sorted(lines(metrics, name)) == [
        f'{name}{{gvr="{GVR}",type="collection"}} 1.0',
        f'{name}{{gvr="{GVR}",type="scalar"}} 1.0',
    ]
    assert lines(metrics, "dynamic_controller_instance_watch_count") == [
        f'dynamic_controller_instance_watch_count{{parent_gvr="{GVR}"}} 1.0'
    ]
    watches.router.watch_set.forget(CORNER)
    gauges.update(watches)
    assert lines(metrics, name) == []
    assert lines(metrics, "dynamic_controller_instance_watch_count") == []
