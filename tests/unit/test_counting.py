"""What the engine does, as the metrics page tells it."""

from datetime import UTC, datetime

import pytest

from kro_gitops.control.loop import Report
from kro_gitops.control.outcome import Outcome
from kro_gitops.counting import Counting, InstanceLoop, Plurals, resource_text
from kro_gitops.engine.controllers.engine import INSTANCES
from kro_gitops.errors import Unavailable
from kro_gitops.metrics import Metrics
from kro_gitops.objects.conditions import Condition
from kro_gitops.objects.refs import Kind, ObjectRef

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


def lines(metrics: Metrics, name: str) -> list[str]:
    page = metrics.page().decode()
    return [line for line in page.splitlines() if line.startswith(f"{name}{{")]


def test_resources_are_printed_as_go_prints_them() -> None:
    assert resource_text(KIOSK, "kiosks") == GVR
    assert resource_text(Kind("", "v1", "Secret"), "secrets") == "/v1, Resource=secrets"


def test_children_and_repairs_are_counted_apart(metrics: Metrics) -> None:
    counting = Counting(metrics, conditions=False)
    counting.child_applied(Kind("", "v1", "Secret"), is_repair=False)
    counting.child_applied(Kind("", "v1", "Secret"), is_repair=True)
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
    Counting(metrics, conditions=False).graph_resolved(CORNER, "kiosks", outcome)
    (line,) = lines(metrics, name)
    assert f'gvr="{GVR}"' in line
    assert line.endswith(" 1.0")


def test_conditions_are_kept_only_if_that_is_asked_for(metrics: Metrics) -> None:
    since = Condition("Ready", "True", changed=datetime(2026, 1, 1, tzinfo=UTC))
    Counting(metrics, conditions=False).conditions_written(CORNER, "kiosks", [since])
    assert "corner" not in metrics.page().decode()
    counting = Counting(metrics, conditions=True)
    counting.conditions_written(CORNER, "kiosks", [since])
    assert "corner" in metrics.page().decode()
    counting.instance_gone(CORNER, "kiosks")
    assert "corner" not in metrics.page().decode()


def test_the_first_state_of_a_definition_is_no_change(metrics: Metrics) -> None:
    counting = Counting(metrics, conditions=False)
    counting.definition_changed("kiosk", "", "Active")
    assert lines(metrics, "rgd_state_transitions_total") == []
    counting.definition_changed("kiosk", "Active", "Inactive")
    assert len(lines(metrics, "rgd_state_transitions_total")) == 1


def finished(metrics: Metrics, error: Exception | None = None, kind: Kind = KIOSK) -> None:
    plurals = Plurals()
    plurals.ask(Engine())
    key = ObjectRef(kind, "town", "corner")
    outcome = Outcome(is_failure=error is not None)
    InstanceLoop(metrics, plurals).finished(Report(key, None, outcome, error, 0.0, 0.1))


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
    plurals = Plurals()
    assert plurals.depth_of(INSTANCES) == 0
    assert plurals.slashed(CORNER) == "kro.run/v1/kiosk"
    plurals.ask(Engine())
    assert plurals.depth_of(INSTANCES) == 3
    assert plurals.slashed(CORNER) == "kro.run/v1/kiosks"
