import json
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.autoscaling.conversion import BEHAVIOR, METRICS, to_v1, to_v2
from kube_sandbox.registry.builtin.autoscaling.strategy import cpu_metric

TARGET = {"kind": "Deployment", "name": "x", "apiVersion": "apps/v1"}
RAW = {"type": "AverageValue", "averageValue": "10"}
VALUE = {"type": "Value", "value": "10"}
BUSY = {"type": "Utilization", "averageUtilization": 50}
OTHERS: list[KubeObject] = [
    {"type": "Resource", "resource": {"name": "memory", "target": {**RAW, "averageValue": "1Gi"}}},
    {
        "type": "Pods",
        "pods": {
            "metric": {"name": "m", "selector": {"matchLabels": {"a": "b"}}},
            "target": RAW,
        },
    },
    {
        "type": "Object",
        "object": {
            "describedObject": {"kind": "Service", "name": "s"},
            "target": VALUE,
            "metric": {"name": "m"},
        },
    },
    {"type": "External", "external": {"metric": {"name": "m"}, "target": VALUE}},
    {
        "type": "ContainerResource",
        "containerResource": {"name": "cpu", "target": BUSY, "container": "c"},
    },
]
# As a real API server writes them.
CARRIED = (
    '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}},'
    '{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"10",'
    '"selector":{"matchLabels":{"a":"b"}}}},'
    '{"type":"Object","object":{"target":{"kind":"Service","name":"s"},"metricName":"m",'
    '"targetValue":"10"}},'
    '{"type":"External","external":{"metricName":"m","targetValue":"10"}},'
    '{"type":"ContainerResource","containerResource":{"name":"cpu",'
    '"targetAverageUtilization":50,"container":"c"}}]'
)
BEHAVES = {
    "scaleUp": {
        "stabilizationWindowSeconds": 5,
        "selectPolicy": "Max",
        "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}],
        "tolerance": "100m",
    },
    "scaleDown": {
        "selectPolicy": "Max",
        "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
    },
}
CARRIED_BEHAVIOR = (
    '{"ScaleUp":{"StabilizationWindowSeconds":5,"SelectPolicy":"Max","Policies":[{"Type":"Pods",'
    '"Value":4,"PeriodSeconds":15}],"Tolerance":"100m"},"ScaleDown":{"StabilizationWindowSeconds":'
    'null,"SelectPolicy":"Max","Policies":[{"Type":"Percent","Value":100,"PeriodSeconds":15}],'
    '"Tolerance":null}}'
)


def autoscaler(**spec: Any) -> KubeObject:
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h", "annotations": {"x": "y"}},
        "spec": {"scaleTargetRef": TARGET, "minReplicas": 1, "maxReplicas": 3, **spec},
        "status": {"desiredReplicas": 0, "currentMetrics": None},
    }


def test_the_one_metric_that_v1_knows_is_a_field_there() -> None:
    found = to_v1(autoscaler(metrics=[cpu_metric(50)]))
    assert found["apiVersion"] == "autoscaling/v1"
    assert found["spec"] == {
        "scaleTargetRef": TARGET,
        "minReplicas": 1,
        "maxReplicas": 3,
        "targetCPUUtilizationPercentage": 50,
    }
    assert found["metadata"]["annotations"] == {"x": "y"}
    assert found["status"] == {"currentReplicas": 0, "desiredReplicas": 0}


def test_other_metrics_and_the_behavior_are_carried_in_annotations() -> None:
    found = to_v1(autoscaler(metrics=[*OTHERS, cpu_metric(50)], behavior=BEHAVES))
    annotations = found["metadata"]["annotations"]
    assert annotations[METRICS] == CARRIED
    assert annotations[BEHAVIOR] == CARRIED_BEHAVIOR


def test_nothing_is_lost_on_the_way_there_and_back() -> None:
    obj = autoscaler(metrics=[*OTHERS, cpu_metric(50)], behavior=BEHAVES)
    assert to_v2(to_v1(obj)) == obj


def test_a_status_is_carried_too() -> None:
    obj = autoscaler(metrics=[cpu_metric(50)])
    measured = {"name": "cpu", "current": {"averageUtilization": 7, "averageValue": "1m"}}
    condition = {"type": "AbleToScale", "status": "True", "reason": "R", "message": "a <b>"}
    obj["status"] = {
        "currentReplicas": 2,
        "desiredReplicas": 3,
        "currentMetrics": [{"type": "Resource", "resource": measured}],
        "conditions": [condition],
    }
    found = to_v1(obj)
    assert found["status"]["currentCPUUtilizationPercentage"] == 7
    assert to_v2(found) == obj


def test_without_any_metric_processors_are_meant() -> None:
    obj = to_v1(autoscaler())
    assert to_v2(obj)["spec"]["metrics"] == [cpu_metric(80)]


def test_an_annotation_that_cannot_be_read_counts_for_nothing() -> None:
    obj = to_v1(autoscaler())
    obj["metadata"]["annotations"][METRICS] = "{"
    found = to_v2(obj)
    assert found["spec"]["metrics"] == [cpu_metric(80)]
    assert found["metadata"]["annotations"] == {"x": "y"}
    assert json.dumps(found)
