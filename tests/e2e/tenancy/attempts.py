"""
What tenant A tries: by commits to its repository, and with kubectl in its namespace.

An attempt gives objects. Those of `GIT` are committed, those of `KUBECTL` are created as the user
tenant-a; what the API server rejects has failed already. Every name begins with `loot-`, so that
whatever comes of it outside of A's namespace is found.
"""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from kro_gitops.kube.api import Cluster, MergePatch
from kro_gitops.metadata import (
    ADOPT,
    APPLYSET_GROUP_KINDS,
    APPLYSET_ID,
    APPLYSET_NAMESPACES,
    FINALIZER,
    INSTANCE_GROUP,
    INSTANCE_ID,
    INSTANCE_KIND,
    INSTANCE_NAME,
    INSTANCE_NAMESPACE,
    INSTANCE_VERSION,
    OWNED,
    SOURCE,
    SOURCE_HASH,
)
from kube_objects.refs import KubeObject, ObjectRef
from tests.e2e.following.world import EVERYTHING
from tests.e2e.tenancy.stage import DEPLOYER, SYSTEM, TARGET, Attempt, Stage

Objects = Callable[[Stage, str], Iterable[KubeObject]]


def _instance(
    kind: str, place: Callable[[Stage], str] | None = None, **metadata: object
) -> Objects:
    def objects(stage: Stage, name: str) -> Iterable[KubeObject]:
        spec = {"place": place(stage)} if place is not None else {}
        made = stage.world.instance(kind, name, spec)
        made["metadata"].update(metadata)
        yield made

    return objects


def _victim(stage: Stage) -> str:
    return stage.victim


def _platform(stage: Stage) -> str:
    return stage.platform


def _system(_stage: Stage) -> str:
    return SYSTEM


def _adopting(place: Callable[[Stage], str]) -> Objects:
    """Adopt an object that exists: the child has its name."""

    def objects(stage: Stage, _name: str) -> Iterable[KubeObject]:
        yield stage.world.instance(
            "Spread", TARGET, {"place": place(stage)}, annotations={ADOPT: "true"}
        )

    return objects


def _child_of_platform(stage: Stage, name: str) -> KubeObject:
    """Build an instance with the labels of a child of the platform's instance."""
    group, _, version = f"{stage.world.group}/v1alpha1".partition("/")
    labels = {
        OWNED: "true",
        INSTANCE_GROUP: group,
        INSTANCE_VERSION: version,
        INSTANCE_KIND: "Spread",
        INSTANCE_NAME: "shared",
        INSTANCE_NAMESPACE: stage.platform,
        INSTANCE_ID: stage.given["shared"]["metadata"]["uid"],
    }
    return stage.world.instance("Spread", name, {"place": SYSTEM}, labels=labels)


def _owned_by_platform(stage: Stage, name: str) -> Iterable[KubeObject]:
    made = _child_of_platform(stage, name)
    shared = stage.given["shared"]
    made["metadata"]["ownerReferences"] = [
        {
            "apiVersion": shared["apiVersion"],
            "kind": shared["kind"],
            "name": shared["metadata"]["name"],
            "uid": shared["metadata"]["uid"],
        }
    ]
    yield made


def _of_platform_source(stage: Stage, name: str) -> Iterable[KubeObject]:
    yield stage.world.instance(
        "Spread",
        name,
        {"place": SYSTEM},
        labels={SOURCE_HASH: "0"},
        annotations={SOURCE: f"{stage.platform}/infra"},
    )


def _listed_by_own_inventory(stage: Stage, name: str) -> Iterable[KubeObject]:
    made = next(iter(_of_platform_source(stage, name)))
    yield stage.inventory("infra", made)
    yield made


def _inventory_of_victim(stage: Stage, _name: str) -> Iterable[KubeObject]:
    yield stage.inventory("apps", stage.given["calm"])


def _claiming_foreign_children(stage: Stage, name: str) -> Iterable[KubeObject]:
    """Build an instance that says that it has children in kube-system, and is deleted later."""
    made = stage.world.instance(
        "Spread",
        name,
        {"place": SYSTEM},
        labels={APPLYSET_ID: "applyset-forged-v1"},
        annotations={APPLYSET_GROUP_KINDS: "ConfigMap", APPLYSET_NAMESPACES: SYSTEM},
    )
    made["metadata"]["finalizers"] = [FINALIZER]
    yield made


def _object(build: Callable[[Stage, str], KubeObject]) -> Objects:
    def objects(stage: Stage, name: str) -> Iterable[KubeObject]:
        yield build(stage, name)

    return objects


def _placed(api: str, kind: str, place: Callable[[Stage], str], **rest: object) -> Objects:
    def objects(stage: Stage, name: str) -> Iterable[KubeObject]:
        yield {
            "apiVersion": api,
            "kind": kind,
            "metadata": {"name": name, "namespace": place(stage)},
            **rest,
        }

    return objects


def _cluster_admin(stage: Stage, name: str) -> KubeObject:
    subject = {"kind": "ServiceAccount", "name": DEPLOYER, "namespace": stage.world.namespace}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [subject],
    }


def _definition(stage: Stage, name: str) -> KubeObject:
    made = stage.world.definition("Own", {"a": "string"}, name=f"{name}-{stage.world.token}")
    made["spec"]["resources"] = [{"id": "admin", "template": _cluster_admin(stage, name)}]
    return made


def _shadow(stage: Stage, name: str) -> KubeObject:
    """Build a definition that claims a kind of the platform."""
    made = stage.world.definition("Spread", {"place": "string"}, name=f"{name}-{stage.world.token}")
    made["spec"]["resources"] = [{"id": "admin", "template": _cluster_admin(stage, name)}]
    return made


def _graph_revision(stage: Stage, name: str) -> KubeObject:
    body = {"apiVersion": "internal.kro.run/v1alpha1", "kind": "GraphRevision"}
    return {**body, "metadata": {"name": f"{name}-{stage.world.token}"}, "spec": {"revision": 99}}


def _token_of_system(stage: Stage, name: str) -> KubeObject:
    annotations = {"kubernetes.io/service-account.name": "default"}
    metadata = {"name": name, "namespace": SYSTEM, "annotations": annotations}
    kind = "kubernetes.io/service-account-token"
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind}


def _open_source(**spec: object) -> Objects:
    def objects(stage: Stage, name: str) -> Iterable[KubeObject]:
        yield stage.source(name, path=["evil"], allow=EVERYTHING, **spec)

    return objects


# By git alone, and by kubectl: the same instances.
INSTANCES = (
    Attempt("child in another tenant's namespace", _instance("Spread", _victim)),
    Attempt("child in the platform's namespace", _instance("Spread", _platform)),
    Attempt("child in kube-system", _instance("Spread", _system)),
    Attempt("ClusterRoleBinding as a child", _instance("Bind")),
    Attempt("RoleBinding in another tenant's namespace", _instance("BindIn", _victim)),
    Attempt("RoleBinding in kube-system", _instance("BindIn", _system)),
    Attempt("external reference to another tenant's Secret", _instance("Peek", _victim)),
    Attempt("external reference to a Secret in kube-system", _instance("Peek", _system)),
    Attempt("external collection of all Secrets", _instance("PeekAll")),
    Attempt("nested instance with a child elsewhere", _instance("Nest", _victim)),
    Attempt("nested instance with a child in kube-system", _instance("Nest", _system)),
    Attempt("nested instance elsewhere", _instance("NestFar", _victim)),
    Attempt("adoption in kube-system", _adopting(_system)),
    Attempt("adoption in another tenant's namespace", _adopting(_victim)),
    Attempt("labels of a child of the platform", _object(_child_of_platform)),
    Attempt("owner reference to the platform's instance", _owned_by_platform),
    Attempt("annotation of the platform's source", _of_platform_source),
    Attempt("forged apply set", _claiming_foreign_children),
)
GIT = (
    *INSTANCES,
    Attempt("ConfigMap elsewhere", _placed("v1", "ConfigMap", _victim, data={"a": "b"})),
    Attempt("ClusterRoleBinding", _object(_cluster_admin)),
    Attempt("token of kube-system", _object(_token_of_system)),
    Attempt("definition", _object(_definition)),
    Attempt("definition of a kind that exists", _object(_shadow)),
    Attempt("graph revision", _object(_graph_revision)),
    Attempt("source without limits", _open_source()),
    Attempt("inventory that lists another tenant's instance", _inventory_of_victim),
    Attempt(
        "cluster-scoped instance",
        _object(
            lambda stage, name: stage.world.instance("Wide", name, {"place": SYSTEM}, namespace="")
        ),
    ),
    Attempt(
        "instance elsewhere",
        _object(
            lambda stage, name: stage.world.instance(
                "Spread", name, {"place": stage.victim}, namespace=stage.victim
            )
        ),
    ),
)
KUBECTL = (
    *INSTANCES,
    Attempt("inventory that lists a forged instance", _listed_by_own_inventory),
    Attempt("inventory that lists another tenant's instance", _inventory_of_victim),
    Attempt("source without limits", _open_source()),
    Attempt("source as an account elsewhere", _open_source(serviceAccountName="b:deployer")),
    Attempt(
        "cluster-scoped instance",
        _object(
            lambda stage, name: stage.world.instance("Wide", name, {"place": SYSTEM}, namespace="")
        ),
    ),
)


async def strip_provenance(stage: Stage) -> None:
    """Remove from A's instances that came from git what names their source."""
    nothing = {"annotations": {SOURCE: None}, "labels": {SOURCE_HASH: None, OWNED: None}}
    await _each(stage, {"metadata": nothing})


async def forge_provenance(stage: Stage) -> None:
    """Let A's instances that came from git name the platform's source."""
    await _each(stage, {"metadata": {"annotations": {SOURCE: f"{stage.platform}/infra"}}})


async def _each(stage: Stage, changes: KubeObject) -> None:
    for instance in await stage.instances():
        await stage.as_tenant(partial(_patch, ObjectRef.of(instance), MergePatch(changes)))


async def _patch(ref: ObjectRef, patch: MergePatch, cluster: Cluster) -> None:
    await cluster.patch(ref, patch)


EDITS: tuple[tuple[str, Callable[[Stage], Awaitable[None]]], ...] = (
    ("annotation of the source forged", forge_provenance),
    ("metadata of the source removed", strip_provenance),
)
