"""Fields that may differ from git, as a real API server keeps account of them."""

from typing import Any

from kro_gitops.kube.api import Cluster, MergePatch, WriteOptions
from kro_gitops.metadata import SOURCE_MANAGER
from kro_gitops.tracking.foreign_owners import find_foreign_owner
from kro_gitops.tracking.ignored_fields import IgnoreRule, without_ignored
from kro_gitops.tracking.methods import ArgoCD
from kube_objects.refs import Kind, KubeObject, ObjectRef

US = WriteOptions(SOURCE_MANAGER)
RULES = (
    IgnoreRule(
        ("/spec/replicas", "/spec/template/spec/containers/0/image", "/metadata/annotations")
    ),
)


def deployment(namespace: str, **changes: Any) -> KubeObject:
    labels = {"app": "api"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "api", "namespace": namespace, "annotations": {"a": "git"}},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": "web:1"}]},
            },
            **changes,
        },
    }


def ref(namespace: str) -> ObjectRef:
    return ObjectRef(Kind("apps", "v1", "Deployment"), namespace, "api")


def partial(namespace: str, spec: dict[str, Any], **metadata: Any) -> KubeObject:
    place = {"name": "api", "namespace": namespace}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {**place, **metadata},
        "spec": spec,
    }


async def reapplied(cluster: Cluster, desired: KubeObject, namespace: str) -> KubeObject:
    live = await cluster.get(ref(namespace))
    wanted = without_ignored(desired, live, RULES, SOURCE_MANAGER)
    return await cluster.apply(wanted, US)


async def test_what_was_updated_in_place_stays(cluster: Cluster, namespace: str) -> None:
    desired = deployment(namespace)
    await cluster.apply(desired, US)
    await cluster.patch(
        ref(namespace),
        MergePatch({"spec": {"replicas": 7}, "metadata": {"annotations": {"a": "live"}}}),
        WriteOptions("autoscaler"),
    )
    for _ in range(2):
        found = await reapplied(cluster, desired, namespace)
        assert found["spec"]["replicas"] == 7
        assert found["metadata"]["annotations"]["a"] == "live"
        assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "web:1"


async def test_what_another_manager_applies_is_left_to_it(cluster: Cluster, namespace: str) -> None:
    desired = deployment(namespace)
    await cluster.apply(desired, US)
    containers = [{"name": "web", "image": "web:2"}]
    theirs = partial(namespace, {"replicas": 5, "template": {"spec": {"containers": containers}}})
    await cluster.apply(theirs, WriteOptions("updater", force=True))
    found = await reapplied(cluster, desired, namespace)
    assert found["spec"]["replicas"] == 5
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "web:2"
    # They may change it again without a conflict: it is not ours any more.
    theirs["spec"]["replicas"] = 6
    await cluster.apply(theirs, WriteOptions("updater"))
    assert (await reapplied(cluster, desired, namespace))["spec"]["replicas"] == 6


async def test_whoever_applies_under_a_known_name_is_recognised(
    cluster: Cluster, namespace: str
) -> None:
    await cluster.apply(deployment(namespace), US)
    assert find_foreign_owner(await cluster.get(ref(namespace)), argocd=ArgoCD()) is None
    own_id = {"argocd.argoproj.io/tracking-id": f"web:apps/Deployment:{namespace}/api"}
    marked = deployment(namespace)
    marked["metadata"]["annotations"] = own_id
    await cluster.apply(marked, US)
    # We wrote it ourselves, for an application that only watches.
    assert find_foreign_owner(await cluster.get(ref(namespace)), argocd=ArgoCD()) is None
    theirs = partial(namespace, {"paused": True}, annotations=own_id)
    await cluster.apply(theirs, WriteOptions("argocd-controller"))
    found = find_foreign_owner(await cluster.get(ref(namespace)), argocd=ArgoCD())
    assert str(found) == "Argo CD (field manager argocd-controller)"
    await cluster.apply(deployment(namespace), US)
    found = find_foreign_owner(await cluster.get(ref(namespace)), argocd=ArgoCD())
    assert str(found) == "Argo CD application web (tracking id)"
