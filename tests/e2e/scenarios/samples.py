"""
What scenarios share: templates of children, and a way to say what an object must look like.

`shows` waits for an object of which some fields are given. Maps are compared by the keys that are
named, everything else exactly; `ABSENT` stands for a key that must not be there.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kube_objects.refs import KubeObject, ObjectRef
from tests.e2e.scenarios.world import World

ABSENT: Final = object()

NAME = "${schema.metadata.name}"


def placed(template: KubeObject, **metadata: Any) -> KubeObject:
    """Give a template more metadata: a namespace, annotations and so on."""
    return {**template, "metadata": {**template["metadata"], **metadata}}


def standing(world: World, obj: KubeObject, **metadata: Any) -> KubeObject:
    """Put an object into the namespace of the scenario."""
    return placed(obj, namespace=world.namespace, **metadata)


def deployment(
    name: str = NAME, *, image: str = "nginx", replicas: Any = None, **container: Any
) -> KubeObject:
    main = {"name": "main", "image": image, **container}
    spec: dict[str, Any] = {
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [main]}},
    }
    if replicas is not None:
        spec["replicas"] = replicas
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def service(name: str = NAME, *, port: Any = 8080, app: str = NAME) -> KubeObject:
    spec = {"selector": {"app": app}, "ports": [{"port": port, "targetPort": port}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def job(name: str = NAME) -> KubeObject:
    main = {"name": "main", "image": "busybox", "args": ["true"]}
    pod = {"spec": {"containers": [main], "restartPolicy": "Never"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": pod},
    }


def autoscaler(name: str = NAME, *, version: str = "v2", **spec: Any) -> KubeObject:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    return {
        "apiVersion": f"autoscaling/{version}",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name},
        "spec": {"scaleTargetRef": target, "maxReplicas": 5, **spec},
    }


def external(kind: str, name: str, *, api_version: str = "v1", **metadata: Any) -> dict[str, Any]:
    """Refer to an object that somebody else keeps."""
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **metadata}}


def custom_kind(group: str, version: str, kind: str, **spec: Any) -> KubeObject:
    """Define a kind whose spec has the given properties and whose status is anybody's."""
    plural = f"{kind.lower()}s"
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": spec},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": plural,
                "singular": kind.lower(),
            },
            "versions": [served],
        },
    }


async def install(world: World, crd: KubeObject) -> None:
    """Have a custom kind served."""
    await world.create(crd)

    async def established() -> None:
        found = await world.get(crd)
        conditions = found.get("status", {}).get("conditions", [])
        assert ("Established", "True") in {(each["type"], each["status"]) for each in conditions}

    await world.until(established)


async def serve(world: World, definition: KubeObject) -> None:
    """Create a definition and wait until its instances are looked after."""
    await world.create(definition)
    await world.active(definition)


async def settle(world: World, *instances: KubeObject) -> None:
    """Create instances and wait until each is ready."""
    for instance in instances:
        await world.create(instance)
    for instance in instances:
        await world.settled(instance)


async def shows(
    world: World, obj: KubeObject | ObjectRef, wanted: Mapping[str, Any], within: float = 20.0
) -> KubeObject:
    """Wait until an object looks as wanted, and return it."""

    async def looks_as_wanted() -> KubeObject:
        found = await world.find(obj)
        assert found is not None, f"{obj} is not there"
        wrong = differences(found, wanted)
        assert not wrong, f"{wrong}; status: {found.get('status')}"
        return found

    return await world.until(looks_as_wanted, within)


def differences(found: Any, wanted: Any, at: str = "") -> list[str]:
    """Say where an object is not as wanted."""
    if isinstance(wanted, Mapping):
        if not isinstance(found, Mapping):
            return [f"{at or '.'} is {found!r}, not a map"]
        return [text for key in wanted for text in _in_entry(found, wanted, key, f"{at}.{key}")]
    return [] if found == wanted else [f"{at} is {found!r}, not {wanted!r}"]


def _in_entry(
    found: Mapping[str, Any], wanted: Mapping[str, Any], key: str, at: str
) -> Sequence[str]:
    if wanted[key] is ABSENT:
        return [f"{at} is {found[key]!r}, and should not be there"] if key in found else []
    if key not in found:
        return [f"{at} is not there"]
    return differences(found[key], wanted[key], at)


def messages(instance: KubeObject) -> str:
    """Return what the conditions of an object say, all in one text."""
    conditions = instance.get("status", {}).get("conditions", [])
    return "\n".join(each.get("message", "") for each in conditions)
