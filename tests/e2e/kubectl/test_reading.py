"""kubectl get, describe, explain and events print on ours what they print on a real cluster."""

import pytest

from tests.e2e.kubectl import objects
from tests.e2e.kubectl.twins import Twins

pytestmark = pytest.mark.timeout(240)  # a command takes a second where others are at work

SHAPES = (
    ("-o", "wide"),
    ("-o", "yaml"),
    ("-o", "json"),
    ("-o", "name"),
    ("-o", "jsonpath={.items[*].metadata.name}"),
    ("-o", "custom-columns=NAME:.metadata.name,APP:.metadata.labels.app"),
    ("-o", "go-template={{range .items}}{{.metadata.name}} {{end}}"),
    ("--show-labels",),
    ("-L", "app"),
    ("-l", "app=shop"),
    ("-l", "app in (shop),tier!=front"),
    ("-l", "app=nothing"),
    ("--field-selector", "metadata.name=settings"),
    ("--field-selector", "data.greeting=x"),
    ("--sort-by", ".metadata.name"),
    ("--sort-by", ".metadata.labels.tier"),
    ("--show-managed-fields", "-o", "yaml"),
    ("--no-headers",),
    ("--chunk-size=1",),
    ("-o", "kyaml"),
)


def _other(name: str) -> str:
    return objects.CONFIG_MAP.replace("settings", name).replace("back", "front")


def test_config_maps_are_printed_in_every_shape(twins: Twins) -> None:
    for text in (objects.CONFIG_MAP, _other("second"), _other("another")):
        twins("create", "-f", "-", stdin=text)
    for shape in SHAPES:
        twins("get", "configmaps", *shape, code=None)


@pytest.mark.parametrize("named", objects.DESCRIBED)
def test_objects_are_described(twins: Twins, named: str) -> None:
    twins("create", "-f", "-", stdin=objects.DESCRIBED[named])
    twins("describe", named)
    twins("get", named)
    twins("get", named, "-o", "wide")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(objects.DEPLOYMENT, id="Deployment"),
        pytest.param(objects.SERVICE, id="Service"),
        pytest.param(objects.POD, id="Pod"),
        pytest.param(objects.CRON_JOB, id="CronJob"),
        pytest.param(objects.INGRESS, id="Ingress"),
        pytest.param(objects.AUTOSCALER, id="HorizontalPodAutoscaler"),
        pytest.param(objects.BUDGET, id="PodDisruptionBudget"),
        pytest.param(objects.QUOTA, id="ResourceQuota"),
    ],
)
def test_what_the_server_made_of_an_object_is_the_same(twins: Twins, text: str) -> None:
    twins("create", "-f", "-", "-o", "yaml", "--show-managed-fields", stdin=text)
    twins("create", "-f", "-", stdin=text, code=1)
    twins("replace", "-f", "-", "--force", "-o", "name", stdin=text)


def test_several_kinds_are_printed_together(twins: Twins) -> None:
    twins("apply", "-f", "-", stdin="---\n".join((objects.SERVICE, objects.INGRESS, objects.ROLE)))
    twins("get", "service,ingress,role")
    twins("get", "service/web", "ingress/front", "-o", "name")
    twins("get", "all", is_sorted=False)
    twins("get", "service", "absent", code=1)
    twins("get", "service", "absent", "--ignore-not-found")
    twins("get", "nonsense", code=1)
    twins("get", "services", "-A", "-l", "app=nothing")
    twins("describe", "service", "absent", code=1)
    twins("describe", "service", "we")


def test_a_namespace_is_described(twins: Twins) -> None:
    twins("apply", "-f", "-", stdin=objects.QUOTA + "---\n" + objects.LIMIT_RANGE)
    twins("describe", "namespace", twins.namespace)
    twins("get", "namespace", twins.namespace)
    twins("get", "namespace", twins.namespace, "-o", "wide")


EXPLAINED = (
    ("pods",),
    ("pod.spec.containers",),
    ("deployment.spec.strategy", "--recursive"),
    ("configmaps", "--recursive"),
    ("services.spec.ports",),
    ("deployments", "--api-version=apps/v1"),
    ("customresourcedefinition.spec.versions",),
    ("pods.nonsense",),
    ("nonsense",),
)


@pytest.mark.parametrize("arguments", EXPLAINED, ids=" ".join)
def test_kinds_are_explained(twins: Twins, arguments: tuple[str, ...]) -> None:
    twins("explain", *arguments, code=None)


@pytest.mark.parametrize(
    "arguments",
    [
        ("api-versions",),
        ("api-resources",),
        ("api-resources", "-o", "wide"),
        ("api-resources", "--namespaced=false", "-o", "name"),
        ("api-resources", "--api-group=apps"),
        ("api-resources", "--verbs=list,get", "--sort-by=name"),
        ("api-resources", "--categories=all"),
    ],
    ids=" ".join,
)
def test_what_is_served_is_the_same(twins: Twins, arguments: tuple[str, ...]) -> None:
    real, ours = twins.apart(*arguments)
    assert ours.code == real.code == 0
    # Definitions of other tests come and go.
    wanted, found = _without_tests(real.normal().out), _without_tests(ours.normal().out)
    assert found == wanted


def _without_tests(text: str) -> list[str]:
    known = ("k8s.io", "apps", "batch", "policy", "autoscaling", " v1 ", "NAME")
    kept = [line for line in text.splitlines() if ".tests" not in line]
    return [line for line in kept if any(word in line for word in known) or "." not in line]


def test_events_are_listed(twins: Twins) -> None:
    text = f"""\
apiVersion: v1
kind: Event
metadata: {{name: it.happened, namespace: {twins.namespace}}}
involvedObject: {{kind: ConfigMap, name: settings, namespace: {twins.namespace}}}
reason: Changed
message: somebody changed it
type: Normal
count: 2
source: {{component: people}}
firstTimestamp: "2026-01-02T03:04:05Z"
lastTimestamp: "2026-01-02T03:04:06Z"
"""
    twins("create", "-f", "-", stdin=text)
    twins("events")
    twins("events", "--for", "configmap/settings")
    twins("events", "--types=Warning")
    twins("get", "events")
    twins("get", "events", "-o", "wide")
    twins("get", "events", "--field-selector", "involvedObject.kind=ConfigMap,type=Normal")
    twins("create", "-f", "-", stdin=objects.CONFIG_MAP)
    twins("describe", "configmap", "settings")
    twins("get", "events.events.k8s.io", "-o", "yaml")


def test_what_a_cluster_says_of_itself(twins: Twins) -> None:
    twins("version", "-o", "json")
    twins("version")
    twins("cluster-info")
    twins("get", "--raw", "/healthz")
    twins("top", "pods", code=1)
    twins("top", "nodes", code=1)
    twins("get", "nodes", code=None) if not twins.real.run("get", "nodes").out else None


def test_rights_are_told(twins: Twins) -> None:
    twins("apply", "-f", "-", stdin="---\n".join((objects.ROLE, objects.BINDING, objects.ACCOUNT)))
    robot = f"--as=system:serviceaccount:{twins.namespace}:robot"
    twins("auth", "can-i", "get", "configmaps", robot)
    twins("auth", "can-i", "delete", "configmaps", robot, code=1)
    twins("auth", "can-i", "get", "configmaps", "--all-namespaces", robot, code=1)
    twins("auth", "can-i", "get", "/healthz", robot, code=None)
    twins("auth", "can-i", "--list", robot, is_sorted=False)
    twins("auth", "can-i", "*", "*")
    twins("auth", "whoami", robot)
    twins("get", "configmaps", robot, "-o", "name", within=5)
    twins("get", "secrets", robot, code=1)
    twins("delete", "configmap", "x", robot, code=1)
    twins("auth", "reconcile", "-f", "-", "--dry-run=client", stdin=objects.ROLE)
    twins("create", "token", "robot", "--duration=1s", code=1)
