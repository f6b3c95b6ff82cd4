"""
What tenant A tries: by commits to its repository, and with kubectl in its namespace.

An attempt gives objects. Those of `GIT` are committed, those of `KUBECTL` are created as the user
tenant-a; what the API server rejects has failed already. Every name begins with `loot-`, so that
whatever comes of it outside of A's namespace is found.
"""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from kro_gitops.kube.api import Cluster, DeleteOptions, MergePatch, WriteOptions
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


def _adopting(place: Callable[[Stage], str], number: int, text: str = "true") -> Objects:
    """Adopt an object that exists: the child has its name."""

    def objects(stage: Stage, name: str) -> Iterable[KubeObject]:
        target = f"{TARGET}-{'git' if '-git-' in name else 'kubectl'}-{number}"
        yield stage.world.instance(
            "Spread", target, {"place": place(stage)}, annotations={ADOPT: text}
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
        yield stage.source(name, **{"paths": ["apps"], "allow": EVERYTHING, **spec})

    return objects


def _at(text: str) -> Callable[[Stage], str]:
    return lambda _stage: text


def _members_of_others(stage: Stage, name: str) -> Iterable[KubeObject]:
    """Build an instance with the apply set of the victim's instance, and where its children are."""
    calm = stage.given["calm"]["metadata"]
    kept = {"name": name, "namespace": stage.world.namespace, "finalizers": [FINALIZER]}
    labels = {APPLYSET_ID: calm["labels"][APPLYSET_ID]}
    annotations = {APPLYSET_GROUP_KINDS: "ConfigMap,Secret", APPLYSET_NAMESPACES: stage.victim}
    made = stage.world.instance("Spread", name, {"place": stage.victim})
    made["metadata"] = {**kept, "labels": labels, "annotations": annotations}
    yield made


def _source_annotation(text: str) -> Objects:
    """Name a source in the annotation; `{}` is the platform's namespace."""

    def objects(stage: Stage, name: str) -> Iterable[KubeObject]:
        yield stage.world.instance(
            "Spread",
            name,
            {"place": SYSTEM},
            labels={SOURCE_HASH: "0"},
            annotations={SOURCE: text.format(stage.platform)},
        )

    return objects


def _owned_by_victim(kind: str) -> Objects:
    """Let the garbage collector wait for, or delete with, an object of another tenant."""

    def objects(stage: Stage, name: str) -> Iterable[KubeObject]:
        target = next(obj for ref, obj in stage.before.items() if ref.namespace == stage.victim)
        uid = target["metadata"]["uid"]
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": TARGET, "uid": uid}
        owner |= {"controller": True, "blockOwnerDeletion": True}
        made = stage.world.instance(kind, name, {"place": stage.victim})
        made["metadata"]["ownerReferences"] = [owner]
        yield made

    return objects


def _with_status(stage: Stage, name: str) -> Iterable[KubeObject]:
    """Build an instance that says that all is done already."""
    made = stage.world.instance("Peek", name, {"place": stage.victim})
    condition = {"type": "Ready", "status": "True", "reason": "Ready", "message": ""}
    made["status"] = {"state": "ACTIVE", "conditions": [condition]}
    yield made


def _of_everything(stage: Stage, name: str) -> Iterable[KubeObject]:
    """Build an instance with every mark of a child, an owner and a source at once."""
    made = _child_of_platform(stage, name)
    made["metadata"]["annotations"] = {
        SOURCE: f"{stage.platform}/infra",
        ADOPT: "true",
        "argocd.argoproj.io/tracking-id": f"infra:{stage.world.group}/Spread:{SYSTEM}/{name}",
        "example.com/long": "x" * 200_000,
    }
    made["metadata"]["labels"] |= {SOURCE_HASH: "0", "app.kubernetes.io/managed-by": "kro"}
    made["metadata"]["finalizers"] = [FINALIZER, "foregroundDeletion"]
    yield made


def _future_inventory(stage: Stage, _name: str) -> Iterable[KubeObject]:
    """Build an inventory that seems to be newer than any other, of a source of the platform."""
    made = stage.inventory("infra", stage.given["shared"], stage.given["calm"])
    made["metadata"]["annotations"] = {"gitops.kro.run/updated": "2999-01-01T00:00:00Z"}
    made["metadata"]["labels"]["gitops.kro.run/source-namespace"] = stage.platform
    made["metadata"]["name"] = "infra-99999"
    yield made


def _itself_opened(stage: Stage, _name: str) -> Iterable[KubeObject]:
    """Build the source that applies this, without limits and account."""
    yield stage.source("apps", allow=EVERYTHING)


def _wrapped(stage: Stage, name: str) -> Iterable[KubeObject]:
    items = [_cluster_admin(stage, name), _token_of_system(stage, name)]
    yield {"apiVersion": "v1", "kind": "List", "items": items}


def _role_of_admins(stage: Stage, name: str) -> KubeObject:
    every = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*", "escalate", "bind"]}
    metadata = {"name": name, "namespace": stage.world.namespace}
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role"}
    return {**head, "metadata": metadata, "rules": [every]}


ODD_PLACES = (
    "kube-system/configmaps/target",
    "kube-system%2Fconfigmaps",
    "../kube-system",
    "..",
    "kube-system ",
    "kube-system\n",
    "KUBE-SYSTEM",
    "default,kube-system",
)
ODD_SOURCES = (
    "{}/infra\n",
    " {}/infra",
    "{}/infra/x",
    "/infra",
    "infra",
    "*/*",
    "{}/",
    "../{}/infra",
)
ODD_ACCOUNTS = (
    "system:admin",
    "system:serviceaccount:kube-system:default",
    "../kube-system/default",
    "deployer\nImpersonate-Group: system:masters",
    "deployer,system:masters",
)

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
    Attempt("adoption in kube-system", _adopting(_system, 0)),
    Attempt("adoption in another tenant's namespace", _adopting(_victim, 1)),
    Attempt("labels of a child of the platform", _object(_child_of_platform)),
    Attempt("owner reference to the platform's instance", _owned_by_platform),
    Attempt("annotation of the platform's source", _of_platform_source),
    Attempt("forged apply set", _claiming_foreign_children),
    Attempt("apply set of another tenant's instance", _members_of_others),
    Attempt("adoption, spelled in capitals", _adopting(_victim, 2, "TRUE\n")),
    Attempt("owner reference to an object of another tenant", _owned_by_victim("Spread")),
    Attempt("owner reference on a nested instance", _owned_by_victim("NestFar")),
    Attempt("status that says ready", _with_status),
    Attempt("all marks at once", _of_everything),
    *(Attempt(f"child in {place!r}", _instance("Spread", _at(place))) for place in ODD_PLACES),
    *(Attempt(f"Secret in {place!r}", _instance("Peek", _at(place))) for place in ODD_PLACES),
    *(Attempt(f"nested in {place!r}", _instance("NestFar", _at(place))) for place in ODD_PLACES),
    *(Attempt(f"source {text!r}", _source_annotation(text)) for text in ODD_SOURCES),
)
GIT = (
    *INSTANCES,
    Attempt("ConfigMap elsewhere", _placed("v1", "ConfigMap", _victim, data={"a": "b"})),
    Attempt("ClusterRoleBinding", _object(_cluster_admin)),
    Attempt("token of kube-system", _object(_token_of_system)),
    Attempt("definition", _object(_definition), "kinds"),
    Attempt("definition of a kind that exists", _object(_shadow), "kinds"),
    Attempt("graph revision", _object(_graph_revision)),
    Attempt("list of objects", _wrapped),
    Attempt("role with all permissions", _object(_role_of_admins)),
    Attempt("the source itself without limits", _itself_opened),
    Attempt("inventory of the future", _future_inventory),
    *(
        Attempt(f"ConfigMap in {place!r}", _placed("v1", "ConfigMap", _at(place)))
        for place in ODD_PLACES
    ),
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
    Attempt("inventory of the future", _future_inventory),
    *(
        Attempt(f"source as {account!r}", _open_source(serviceAccountName=account))
        for account in ODD_ACCOUNTS
    ),
    Attempt("source with a Secret elsewhere", _open_source(secretRef={"name": "../kube-system"})),
    Attempt("source of files elsewhere", _open_source(paths=["../..", "/etc", "a/../../b"])),
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


async def forge_status(stage: Stage) -> None:
    """Say of all of A's instances that they are deployed by the platform's."""
    status = {"state": "ACTIVE", "conditions": [], "seen": stage.platform}
    for instance in await stage.instances():
        act = partial(_patch_status, ObjectRef.of(instance), MergePatch({"status": status}))
        await stage.as_tenant(act)


async def move_to_victim(stage: Stage) -> None:
    """Have all of A's instances place their children in another tenant's namespace."""
    await _each(stage, {"spec": {"place": stage.victim}})


async def delete_with_forged_inventory(stage: Stage) -> None:
    """Delete A's instances after they claimed the children of all others."""
    for given in stage.given.values():
        labels = {APPLYSET_ID: given["metadata"]["labels"][APPLYSET_ID]}
        annotations = {
            APPLYSET_GROUP_KINDS: "ConfigMap,Secret,RoleBinding.rbac.authorization.k8s.io",
            APPLYSET_NAMESPACES: ",".join(sorted(stage.foreign)),
        }
        await _each(stage, {"metadata": {"labels": labels, "annotations": annotations}})
    for instance in await stage.instances():
        await stage.as_tenant(partial(_delete, ObjectRef.of(instance)))


async def _delete(ref: ObjectRef, cluster: Cluster) -> None:
    await cluster.delete(ref, DeleteOptions())


async def _patch_status(ref: ObjectRef, patch: MergePatch, cluster: Cluster) -> None:
    await cluster.patch(ref, patch, WriteOptions(subresource="status"))


async def _each(stage: Stage, changes: KubeObject) -> None:
    for instance in await stage.instances():
        await stage.as_tenant(partial(_patch, ObjectRef.of(instance), MergePatch(changes)))


async def _patch(ref: ObjectRef, patch: MergePatch, cluster: Cluster) -> None:
    await cluster.patch(ref, patch)


EDITS: tuple[tuple[str, Callable[[Stage], Awaitable[None]]], ...] = (
    ("annotation of the source forged", forge_provenance),
    ("metadata of the source removed", strip_provenance),
    ("statuses forged", forge_status),
    ("children moved to another tenant", move_to_victim),
)
LAST = ("inventories forged, and deleted", delete_with_forged_inventory)
