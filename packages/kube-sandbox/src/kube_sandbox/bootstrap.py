"""
The objects that an API server creates at its first start.

Namespaces, roles and bindings, priority classes, the Service of the API server: as a real one
stores them (`documents/objects.json`), without the values that differ at each start. So they need
no defaulting and validation at the first start.

Follows kubernetes 1.35 plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go ClusterRoles,
ClusterRoleBindings; pkg/controlplane/controller/systemnamespaces/system_namespaces_controller.go
Controller.createNamespaceIfNeeded.
"""

from importlib.resources import files

import orjson

from kube_objects.refs import KubeObject


def bootstrap_objects(port: int) -> list[KubeObject]:
    """Return them in the order they are made; `port` is where this server listens."""
    file = files("kube_sandbox") / "documents" / "objects.json"
    found: list[KubeObject] = orjson.loads(file.read_bytes())["objects"]
    for each in found:
        if each["kind"] == "Service":
            each["spec"]["ports"][0]["targetPort"] = port
    return found


def complete_bootstrap_object(obj: KubeObject, uid: str, time: str) -> None:
    """Give an own object what it has from the moment it is made; its version is the store's."""
    metadata = obj["metadata"]
    metadata["uid"], metadata["creationTimestamp"] = uid, time
    for each in metadata["managedFields"]:
        each["time"] = time
    for each in (obj.get("status") or {}).get("conditions", ()):
        each["lastTransitionTime"] = time
