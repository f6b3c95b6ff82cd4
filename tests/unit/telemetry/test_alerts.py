"""
Alerts, runbooks and the dashboard of the chart: they use metrics that exist, and alerts fire.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kro_gitops.telemetry.metrics import Declared, Metrics
from tests.promql import Page, evaluate, groupings, selectors

REPOSITORY = Path(__file__).parents[3]
FILES = REPOSITORY / "deploy" / "helm" / "kro-gitops" / "files"
RUNBOOKS = REPOSITORY / "docs" / "runbooks"
GROUPS = yaml.safe_load((FILES / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
ALERTS = {rule["alert"]: rule for group in GROUPS for rule in group["rules"]}
DASHBOARD = json.loads((FILES / "dashboard.json").read_text(encoding="utf-8"))
PANELS = {
    f"{panel['title']} {target['refId']}": target["expr"].replace("$source", ".*")
    for panel in DASHBOARD["panels"]
    for target in panel["targets"]
}
EXPRESSIONS = {**{name: rule["expr"] for name, rule in ALERTS.items()}, **PANELS}
SUFFIXES = ("_bucket", "_count", "_sum")
WEBAPPS = "kro.run/v1alpha1, Resource=webapps"


def labels_of() -> dict[str, frozenset[str]]:
    """Return the labels of each sample that the program exports."""
    metrics, found = Metrics(), dict[str, frozenset[str]]()
    for name, row in vars(Metrics).items():
        if isinstance(row, Declared):
            metric = getattr(metrics, name)
            labels = frozenset(metric._labelnames)
            found[name] = labels
            found |= {f"{name}{suffix}": labels | {"le"} for suffix in SUFFIXES}
    return found


LABELS = labels_of()


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression_uses_only_metrics_and_labels_that_exist(name: str) -> None:
    used = list(selectors(EXPRESSIONS[name]))
    assert used
    known = set[str]()
    for each in used:
        assert each.name in LABELS, each.name
        known |= LABELS[each.name]
        assert {matcher.name for matcher in each.matchers.matchers} <= LABELS[each.name]
    for labels in groupings(EXPRESSIONS[name]):
        assert set(labels) <= known


def test_every_alert_has_a_runbook_and_every_runbook_an_alert() -> None:
    assert {path.stem for path in RUNBOOKS.glob("*.md")} == set(ALERTS)


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_says_what_it_means_and_its_runbook_what_to_do(name: str) -> None:
    rule = ALERTS[name]
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert rule["annotations"].keys() == {"summary", "description"}
    texts = " ".join(rule["annotations"].values())
    aggregated = {label for labels in groupings(rule["expr"]) for label in labels}
    assert set(re.findall(r"\$labels\.(\w+)", texts)) <= aggregated
    page = (RUNBOOKS / f"{name}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {name}\n\n**Meaning.** ")
    for part in ("\n**Impact.** ", "\n## Diagnosis\n", "$ k", "\n## Remedy\n\n- "):
        assert part in page


def test_the_dashboard_has_a_data_source_to_choose_and_panels_that_do_not_overlap() -> None:
    assert DASHBOARD["templating"]["list"][0]["type"] == "datasource"
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(ids)) == len(ids)
    taken = set[tuple[int, int]]()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert max(x for x, _ in cells) < 24
        assert not cells & taken
        taken |= cells


def pages(before: Callable[[Metrics], Any], after: Callable[[Metrics], Any]) -> list[Page]:
    """Return two pages, ten minutes apart."""
    metrics = Metrics()
    metrics.kro_gitops_leader.set(1)
    before(metrics)
    first = Page.parse(0, metrics.page().decode())
    after(metrics)
    return [first, Page.parse(600, metrics.page().decode())]


def api_errors(metrics: Metrics, count: int) -> None:
    for code in ("200", "<error>"):
        metrics.rest_client_requests_total.labels(code, "GET", "").inc(count)


def has_condition(type_: str) -> Callable[[Metrics], Any]:
    return lambda m: m.kro_gitops_source_condition.labels("gitops/shop", type_).set(1)


def slow(metrics: Metrics) -> None:
    for _ in range(10):
        metrics.workqueue_queue_duration_seconds.labels("sources", "sources").observe(60)
        metrics.instance_reconcile_duration_seconds.labels(WEBAPPS).observe(50)


def nothing(_: Metrics) -> None:
    """Leave everything as it is."""


# What makes each alert fire: what happened before, and what happens within ten minutes.
Step = Callable[[Metrics], Any]
CASES: dict[str, tuple[Step, Step]] = {
    "KroGitopsLeaderMissing": (lambda m: m.kro_gitops_leader.set(0), nothing),
    "KroGitopsReconcilePanics": (
        lambda m: m.dynamic_controller_reconcile_panics_total.labels(WEBAPPS),
        lambda m: m.dynamic_controller_reconcile_panics_total.labels(WEBAPPS).inc(),
    ),
    "KroGitopsReconcileErrors": (
        lambda m: m.controller_runtime_reconcile_errors_total.labels("sources"),
        lambda m: m.controller_runtime_reconcile_errors_total.labels("sources").inc(100),
    ),
    "KroGitopsQueueDeep": (lambda m: m.workqueue_depth.labels("q", "q", "").set(500), nothing),
    "KroGitopsWorkersSaturated": (slow, slow),
    "KroGitopsApiErrors": (
        lambda m: api_errors(m, 0),
        lambda m: api_errors(m, 10),
    ),
    "KroGitopsApiForbidden": (
        lambda m: m.kro_gitops_api_requests_total.labels("list", "Secret", "403"),
        lambda m: m.kro_gitops_api_requests_total.labels("list", "Secret", "403").inc(),
    ),
    "KroGitopsSourceNotReady": (
        lambda m: m.kro_gitops_source_ready.labels("gitops/shop").set(0),
        nothing,
    ),
    "KroGitopsSourceStale": (
        lambda m: m.kro_gitops_source_stale.labels("gitops/shop").set(1),
        nothing,
    ),
    "KroGitopsSourceFetchFailed": (has_condition("FetchFailed"), nothing),
    "KroGitopsSourceDegraded": (has_condition("Degraded"), nothing),
    "KroGitopsPruneLimitHeld": (has_condition("PruneBlocked"), nothing),
    "KroGitopsSourceHeld": (has_condition("Suspended"), nothing),
    "KroGitopsChildrenHeld": (lambda m: m.kro_gitops_children_held.set(13), nothing),
    "KroGitopsInstanceErrors": (
        lambda m: m.instance_reconcile_errors_total.labels(WEBAPPS),
        lambda m: m.instance_reconcile_errors_total.labels(WEBAPPS).inc(),
    ),
    "KroGitopsInstanceStateError": (
        lambda m: m.instance_state_transitions_total.labels(WEBAPPS, "ACTIVE", "ERROR"),
        lambda m: m.instance_state_transitions_total.labels(WEBAPPS, "ACTIVE", "ERROR").inc(),
    ),
    "KroGitopsInstanceReconcileSlow": (slow, slow),
    "KroGitopsEvaluationStopped": (
        lambda m: m.kro_gitops_evaluation_stopped_total.labels(WEBAPPS, "shop"),
        lambda m: m.kro_gitops_evaluation_stopped_total.labels(WEBAPPS, "shop").inc(),
    ),
    "KroGitopsDefinitionBroken": (
        lambda m: m.rgd_graph_build_errors_total.labels("webapp"),
        lambda m: m.rgd_graph_build_errors_total.labels("webapp").inc(),
    ),
    "KroGitopsDriftFight": (
        lambda m: m.kro_gitops_repairs_delayed_total.labels("Deployment"),
        lambda m: m.kro_gitops_repairs_delayed_total.labels("Deployment").inc(2),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_alert_fires_for_what_it_is_about_and_only_then(name: str) -> None:
    before, after = CASES[name]
    assert evaluate(ALERTS[name]["expr"], pages(before, after))
    assert not evaluate(ALERTS[name]["expr"], pages(nothing, nothing))


def test_without_any_metrics_the_controller_is_down() -> None:
    expression = ALERTS["KroGitopsDown"]["expr"]
    assert evaluate(expression, [Page(0, {})])
    assert not evaluate(expression, pages(nothing, nothing))


def test_every_alert_has_a_case() -> None:
    assert set(CASES) | {"KroGitopsDown"} == set(ALERTS)
