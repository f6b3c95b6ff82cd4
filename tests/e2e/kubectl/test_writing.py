"""kubectl apply, patch, edit and their like do on ours what they do on a real cluster."""

import secrets
from pathlib import Path

import pytest

from tests.e2e.kubectl import objects
from tests.e2e.kubectl.twins import Twins

pytestmark = pytest.mark.timeout(240)  # a command takes a second where others are at work

SHOWN = ("-o", "yaml", "--show-managed-fields")


@pytest.mark.parametrize("flags", [(), ("--server-side",)], ids=["client", "server"])
@pytest.mark.parametrize(
    ("named", "text", "before", "after"),
    [
        ("configmap/settings", objects.CONFIG_MAP, "greeting: hello", "greeting: bye"),
        ("deployment/web", objects.DEPLOYMENT, "nginx:1.27", "nginx:1.28"),
        ("service/web", objects.SERVICE, "port: 80", "port: 81"),
    ],
    ids=["ConfigMap", "Deployment", "Service"],
)
def test_objects_are_applied(
    twins: Twins, flags: tuple[str, ...], named: str, text: str, before: str, after: str
) -> None:
    changed = text.replace(before, after)
    twins("diff", "-f", "-", *flags, stdin=text, code=1)
    twins("apply", "-f", "-", "--dry-run=server", *flags, stdin=text)
    if not flags:
        twins("apply", "-f", "-", "--dry-run=client", stdin=text)
    twins("apply", "-f", "-", *flags, stdin=text)
    twins("apply", "-f", "-", *flags, stdin=text)
    twins("diff", "-f", "-", *flags, stdin=text)
    twins("diff", "-f", "-", *flags, stdin=changed, code=1)
    twins("apply", "-f", "-", "--dry-run=server", *flags, *SHOWN, stdin=changed)
    twins("apply", "-f", "-", *flags, stdin=changed)
    twins("get", named, *SHOWN)


def test_managers_of_applied_fields_conflict(twins: Twins) -> None:
    twins("apply", "--server-side", "-f", "-", stdin=objects.CONFIG_MAP)
    other = objects.CONFIG_MAP.replace("hello", "bye")
    conflicting = ("apply", "--server-side", "--field-manager=other", "-f", "-")
    twins(*conflicting, stdin=other, code=1)
    twins(*conflicting, "--force-conflicts", stdin=other)
    twins("get", "configmap", "settings", *SHOWN)
    # From client-side to server-side, and back.
    twins("apply", "-f", "-", stdin=objects.SERVICE)
    twins("apply", "--server-side", "-f", "-", stdin=objects.SERVICE)
    twins("get", "service", "web", *SHOWN)
    twins("apply", "-f", "-", stdin=objects.SERVICE)


def test_what_was_last_applied_is_kept(twins: Twins) -> None:
    twins("apply", "-f", "-", stdin=objects.CONFIG_MAP)
    twins("apply", "view-last-applied", "configmap/settings")
    twins("create", "-f", "-", "--save-config", stdin=objects.SERVICE)
    twins("apply", "view-last-applied", "service/web", "-o", "json")


@pytest.mark.parametrize("validate", ["strict", "warn", "ignore"])
def test_unknown_and_double_fields_are_told(twins: Twins, validate: str) -> None:
    wrong = objects.DEPLOYMENT.replace("replicas: 2", "replicas: 2\n  nonsense: 1\n  paused: x")
    unknown = objects.DEPLOYMENT.replace("replicas: 2", "replicas: 2\n  nonsense: 1")
    double = objects.CONFIG_MAP + "data: {}\n"
    apply = ("apply", "-f", "-", f"--validate={validate}")
    for text in (wrong, unknown, double):
        twins(*apply, stdin=text, code=None)
    # Of two mistakes in one map, a real server tells both or one, as it happens to meet them.
    mistyped = objects.DEPLOYMENT.replace("replicas: 2", "replicas: 2\n  paused: x")
    for text in (mistyped, unknown, double):
        twins(*apply, "--server-side", stdin=text, code=None)


def test_objects_that_are_invalid_are_refused(twins: Twins) -> None:
    for text in (
        objects.DEPLOYMENT.replace("{app: web}}", "{app: other}}", 1),
        objects.SERVICE.replace("port: 80", "port: 99999"),
        objects.CONFIG_MAP.replace("name: settings", "name: Settings"),
        objects.INGRESS.replace("Prefix", "Nonsense"),
        objects.CONFIG_MAP.replace("v1", "v7"),
        objects.CONFIG_MAP.replace("ConfigMap", "Nonsense"),
        "kind: ConfigMap\n",
        "nonsense",
    ):
        twins("create", "-f", "-", stdin=text, code=1)
        twins("apply", "-f", "-", stdin=text, code=1)
        twins("apply", "--server-side", "-f", "-", stdin=text, code=1)


PATCHES = (
    ("strategic", '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"x"}]}}}}'),
    (
        "strategic",
        '{"spec":{"template":{"spec":{"containers":[{"name":"side","$patch":"delete"}]}}}}',
    ),
    ("merge", '{"spec":{"replicas":3},"metadata":{"labels":{"app":null,"tier":"front"}}}'),
    ("merge", '{"spec":{"template":{"spec":{"containers":[]}}}}'),
    ("json", '[{"op":"replace","path":"/spec/replicas","value":4}]'),
    ("json", '[{"op":"test","path":"/spec/replicas","value":5}]'),
    ("json", '[{"op":"remove","path":"/spec/nonsense"}]'),
    ("merge", '{"spec":{"nonsense":1}}'),
    ("strategic", "nonsense"),
    ("merge", '{"spec":{"replicas":4}}'),
)


def test_objects_are_patched(twins: Twins) -> None:
    twins("create", "-f", "-", stdin=objects.DEPLOYMENT)
    for kind, patch in PATCHES:
        twins("patch", "deployment", "web", f"--type={kind}", "-p", patch, code=None)
    twins("get", "deployment", "web", *SHOWN)
    status = '{"status":{"observedGeneration":1,"replicas":1}}'
    twins("patch", "deployment", "web", "--subresource=status", "--type=merge", "-p", status)
    scale = '{"spec":{"replicas":7}}'
    twins("patch", "deployment", "web", "--subresource=scale", "--type=merge", "-p", scale)
    twins("get", "deployment", "web", "--subresource=status", *SHOWN)
    twins("get", "deployment", "web", "--subresource=scale", "-o", "yaml")
    twins("get", "deployment", "web", "--subresource=nonsense", code=1)


def test_objects_are_edited(twins: Twins, tmp_path: Path) -> None:
    editor = tmp_path / "editor.sh"
    twins("create", "-f", "-", stdin=objects.CONFIG_MAP)
    environment = ("--validate=strict",)
    for command in (
        "s/hello/hi/",
        "s/NOTHING/x/",
        "s/name: settings/name: other/",
        "s/^data:/date:/",
    ):
        editor.write_text(f"#!/bin/sh\nexec sed -i '{command}' \"$1\"\n")
        editor.chmod(0o700)
        _with_editor(twins, editor)("edit", "configmap", "settings", *environment, code=None)
    twins("get", "configmap", "settings", *SHOWN)


def _with_editor(twins: Twins, editor: Path) -> Twins:
    environment = {"KUBE_EDITOR": str(editor)}
    real, ours = twins.real, twins.ours
    return Twins(
        type(real)(real.kubeconfig, real.cache, real.namespace, environment),
        type(ours)(ours.kubeconfig, ours.cache, ours.namespace, environment),
    )


def test_labels_and_annotations_are_set(twins: Twins) -> None:
    twins("create", "-f", "-", stdin=objects.CONFIG_MAP)
    for verb in ("label", "annotate"):
        twins(verb, "configmap", "settings", "one=1", "two=2")
        twins(verb, "configmap", "settings", "one=2", code=1)
        twins(verb, "configmap", "settings", "one=2", "--overwrite")
        twins(verb, "configmap", "settings", "two-")
        twins(verb, "configmap", "settings", "three-")
        twins(verb, "configmap", "settings", "--list", is_sorted=False)
        twins(verb, "configmap", "settings", "a/b/c=1", code=1)
    twins("label", "configmap", "settings", "x=not valid!", code=1)
    twins("label", "configmaps", "-l", "app=shop", "found=yes")
    twins("annotate", "configmaps", "--all", "seen=yes", "--dry-run=server")
    twins("get", "configmap", "settings", *SHOWN)


def test_objects_are_replaced(twins: Twins) -> None:
    twins("replace", "-f", "-", stdin=objects.CONFIG_MAP, code=1)
    twins("create", "-f", "-", stdin=objects.CONFIG_MAP)
    twins("replace", "-f", "-", stdin=objects.CONFIG_MAP.replace("hello", "bye"))
    stale = objects.CONFIG_MAP.replace("name: settings", 'name: settings\n  resourceVersion: "1"')
    twins("replace", "-f", "-", stdin=stale, code=1)
    twins("get", "configmap", "settings", *SHOWN)


CREATED = (
    ("configmap", "made", "--from-literal=a=1", "--from-literal=b=2"),
    ("secret", "generic", "made", "--from-literal=a=1"),
    ("secret", "docker-registry", "pull", "--docker-username=u", "--docker-password=p"),
    ("deployment", "made", "--image=nginx", "--replicas=3", "--port=80"),
    ("service", "clusterip", "made", "--tcp=80:8080"),
    ("service", "nodeport", "ports", "--tcp=80:8080"),
    ("service", "externalname", "away", "--external-name=example.org"),
    ("job", "made", "--image=busybox", "--", "date"),
    ("cronjob", "made", "--image=busybox", "--schedule=*/5 * * * *"),
    ("ingress", "made", "--rule=shop.example/*=web:80,tls=cert"),
    ("role", "made", "--verb=get", "--resource=pods"),
    ("rolebinding", "made", "--role=made", "--user=ann"),
    ("serviceaccount", "made"),
    ("quota", "made", "--hard=pods=2"),
    ("poddisruptionbudget", "made", "--selector=a=b", "--min-available=1"),
    ("priorityclass", "made", "--value=10", "--dry-run=server"),
    ("clusterrole", "made", "--verb=get", "--resource=nodes", "--dry-run=server"),
    ("deployment", "Wrong", "--image=nginx"),
    ("configmap", "dry", "--from-literal=a=1", "--dry-run=client", "-o", "yaml"),
)


@pytest.mark.parametrize("arguments", CREATED, ids=" ".join)
def test_objects_are_created_by_generators(twins: Twins, arguments: tuple[str, ...]) -> None:
    twins("create", *arguments, code=None)
    kind, *rest = arguments
    if "--dry-run" in " ".join(rest) or "Wrong" in rest:
        return
    name = next(each for each in ("made", "pull", "ports", "away") if each in rest)
    twins("get", kind, name, *SHOWN)
    twins("create", *arguments, code=1)


def test_pods_are_run_and_deployments_exposed(twins: Twins) -> None:
    twins("run", "once", "--image=busybox", "--restart=Never", "--env=A=B", "--labels=a=b")
    twins("get", "pod", "once", *SHOWN)
    twins("create", "-f", "-", stdin=objects.DEPLOYMENT)
    twins("expose", "deployment", "web", "--port=80", "--target-port=8080", "--name=front")
    twins("get", "service", "front", *SHOWN)
    twins("expose", "pod", "once", "--port=80", "--type=NodePort", "--dry-run=server")
    twins("set", "image", "deployment/web", "main=nginx:1.28")
    twins("set", "env", "deployment/web", "MODE=slow", "EXTRA=1")
    twins("set", "env", "deployment/web", "--list")
    twins("set", "resources", "deployment/web", "--limits=cpu=200m")
    twins("set", "serviceaccount", "deployment/web", "robot")
    twins("set", "selector", "service/front", "app=other")
    twins("autoscale", "deployment", "web", "--min=1", "--max=3", "--cpu=50%")
    twins("get", "deployment", "web", *SHOWN)
    twins("scale", "deployment/web", "--replicas=5")
    twins("scale", "deployment/web", "--replicas=5", "--current-replicas=4", code=1)
    twins("get", "deployment", "web", "-o", "jsonpath={.spec.replicas}")


def test_objects_are_deleted(twins: Twins) -> None:
    for name in ("one", "two", "three"):
        twins("create", "configmap", name, "--from-literal=a=1")
        twins("label", "configmap", name, "app=shop")
    twins("delete", "configmap", "one")
    twins("delete", "configmap", "one", code=1)
    twins("delete", "configmap", "one", "--ignore-not-found")
    twins("delete", "configmap", "two", "--dry-run=server")
    twins("delete", "configmaps", "-l", "app=shop", "-o", "name", is_sorted=False)
    twins("apply", "-f", "-", stdin=objects.CONFIG_MAP)
    twins("delete", "-f", "-", stdin=objects.CONFIG_MAP)
    twins("run", "gone", "--image=busybox")
    twins("delete", "pod", "gone", "--force", "--grace-period=0")
    twins("run", "soon", "--image=busybox")
    twins("delete", "pod", "soon", "--now")
    twins("get", "pods")
    for text in (objects.SERVICE, objects.SECRET, objects.INGRESS):
        twins("create", "-f", "-", stdin=text)
    twins("delete", "services,secrets,ingresses", "--all", is_sorted=False)


def test_things_are_waited_for(twins: Twins) -> None:
    twins("create", "-f", "-", stdin=objects.DEPLOYMENT)
    available = ("wait", "deployment/web", "--for=condition=Available")
    twins(*available, "--timeout=1s", code=1)
    status = '{"status":{"conditions":[{"type":"Available","status":"True"}]}}'
    twins("patch", "deployment", "web", "--subresource=status", "--type=merge", "-p", status)
    twins(*available, "--timeout=10s")
    twins("wait", "deployment/web", "--for=jsonpath={.spec.replicas}=2", "--timeout=10s")
    twins("wait", "deployment/web", "--for=create", "--timeout=10s")
    twins("delete", "deployment", "web", "--wait=false", "--cascade=orphan", code=None)
    twins("create", "-f", "-", stdin=objects.CONFIG_MAP)
    twins("delete", "configmap", "settings")
    twins("wait", "configmap/settings", "--for=delete", "--timeout=10s")
    twins("wait", "configmap/settings", "--for=condition=Ready", "--timeout=1s", code=1)


def test_custom_resources_are_served_like_any_other(twins: Twins) -> None:
    group = f"{secrets.token_hex(4)}.tests"
    try:
        _use_shops(twins, group)
    finally:
        twins.apart("delete", "crd", f"shops.{group}", "--wait=false")


def _use_shops(twins: Twins, group: str) -> None:
    twins("apply", "-f", "-", stdin=objects.crd(group))
    twins("wait", f"crd/shops.{group}", "--for=condition=Established", "--timeout=20s")
    twins("get", "crd", f"shops.{group}")
    twins("get", "crd", f"shops.{group}", *SHOWN)
    twins("describe", "crd", f"shops.{group}")
    twins("apply", "-f", "-", stdin=objects.shop(group), within=10)
    twins("apply", "--server-side", "-f", "-", stdin=objects.shop(group, "mall", "bob"))
    twins("apply", "-f", "-", stdin=objects.shop(group, owner="x"), code=1)
    twins("apply", "-f", "-", stdin=objects.shop(group, owner="[1]"), code=1)
    for flags in (
        (),
        ("-o", "wide"),
        ("-o", "yaml"),
        ("--show-labels",),
        ("--sort-by=.spec.owner",),
    ):
        twins("get", "sp", *flags)
    twins("describe", "shop", "corner")
    status = '{"status":{"replicas":2,"conditions":[{"type":"Ready","status":"True"}]}}'
    twins("patch", "shop", "corner", "--subresource=status", "--type=merge", "-p", status)
    twins("patch", "shop", "corner", "-p", "{}", code=1)
    twins("wait", "shop/corner", "--for=condition=Ready", "--timeout=10s")
    twins("scale", "shop/corner", "--replicas=3")
    twins("get", "shop", "corner", *SHOWN)
    twins("explain", "shop", within=15)
    twins("explain", "shop.spec", "--recursive")
    twins("explain", "shop.spec.shelves.goods")
    twins("label", "shop", "corner", "open=yes")
    twins("get", "all", "-l", "open=yes", is_sorted=False)
    twins("api-resources", f"--api-group={group}")
    twins("delete", "shops", "--all", is_sorted=False)
