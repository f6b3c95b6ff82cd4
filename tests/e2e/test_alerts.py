"""
The chart's alerts and dashboard, rendered by the real helm, and alerts on metrics that are scraped.
"""

import json
import os
from collections.abc import Callable

import pytest
import yaml

from kube_objects.refs import KubeObject
from tools import update_deploy
from tools.cluster.commands import find_binary
from tools.cluster.parts import ToolError
from tools.update_deploy import CHART, MODES

Record = Callable[[str, object], None]

ALERTS = {
    rule["alert"]: rule["expr"]
    for group in yaml.safe_load((CHART / "files" / "alerts.yaml").read_text("utf-8"))["groups"]
    for rule in group["rules"]
}
BOTH = {"prometheusRule.enabled": True, "grafanaDashboard.enabled": True}


@pytest.fixture
def render(record_property: Record) -> Callable[..., list[KubeObject]]:
    """Give a function that renders the chart with values, if there is a helm."""
    try:
        find_binary("helm")
    except ToolError:
        message = "the alerts were not rendered: `tools/kube/build.sh helm` builds helm"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        record_property("notice", message)
        pytest.skip(message)

    def rendered(**values: object) -> list[KubeObject]:
        words = [f"--set-json={path}={json.dumps(value)}" for path, value in values.items()]
        texts = update_deploy.render(MODES[0], *words)
        return [obj for text in texts.values() for obj in yaml.safe_load_all(text)]

    return rendered


def rules(objects: list[KubeObject]) -> dict[str, KubeObject]:
    (found,) = [each for each in objects if each["kind"] == "PrometheusRule"]
    return {rule["alert"]: rule for group in found["spec"]["groups"] for rule in group["rules"]}


def test_alerts_and_dashboard_come_when_they_are_asked_for(
    render: Callable[..., list[KubeObject]],
) -> None:
    assert not {"PrometheusRule", "ConfigMap"} & {each["kind"] for each in render()}
    objects = render(**BOTH)
    assert {name: rule["expr"] for name, rule in rules(objects).items()} == ALERTS
    (dashboard,) = [each for each in objects if each["kind"] == "ConfigMap"]
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    written = json.loads((CHART / "files" / "dashboard.json").read_text("utf-8"))
    assert json.loads(dashboard["data"]["kro-gitops.json"]) == written


def test_every_alert_links_its_runbook_and_keeps_its_texts(
    render: Callable[..., list[KubeObject]],
) -> None:
    values = {"prometheusRule.runbookURL": "https://wiki.example.com/runbooks/"}
    for name, rule in rules(render(**BOTH, **values)).items():
        url = rule["annotations"]["runbook_url"]
        assert url == f"https://wiki.example.com/runbooks/{name}.md"
        assert rule["annotations"]["summary"]
    # Templates of Prometheus are not templates of Helm.
    summary = rules(render(**BOTH))["KroGitopsSourceNotReady"]["annotations"]["summary"]
    assert summary == "Source {{ $labels.source }} is not ready"


def test_alerts_get_labels_and_can_be_left_out(render: Callable[..., list[KubeObject]]) -> None:
    values = {
        "prometheusRule.ruleLabels": {"team": "platform", "severity": "page"},
        "prometheusRule.disabled": ["KroGitopsDown"],
        "prometheusRule.additionalLabels": {"release": "monitoring"},
    }
    objects = render(**BOTH, **values)
    found = rules(objects)
    assert set(ALERTS) - set(found) == {"KroGitopsDown"}
    assert found["KroGitopsSourceNotReady"]["labels"] == {"team": "platform", "severity": "page"}
    (rule,) = [each for each in objects if each["kind"] == "PrometheusRule"]
    assert rule["metadata"]["labels"]["release"] == "monitoring"


def test_labels_of_metrics_are_not_replaced_by_those_of_the_pod(
    render: Callable[..., list[KubeObject]],
) -> None:
    # Expressions group by `namespace`, which Prometheus would rename to `exported_namespace`.
    objects = render(
        **{
            "config.metricsBindAddress": ":8078",
            "networkPolicy.metricsFrom": [{"podSelector": {}}],
            "metrics.serviceMonitor.enabled": True,
        }
    )
    (monitor,) = [each for each in objects if each["kind"] == "ServiceMonitor"]
    assert monitor["spec"]["endpoints"][0]["honorLabels"] is True
