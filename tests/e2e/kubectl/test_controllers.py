"""kubectl where controllers are at work: what owners leave behind, rollouts, namespaces that go."""

import pytest

from tests.e2e.kubectl import objects
from tests.e2e.kubectl.twins import Kubectl, Twins

pytestmark = pytest.mark.timeout(240)  # a command takes a second where others are at work

REPLICA_SETS = ("get", "replicasets", "-o", "name")


def _web(replicas: int = 2) -> str:
    return objects.DEPLOYMENT.replace("replicas: 2", f"replicas: {replicas}")


@pytest.mark.parametrize("cascade", ["background", "foreground", "orphan"])
def test_dependents_go_or_stay_as_wanted(twins_at_work: Twins, cascade: str) -> None:
    twins = twins_at_work
    twins("create", "-f", "-", stdin=_web(0))
    twins.until(lambda said: "replicaset" in said.out, *REPLICA_SETS)
    twins("get", "replicasets", "-o", "custom-columns=NAME:.metadata.name")
    twins("delete", "deployment", "web", f"--cascade={cascade}")
    if cascade == "orphan":
        path = "jsonpath={.items[*].metadata.ownerReferences}"
        twins.until(lambda said: not said.out, "get", "replicasets", "-o", path)
        twins("get", "replicasets", "-o", "name")
    else:
        twins.until(lambda said: not said.out, *REPLICA_SETS)


def test_a_rollout_has_a_history(twins_at_work: Twins) -> None:
    twins = twins_at_work
    twins("create", "-f", "-", stdin=_web(0))
    twins.until(lambda said: said.out == "1", *_revision())
    twins("rollout", "status", "deployment/web", "--timeout=20s")
    twins("set", "image", "deployment/web", "main=nginx:1.28")
    twins.until(lambda said: said.out == "2", *_revision())
    twins("annotate", "deployment/web", "kubernetes.io/change-cause=newer")
    twins("rollout", "history", "deployment/web", within=10)
    twins("rollout", "history", "deployment/web", "--revision=1")
    twins("rollout", "undo", "deployment/web")
    twins.until(lambda said: said.out == "3", *_revision())
    twins("rollout", "undo", "deployment/web", "--to-revision=7", code=1)
    twins("get", "deployment", "web", "-o", "jsonpath={.spec.template.spec.containers[0].image}")
    twins("rollout", "pause", "deployment/web")
    twins("rollout", "restart", "deployment/web", code=1)
    twins("rollout", "resume", "deployment/web")
    twins("rollout", "restart", "deployment/web")
    twins.until(lambda said: said.out == "4", *_revision())
    twins("rollout", "history", "deployment/web", within=10)


def _revision() -> tuple[str, ...]:
    path = r"{.metadata.annotations.deployment\.kubernetes\.io/revision}"
    return ("get", "deployment", "web", "-o", f"jsonpath={path}")


def test_a_namespace_goes_with_everything_in_it(twins_at_work: Twins) -> None:
    twins = twins_at_work
    twins.until(lambda said: "kube-root-ca.crt" in said.out, "get", "configmaps")
    twins.until(lambda said: "default" in said.out, "get", "serviceaccounts")
    twins("get", "configmaps,serviceaccounts", "-o", "name", is_sorted=False)
    twins("create", "-f", "-", stdin=objects.CONFIG_MAP)
    twins("delete", "namespace", twins.namespace, "--timeout=25s")
    twins("get", "namespace", twins.namespace, code=1)
    twins("get", "configmaps")


def test_a_namespace_waits_for_finalizers(twins_at_work: Twins) -> None:
    twins = twins_at_work
    held = objects.CONFIG_MAP.replace(
        "  annotations:", "  finalizers: [tests/held]\n  annotations:"
    )
    twins("create", "-f", "-", stdin=held)
    twins("delete", "namespace", twins.namespace, "--wait=false")
    twins.until(
        lambda said: "NamespaceContentRemaining" in said.out,
        *("get", "namespace", twins.namespace, "-o", "jsonpath={.status.conditions[*].type}"),
    )
    twins("create", "configmap", "late", code=1)
    twins("get", "namespace", twins.namespace, "-o", "yaml", within=10)
    free = '{"metadata":{"finalizers":null}}'
    twins("patch", "configmap", "settings", "--type=merge", "-p", free)
    # It says nothing if it comes too late to see it go.
    said = twins.apart("wait", f"namespace/{twins.namespace}", "--for=delete", "--timeout=25s")
    assert [each.code for each in said] == [0, 0]


def test_a_suspended_job_and_a_cron_job_are_told(twins_at_work: Twins) -> None:
    twins = twins_at_work
    for text in (objects.JOB, objects.CRON_JOB):
        twins("create", "-f", "-", stdin=text)
    suspended = "jsonpath={.status.conditions[*].type}"
    twins.until(lambda said: "Suspended" in said.out, "get", "job", "once", "-o", suspended)
    twins("get", "jobs,cronjobs")
    twins("get", "job", "once", "-o", "yaml", within=10)
    twins("create", "job", "now", "--from=cronjob/nightly")
    twins("delete", "job", "now")


def test_deployments_become_available(ours: Kubectl) -> None:
    assert not ours.run("create", "-f", "-", stdin=_web()).code
    assert not ours.run("create", "-f", "-", stdin=objects.SERVICE).code
    said = ours.run("rollout", "status", "deployment/web", "--timeout=25s")
    assert 'deployment "web" successfully rolled out' in said.out, said
    said = ours.run("wait", "deployment/web", "--for=condition=Available", "--timeout=20s")
    assert said.out == "deployment.apps/web condition met\n", said
    assert "2/2" in ours.run("get", "deployment", "web").out
    pods = ours.run("get", "pods", "-l", "app=web", "--no-headers").out.splitlines()
    assert [line.split()[1:3] for line in pods] == [["1/1", "Running"]] * 2
    ours.until(lambda said: said.out.count(".") > 3, *_addresses())
    assert not ours.run("delete", "pod", "--all", "--force", "--grace-period=0").code
    ours.until(lambda said: "2/2" in said.out, "get", "deployment", "web")
    assert not ours.run("scale", "deployment/web", "--replicas=0").code
    ours.until(lambda said: not said.out, "get", "pods", "-o", "name")


def _addresses() -> tuple[str, ...]:
    path = "jsonpath={.items[*].endpoints[*].addresses}"
    return ("get", "endpointslices", "-l", "kubernetes.io/service-name=web", "-o", path)


def test_jobs_come_to_an_end(ours: Kubectl) -> None:
    assert not ours.run("create", "job", "once", "--image=busybox", "--", "date").code
    said = ours.run("wait", "job/once", "--for=condition=Complete", "--timeout=25s")
    assert said.out == "job.batch/once condition met\n", said
    assert "1/1" in ours.run("get", "job", "once").out
    assert not ours.run("delete", "job", "once").code
    ours.until(lambda said: not said.out, "get", "pods", "-o", "name")
