"""
What is in `deploy/`: it renders, says what it means, and a real API server accepts it.

The chart is rendered by the real helm (`tools/kube/build.sh helm`), kustomizations by kubectl.
"""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kro_gitops import __version__
from kro_gitops.engine.crd.own import own_crds
from kro_gitops.engine.crd.plurals import pluralize
from kro_gitops.settings.flags import OPTIONS
from kro_gitops.settings.option import Gate, Group
from kro_gitops.settings.settings import parse_settings
from kro_gitops.source.api.crd import source_crds
from kro_gitops.source.webhooks.endpoints import PREFIX as WEBHOOK_PREFIX
from kube_objects.refs import KubeObject
from tests.rights import Kubectl, controller_rights, overlay
from tools import update_deploy
from tools.cluster.commands import find_binary
from tools.cluster.embedded import embedded_plane
from tools.cluster.parts import ToolError
from tools.cluster.plane import Plane
from tools.update_deploy import CHART, DEPLOY, MODES, NAMESPACE, RELEASE, ROOT

Record = Callable[[str, object], None]
Render = Callable[..., list[KubeObject]]
Rights = set[tuple[str, str, str, str]]

APPLY = ("apply", "--server-side", "--force-conflicts")
VALUES = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))

ROLE = yaml.safe_load((DEPLOY / "examples" / "aggregated-role.yaml").read_text(encoding="utf-8"))
WEBAPP = ROOT / "examples" / "repo" / "rgds" / "webapp.yaml"


def tool(name: str, record_property: Record) -> str:
    """Find a binary, or end the test: loudly, and in CI with a failure."""
    try:
        return find_binary(name)
    except ToolError:
        message = f"deploy/ was not tested with {name}: `tools/kube/build.sh {name}` builds it"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    record_property("notice", message)
    pytest.skip(message)


@pytest.fixture
def helm(record_property: Record) -> str:
    """Give helm."""
    return tool("helm", record_property)


@pytest.fixture
def kubectl(record_property: Record) -> str:
    """Give kubectl."""
    return tool("kubectl", record_property)


@pytest.fixture
def render(helm: str) -> Render:
    """Give a function that renders the chart with values."""
    del helm  # it is found again

    def rendered(mode: str = MODES[0], **values: Any) -> list[KubeObject]:
        words = [f"--set-json={path}={json.dumps(value)}" for path, value in values.items()]
        texts = update_deploy.render(mode, *words)
        return [obj for text in texts.values() for obj in yaml.safe_load_all(text)]

    return rendered


def one(objects: list[KubeObject], kind: str) -> KubeObject:
    (found,) = [obj for obj in objects if obj["kind"] == kind]
    return found


def kinds(objects: list[KubeObject]) -> set[str]:
    return {obj["kind"] for obj in objects}


def container(objects: list[KubeObject]) -> dict[str, Any]:
    (found,) = one(objects, "Deployment")["spec"]["template"]["spec"]["containers"]
    return dict(found)


def rights(objects: list[KubeObject], *suffixes: str) -> Rights:
    """Give what roles allow: who it is for, group, resource, verb."""
    return {
        (obj["kind"], group, resource, verb)
        for obj in objects
        if obj["kind"] in ("Role", "ClusterRole") and obj["metadata"]["name"].endswith(suffixes)
        for rule in obj.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


CONTROLLERS = (":controller", ":static", ":lease")
# Prometheus scrapes it.
SCRAPED: dict[str, Any] = {
    "config.metricsBindAddress": ":8078",
    "networkPolicy.metricsFrom": [
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
    ],
    "metrics.serviceMonitor.enabled": True,
}


# What the chart says.


def test_the_chart_is_of_the_program() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["version"] == chart["appVersion"] == __version__


def test_the_safe_choice_is_the_default() -> None:
    assert VALUES["rbac"]["mode"] == MODES[0] == "aggregation"
    assert VALUES["networkPolicy"]["enabled"] is True
    assert VALUES["config"]["metricsBindAddress"].startswith("127.0.0.1:")
    assert VALUES["config"]["allowPrivateNetworks"] is False
    assert VALUES["config"]["allowPlainHttp"] is False
    context = VALUES["deployment"]["securityContext"]
    assert context["readOnlyRootFilesystem"] is True
    assert context["runAsNonRoot"] is True


def test_flags_are_those_of_the_program_with_its_defaults() -> None:
    known = {flag: option for option in OPTIONS for flag in option.flags}
    on = {option.flags[0] for option in OPTIONS if option.is_switch and option.default == "true"}
    text = (DEPLOY / "kustomize" / "base" / "deployment.yaml").read_text(encoding="utf-8")
    verb, *given = container([yaml.safe_load(text)])["args"]
    assert verb == "run"
    others = set()
    for flag, _, value in (word.partition("=") for word in given):
        if flag in on:
            continue
        if not value or known[flag].default != value:
            others.add(flag)
    # Replicas elect a leader, nobody sits at a Pod's terminal, and its disk is a volume.
    assert others == {"--in-cluster", "--leader-elect", "--log-format", "--storage-path"}


def test_the_program_understands_what_the_chart_tells_it(render: Render) -> None:
    given = {}
    for word in container(render(**{"config.events": False}))["args"][1:]:
        name, _, value = word.removeprefix("--").partition("=")
        switch = "false" if name.startswith("no-") else "true"
        given[name.removeprefix("no-")] = value or switch
    settings = parse_settings(given, {})
    assert settings.in_cluster
    assert settings.leader_elect
    assert settings.install_crds
    assert not settings.events
    assert not settings.ignored


SOURCES: dict[str, Any] = {
    "config.defaultServiceAccount": "tenant",
    "config.instancesOwnNamespaceOnly": True,
    "config.noCrossNamespaceRefs": True,
    "config.watchNamespaces": ["team-a", "team-b"],
    "config.allowPrivateNetworks": True,
    "config.allowPlainHttp": True,
    "config.allowedGitHosts": ["git.example.com", "*.example.org"],
    "config.webhookBindAddress": ":8080",
    "config.storagePath": "/data",
    "config.sourceConcurrentReconciles": 2,
    "repo.url": "https://git.example.com/shop",
    "repo.branch": "main",
    "repo.tag": "v1",
    "repo.semver": ">=1.0.0",
    "repo.commit": "a" * 40,
    "repo.path": "apps,rgds",
    "repo.interval": "5m",
    "repo.secret": "login",
    "repo.name": "shop",
    "repo.namespace": "team-a",
}


def test_every_flag_that_has_an_effect_can_be_set(render: Render) -> None:
    objects = render(
        **{
            "config.installCRDs": False,
            "config.events": False,
            "config.allowCRDDeletion": True,
            "config.enableControllerWarmup": True,
            "config.driftManagers": ["argocd-server", "rancher"],
            "config.allowSecondController": True,
            "config.retainPersistentVolumeClaims": True,
            "config.leaderElectionNamespace": "kro-system",
            "config.featureGates": {Gate.OMIT: True, Gate.CONDITION_EVENTS: False},
            "config.clientQps": 0.5,
            "config.clientBurst": 2000000,
            **SOURCES,
        }
    )
    args = container(objects)["args"]
    assert {
        "--no-install-crds",
        "--no-events",
        "--allow-crd-deletion",
        "--enable-controller-warmup",
        "--drift-managers=argocd-server,rancher",
        "--allow-second-controller",
        "--max-prune-count=0",
        "--max-prune-percent=30",
        "--leader-election-namespace=kro-system",
        "--feature-gates=CELOmitFunction=true,InstanceConditionEvents=false",
        "--client-qps=0.5",
        "--client-burst=2000000",
        "--sources",
        "--default-service-account=tenant",
        "--no-cross-namespace-refs",
        "--watch-namespaces=team-a,team-b",
        "--allow-private-networks",
        "--allow-plain-http",
        "--allowed-git-hosts=git.example.com,*.example.org",
        "--webhook-bind-address=:8080",
        "--storage-path=/data",
        "--storage-size=2Gi",
        "--source-documents=100000",
        "--source-size=256Mi",
        "--source-concurrent-reconciles=2",
        "--repo=https://git.example.com/shop",
        "--branch=main",
        "--tag=v1",
        "--semver=>=1.0.0",
        f"--commit={'a' * 40}",
        "--path=apps,rgds",
        "--repo-interval=5m",
        "--repo-secret=login",
        "--repo-name=shop",
        "--repo-namespace=team-a",
    } <= set(args)
    words = {word.partition("=")[0] for word in args}
    set_here = words | {word.replace("--no-", "--") for word in words}
    elsewhere = {"--kubeconfig", "--context"}  # a Pod has its service account
    # And there is a cluster around it, for as long as it lives.
    elsewhere |= {o.flags[0] for o in OPTIONS if o.group is Group.EMBEDDED}
    elsewhere |= {"--once", "--timeout"}
    assert {o.flags[0] for o in OPTIONS if not o.is_ignored} - elsewhere <= set_here


def test_gates_are_those_of_the_program() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    gates = schema["properties"]["config"]["properties"]["featureGates"]["properties"]
    assert set(gates) == {*Gate, "AllAlpha", "AllBeta"}


def test_every_value_has_a_schema() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))

    def check(values: dict[str, Any], described: dict[str, Any], path: str) -> None:
        assert described["additionalProperties"] is False, path
        assert set(described["properties"]) - set(values) <= {"global"}, path
        for name, value in values.items():
            part = described["properties"][name]
            if isinstance(value, dict) and "properties" in part and name not in OPEN:
                check(value, part, f"{path}.{name}")

    check(VALUES, schema, "")


OPEN = ("featureGates", "resources")  # names in them are optional


NONSENSE: tuple[dict[str, Any], ...] = (
    {
        "config.logLevel": "loud",
        "config.logEncoder": "xml",
        "config.leaderElectionLeaseDuration": "15",
        "config.leaderElectionRetryPeriod": "0",
        "config.dynamicControllerConcurrentReconciles": 0,
        "config.healthProbeBindAddress": "8079",
        "config.metricsBindAddress": "none",
        "config.featureGates.CELOmitFunction": "yes",
        "config.adoptionPolicy": "take",
        "config.trackingMode": "argocd",
        "config.kroVersion": "0.9",
        "deployment.replicaCount": "2",
        "deployment.extraEnv": {"A": "b"},
        "image.digest": "sha256:abc",
        "image.pullPolicy": "Sometimes",
        "fullnameOverride": "Not_A_Name",
        "podDisruptionBudget.maxUnavailable": "half",
        "metrics.service.port": 70000,
        "config.sources": "yes",
        "config.watchNamespaces": "team",
        "config.allowedGitHosts": ["https://git.example.com"],
        "config.webhookBindAddress": "8080",
        "config.storagePath": "data",
        "repo.url": "git@git.example.com:shop",
        "repo.commit": "abc",
        "repo.interval": "5",
        "storage.sizeLimit": "2 Gi",
        "webhooks.ingress.host": "*",
        "rbac.impersonateNames": ["Not_A_Name"],
    },
    {"deployment.replicaCount": -1, "config.kroVersion": 1, "rbac.impersonation": "yes"},
    {"rbac.rules": [{"resource": ["pods"], "verbs": ["get"]}]},
)


@pytest.mark.parametrize("values", NONSENSE, ids=["one thing each", "other types", "a rule"])
def test_nonsense_is_refused(render: Render, values: dict[str, Any]) -> None:
    with pytest.raises(ToolError) as refused:
        render(**values)
    named = set(re.findall(r"^ *- at '(\S+)':", str(refused.value), re.MULTILINE))
    exact = {each for each in named if not any(other.startswith(f"{each}/") for other in named)}
    items = {re.sub(r"/[0-9]+$", "", each) for each in exact}
    assert items == {"/" + path.replace(".", "/") for path in values}


def test_names_that_mean_nothing_are_refused(render: Render) -> None:
    values = {"confg": {}, "rbac.modes": "x", "config.featureGates.CELOmitFunctions": True}
    with pytest.raises(ToolError) as refused:
        render("everything", **values)
    for complaint in (
        "at '': additional properties 'confg' not allowed",
        "at '/rbac': additional properties 'modes' not allowed",
        "at '/rbac/mode': value must be one of",
        "at '/config/featureGates': additional properties 'CELOmitFunctions' not allowed",
    ):
        assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"config.enableLeaderElection": False}, "config.enableLeaderElection must be true"),
        (
            {"metrics.serviceMonitor.enabled": True, "config.metricsBindAddress": "0"},
            "metrics.serviceMonitor.enabled needs",
        ),
        ({"metrics.serviceMonitor.enabled": True}, "metrics.serviceMonitor.enabled needs"),
        ({"config.metricsBindAddress": ":8078"}, "to every Pod of the cluster: set networkPolicy"),
        ({**SCRAPED, "networkPolicy.enabled": False}, "to every Pod of the cluster"),
        ({**SCRAPED, "deployment.hostNetwork": True}, "where no NetworkPolicy applies"),
        ({"repo.url": "https://git.example.com/a", "config.sources": False}, "repo.url needs"),
        ({"webhooks.ingress.enabled": True}, "webhooks.ingress.enabled needs config.sources"),
        (
            {"webhooks.ingress.enabled": True, "config.webhookBindAddress": ":8080"},
            "webhooks.ingress.enabled needs webhooks.ingress.host",
        ),
    ],
)
def test_values_that_contradict_each_other_are_refused(
    render: Render, values: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ToolError, match=complaint):
        render(**values)


@pytest.mark.parametrize(
    "values", [{"rbac.rules": ROLE["rules"]}, {"rbac.impersonateNames": ["tenant"]}]
)
def test_limits_of_a_controller_that_may_do_everything_are_refused(
    render: Render, values: dict[str, Any]
) -> None:
    render("aggregation", **values)
    with pytest.raises(ToolError, match=r"have no effect with rbac\.mode unrestricted"):
        render("unrestricted", **values)


def test_one_replica_needs_neither_election_nor_budget(render: Render) -> None:
    objects = render(
        "aggregation",
        **{"config.enableLeaderElection": False, "deployment.replicaCount": 1},
    )
    assert not kinds(objects) & {"PodDisruptionBudget", "Role", "RoleBinding"}
    assert not [word for word in container(objects)["args"] if "leader" in word]


def test_what_is_optional_comes_when_it_is_asked_for(render: Render) -> None:
    assert not kinds(render()) & {"Service", "ServiceMonitor", "Ingress"}
    assert {"Service", "ServiceMonitor"} <= kinds(render(**SCRAPED))
    service = {"metrics.serviceMonitor.enabled": False, "metrics.service.create": False}
    assert "Service" not in kinds(render(**{**SCRAPED, **service}))
    assert "NetworkPolicy" not in kinds(render(**{"networkPolicy.enabled": False}))
    assert "ServiceAccount" not in kinds(render(**{"serviceAccount.create": False}))


@pytest.mark.parametrize("address", ["127.0.0.1:8078", "[::1]:8078", "localhost:8078", "0"])
def test_ports_follow_addresses(address: str, render: Render) -> None:
    values = {"config.metricsBindAddress": address, "config.healthProbeBindAddress": "[::]:9000"}
    objects = render(**values)
    assert container(objects)["ports"] == [
        {"name": "health", "containerPort": 9000, "protocol": "TCP"}
    ]
    assert "Service" not in kinds(objects)


# Network.


def ingress(objects: list[KubeObject]) -> dict[str, Any]:
    """Give who may reach which port; None is everybody."""
    rules = one(objects, "NetworkPolicy")["spec"]["ingress"]
    return {port["port"]: rule.get("from") for rule in rules for port in rule["ports"]}


def test_nobody_but_the_kubelet_has_a_reason_to_connect(render: Render) -> None:
    objects = render()
    assert ingress(objects) == {"health": None}
    policy = one(objects, "NetworkPolicy")["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    labels = one(objects, "Deployment")["spec"]["template"]["metadata"]["labels"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()


def test_metrics_are_reached_by_those_who_are_named(render: Render) -> None:
    (clients,) = (value for name, value in SCRAPED.items() if name.endswith("metricsFrom"))
    assert ingress(render(**SCRAPED)) == {"health": None, "metrics": clients}


def test_the_controller_connects_to_api_servers_git_servers_and_dns(render: Render) -> None:
    def ports(**values: Any) -> set[tuple[str, int]]:
        rules = one(render(**values), "NetworkPolicy")["spec"]["egress"]
        return {(port["protocol"], port["port"]) for rule in rules for port in rule["ports"]}

    assert ports() == {
        *(("UDP", 53), ("TCP", 53), ("TCP", 22), ("TCP", 443)),
        *(("TCP", 6443), ("TCP", 8443), ("TCP", 16443)),
    }
    assert ports(**{"config.allowPlainHttp": True}) - ports() == {("TCP", 80)}


def storage(objects: list[KubeObject]) -> list[dict[str, Any]]:
    pod = one(objects, "Deployment")["spec"]["template"]["spec"]
    return [each for each in pod["volumes"] if each["name"] == "storage"]


def test_sources_bring_room_for_repositories(render: Render) -> None:
    objects = render(**{"config.storagePath": "/data", "storage.sizeLimit": "500Mi"})
    assert storage(objects) == [{"name": "storage", "emptyDir": {"sizeLimit": "500Mi"}}]
    assert {"name": "storage", "mountPath": "/data"} in container(objects)["volumeMounts"]


def test_without_sources_nothing_of_them_is_there(render: Render) -> None:
    objects = render("aggregation", **{**SOURCES, "config.sources": False, "repo.url": ""})
    args = set(container(objects)["args"])
    assert "--no-sources" in args
    assert not [word for word in args if re.match("--(repo|webhook|storage|allow)-", word)]
    assert storage(objects) == []
    # Sources of another controller decide as whom their instances are reconciled.
    found = {right for right in rights(objects, *CONTROLLERS) if right[1] == "gitops.kro.run"}
    assert {verb for *_, verb in found} == {"get", "list", "watch"}


def test_webhooks_have_a_door_when_they_are_heard(render: Render) -> None:
    values = {
        "config.webhookBindAddress": ":8080",
        "webhooks.ingress.enabled": True,
        "webhooks.ingress.host": "hooks.example.com",
        "webhooks.ingress.tlsSecret": "certificate",
    }
    objects = render(**values)
    assert {"name": "webhooks", "containerPort": 8080, "protocol": "TCP"} in container(objects)[
        "ports"
    ]
    (port,) = one(objects, "Service")["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (80, "webhooks")
    spec = one(objects, "Ingress")["spec"]
    assert spec["tls"] == [{"hosts": ["hooks.example.com"], "secretName": "certificate"}]
    (rule,) = spec["rules"]
    (path,) = rule["http"]["paths"]
    assert (rule["host"], path["path"]) == ("hooks.example.com", WEBHOOK_PREFIX)
    assert path["backend"]["service"]["name"] == one(objects, "Service")["metadata"]["name"]
    assert ingress(objects) == {"health": None, "webhooks": None}  # they are authenticated


# Rights.


def test_who_edits_a_namespace_does_not_get_the_controllers_rights(render: Render) -> None:
    def editors(**values: Any) -> set[tuple[str, str]]:
        """Give what the cluster's roles for users may write."""
        roles = [
            obj
            for obj in render(**values)
            if any(name.startswith(AGGREGATE_TO) for name in obj["metadata"].get("labels", {}))
        ]
        read = {"get", "list", "watch"}
        return {(group, verb) for _, group, _, verb in rights(roles, "") if verb not in read}

    assert editors() == set()
    with_default = editors(**{"config.defaultServiceAccount": "tenant"})
    assert {group for group, _ in with_default} == {"kro.run", "gitops.kro.run"}
    alone = editors(**{"config.defaultServiceAccount": "tenant", "config.sources": False})
    assert {group for group, _ in alone} == {"kro.run"}


AGGREGATE_TO = "rbac.authorization.k8s.io/aggregate-to-"


def test_aggregation_gives_what_the_program_needs_and_no_more(render: Render) -> None:
    def given(**values: Any) -> Rights:
        return rights(render("aggregation", **values), *CONTROLLERS)

    without = {"config.sources": False}
    few, with_sources = given(**without), given()
    more = given(**without, **{"rbac.impersonation": True, "config.allowCRDDeletion": True})
    silent = given(**without, **{"config.events": False})
    crds = ("ClusterRole", "apiextensions.k8s.io", "customresourcedefinitions", "delete")
    assert more - few == {crds, ("ClusterRole", "", "serviceaccounts", "impersonate")}
    assert {right[2] for right in few - silent} == {"events"}
    assert not {right for right in more | with_sources if "*" in right}
    secrets = {right for right in with_sources - few if right[2] == "secrets"}
    assert secrets == {("ClusterRole", "", "secrets", "get")}
    assert {right[2] for right in with_sources - few} == {
        "applications", "gitsources", "gitsources/finalizers", "gitsources/status", "namespaces",
        "secrets", "serviceaccounts", "sourceinventories",
    }  # fmt: skip
    assert {right[2] for right in few if right[0] == "Role"} == {"leases"}
    repository = given(**{"repo.url": "https://git.example.com/platform"})
    definitions = ("ClusterRole", "kro.run", "resourcegraphdefinitions")
    assert repository - with_sources == {(*definitions, "create"), (*definitions, "delete")}
    granted = given(**{"rbac.rules": ROLE["rules"]})
    assert granted - with_sources == rights([ROLE], "webapp")


def test_the_example_role_is_what_its_definition_needs() -> None:
    definition = yaml.safe_load(WEBAPP.read_text(encoding="utf-8"))
    found = {right[1:] for right in rights([ROLE], "webapp")}
    wanted = {("kro.run", "webapps", verb) for verb in ("get", "list", "watch", "patch")}
    wanted |= {("kro.run", "webapps/status", "patch"), ("kro.run", "webapps/finalizers", "update")}
    for resource in definition["spec"]["resources"]:
        group = resource["template"]["apiVersion"].rpartition("/")[0]
        plural = pluralize(resource["template"]["kind"].lower())
        verbs = ("get", "list", "watch", "create", "patch", "delete")
        wanted |= {(group, plural, verb) for verb in verbs}
    assert found == wanted


@pytest.mark.usefixtures("kubectl")
@pytest.mark.timeout(120)
def test_a_token_carries_the_rights_of_the_chart(
    plane_with_controllers: Plane, tmp_path: Path
) -> None:
    with controller_rights(plane_with_controllers, "aggregation", tmp_path, [ROLE]) as kubeconfig:
        controller = Kubectl(kubeconfig)
        assert controller.may("create", "deployments.apps")
        assert controller.may("patch", "customresourcedefinitions")
        here = f"--namespace={NAMESPACE}"
        assert controller.may("patch", "leases.coordination.k8s.io/controller.kro.run", here)
        assert not controller.may("patch", "leases.coordination.k8s.io/other", here)
        assert not controller.may("create", "leases.coordination.k8s.io", "--namespace=default")
        assert not controller.may("delete", "customresourcedefinitions")
        assert controller.may("watch", "namespaces")
        assert controller.may("get", "secrets")  # those that sources name
        assert not controller.may("list", "secrets")
        assert not controller.may("watch", "secrets")
        assert controller.may("impersonate", "serviceaccounts")
        assert not controller.may("impersonate", "users")
        assert not controller.may("create", "resourcegraphdefinitions.kro.run")
    with controller_rights(plane_with_controllers, "unrestricted", tmp_path) as kubeconfig:
        assert Kubectl(kubeconfig).may("*", "*")


# Kustomizations are the chart.


def test_kustomizations_are_current(helm: str) -> None:
    del helm
    made = update_deploy.kustomize_files()
    for path, text in made.items():
        assert path.read_text(encoding="utf-8") == text, "run python -m tools.update_deploy"
    there = set((DEPLOY / "kustomize").rglob("*.yaml"))
    assert there - set(made) == {DEPLOY / "kustomize" / "base" / "namespace.yaml"}


@pytest.mark.usefixtures("kubectl")
@pytest.mark.parametrize("mode", MODES)
def test_kustomize_renders_what_the_chart_does(render: Render, mode: str) -> None:
    def by_name(objects: list[KubeObject]) -> dict[tuple[str, str], KubeObject]:
        return {(obj["kind"], obj["metadata"]["name"]): obj for obj in objects}

    labels = {"metadata.includeHelmChart": False, "metadata.includeManagedBy": False}
    charted, rendered = by_name(render(mode, **labels)), by_name(overlay(mode))
    del rendered["Namespace", NAMESPACE]  # helm makes it by itself
    assert rendered == charted


# A real API server.


EVERYTHING: dict[str, Any] = {
    **SOURCES,
    **SCRAPED,
    "metrics.serviceMonitor.enabled": False,  # its CRD is not there
    "rbac.impersonation": True,
    "webhooks.ingress.enabled": True,
    "webhooks.ingress.host": "hooks.example.com",
    "webhooks.ingress.className": "nginx",
    "webhooks.ingress.tlsSecret": "certificate",
}


@pytest.mark.usefixtures("kubectl")
@pytest.mark.timeout(180)
def test_an_api_server_accepts_all_of_it(own_plane: Plane, render: Render) -> None:
    admin = Kubectl(own_plane.kubeconfig)
    admin(*APPLY, f"--kustomize={DEPLOY / 'crds'}")
    admin("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
    for mode in MODES:
        admin(*APPLY, f"--kustomize={DEPLOY / 'kustomize' / 'overlays' / mode}")
        more = {"rbac.rules": ROLE["rules"], "rbac.impersonateNames": ["tenant"]}
        everything = render(mode, **EVERYTHING, **(more if mode == "aggregation" else {}))
        sent = yaml.safe_dump_all(everything)
        admin(*APPLY, "--dry-run=server", "--validate=strict", "--filename=-", stdin=sent)
    admin(*APPLY, f"--filename={DEPLOY / 'examples'}")


@pytest.fixture(params=["the chosen API server", "the embedded API"])
def enforcing_plane(request: pytest.FixtureRequest) -> Iterator[Plane]:
    """Give a control plane that enforces Pod Security Standards."""
    if request.param == "the chosen API server":
        yield request.getfixturevalue("own_plane")
    else:
        with embedded_plane() as plane:
            yield plane


@pytest.mark.usefixtures("kubectl")
@pytest.mark.timeout(180)
def test_our_pod_meets_the_strictest_standard(enforcing_plane: Plane, render: Render) -> None:
    admin = Kubectl(enforcing_plane.kubeconfig)
    # The namespace enforces it.
    admin(*APPLY, f"--kustomize={DEPLOY / 'kustomize' / 'overlays' / MODES[0]}")
    create = ("create", "--dry-run=server", "--filename=-")
    for values in ({}, EVERYTHING):
        template = one(render(**values), "Deployment")["spec"]["template"]
        pod = {"apiVersion": "v1", "kind": "Pod", **template}
        pod["metadata"] = {**pod["metadata"], "name": "one", "namespace": NAMESPACE}
        admin(*create, stdin=json.dumps(pod))
        pod["spec"] = {**pod["spec"], "hostNetwork": True}
        assert "violates PodSecurity" in admin.attempt(*create, stdin=json.dumps(pod)).stderr


@pytest.mark.usefixtures("kubectl")
@pytest.mark.timeout(180)
def test_impersonation_can_be_limited_to_names(own_plane: Plane, render: Render) -> None:
    admin = Kubectl(own_plane.kubeconfig)
    admin("create", "namespace", NAMESPACE)
    objects = render(**{"rbac.impersonateNames": ["tenant", "deployer"]})
    (role,) = (obj for obj in objects if obj["metadata"]["name"].endswith(":static"))
    # Without controllers nothing adds roles up.
    role["metadata"]["name"] = f"{RELEASE}:controller"
    binding = one(objects, "ClusterRoleBinding")
    admin(*APPLY, "--filename=-", stdin=yaml.safe_dump_all([role, binding]))

    def may_act_as(account: str) -> bool:
        controller = f"--as=system:serviceaccount:{NAMESPACE}:{RELEASE}"
        return admin.may("impersonate", f"serviceaccounts/{account}", controller, "-A")

    assert may_act_as("tenant")
    assert may_act_as("deployer")
    assert not may_act_as("clusterrole-aggregation-controller")


@pytest.mark.usefixtures("kubectl")
@pytest.mark.timeout(180)
def test_helm_installs_changes_modes_and_leaves_the_crds(own_plane: Plane, helm: str) -> None:
    admin = Kubectl(own_plane.kubeconfig)

    def run(*words: str) -> str:
        command = [helm, f"--kubeconfig={own_plane.kubeconfig}", f"--namespace={NAMESPACE}", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def role() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(
            admin("get", "clusterrole", f"{RELEASE}:controller", "-o", "json")
        )
        return found

    notes = run("install", RELEASE, str(CHART), "--create-namespace")
    assert (
        "It may read definitions and serve their kinds, and fetch the repositories of sources"
        in notes
    )
    assert "touch the children of instances yet" in notes
    assert "kro-gitops generate role DEFINITION.yaml | kubectl apply -f -" in notes
    assert "act with the controller's\npermissions. For tenants, set config.default" in notes
    assert "aggregationRule" in role()
    assert not role().get("rules")  # a controller, which does not run here, adds them up
    notes = run("upgrade", RELEASE, str(CHART), "--set=rbac.mode=unrestricted")
    assert "It may do everything in this cluster" in notes
    assert role()["rules"] == [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    assert "aggregationRule" not in role()
    tenants = "--set=rbac.mode=aggregation,config.defaultServiceAccount=tenant"
    notes = run("upgrade", RELEASE, str(CHART), tenants)
    assert "act as the service account\ntenant of their namespace" in notes
    assert "aggregationRule" in role()
    run("uninstall", RELEASE)
    left = admin("get", "crd,clusterrole,deploy", "-A", "-o", "name").split()
    names = [crd["metadata"]["name"] for crd in (*own_crds(), *source_crds())]
    crds = [f"customresourcedefinition.apiextensions.k8s.io/{name}" for name in names]
    assert [name for name in left if "kro" in name] == sorted(crds)
