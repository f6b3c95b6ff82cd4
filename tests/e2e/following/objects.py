"""
Objects of a source world, as people and other tools handle them.
"""

from typing import Any

from kro_gitops.kube.api import MergePatch, WriteOptions
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.e2e.following.world import CONFIG_MAP, SourceWorld, config_map

RBAC = "rbac.authorization.k8s.io"
ROLE = Kind(RBAC, "v1", "Role")
ROLE_BINDING = Kind(RBAC, "v1", "RoleBinding")
DEPLOYMENT = Kind("apps", "v1", "Deployment")


def named(world: SourceWorld, name: str, namespace: str = "") -> ObjectRef:
    """Name a ConfigMap of our namespace, or of another."""
    return ObjectRef(CONFIG_MAP, namespace or world.namespace, name)


def placed(world: SourceWorld, name: str, namespace: str = "", **data: str) -> KubeObject:
    """Build a ConfigMap with its namespace written out."""
    made = config_map(name, **data)
    made["metadata"]["namespace"] = namespace or world.namespace
    return made


def marked(obj: KubeObject, **sections: dict[str, str]) -> KubeObject:
    """Return an object with labels or annotations."""
    return {**obj, "metadata": {**obj["metadata"], **sections}}


async def edit(world: SourceWorld, ref: ObjectRef, patch: dict[str, Any]) -> KubeObject:
    """Change an object as `kubectl edit` does."""
    options = WriteOptions(manager="kubectl-edit")
    return await world.cluster.patch(ref, MergePatch(patch), options)


async def data_of(world: SourceWorld, ref: ObjectRef, expected: dict[str, str]) -> KubeObject:
    """Return a ConfigMap as soon as it holds this."""

    async def check() -> KubeObject:
        found = await world.get(ref)
        assert found.get("data") == expected, found.get("data")
        return found

    return await world.until(check, 10.0)


async def stays(world: SourceWorld, ref: ObjectRef, expected: dict[str, str]) -> None:
    """Fail if a ConfigMap gets other data, or goes, while the source is polled twice."""

    async def check() -> None:
        assert (await world.get(ref)).get("data") == expected

    await world.holds(check, during=2.5)


async def grant(
    world: SourceWorld, account: str, rules: list[dict[str, Any]], namespace: str = ""
) -> None:
    """Give rights to an account of our namespace, in this namespace or another."""
    where = namespace or world.namespace
    role = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "Role",
        "metadata": {"name": account, "namespace": where},
        "rules": rules,
    }
    await world.create(role)
    await bind(world, account, "Role", account, namespace)


async def bind(
    world: SourceWorld, account: str, kind: str, role: str, namespace: str = ""
) -> KubeObject:
    """Bind a role to an account of our namespace."""
    subject = {"kind": "ServiceAccount", "name": account, "namespace": world.namespace}
    return await world.create(
        {
            "apiVersion": f"{RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": role, "namespace": namespace or world.namespace},
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
            "subjects": [subject],
        }
    )


async def account(world: SourceWorld, name: str) -> KubeObject:
    """Make a service account in our namespace."""
    metadata = {"name": name, "namespace": world.namespace}
    return await world.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})


def rule(group: str, *resources: str, verbs: str = "get create patch delete") -> dict[str, Any]:
    """Build a rule of a Role."""
    return {"apiGroups": [group], "resources": list(resources), "verbs": verbs.split()}
