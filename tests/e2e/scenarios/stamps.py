"""
What a controller writes into the metadata of instances and their children.

The names are spelled out here, not taken from the product: others read them in clusters.
"""

import base64
import hashlib
from typing import Any

from kube_objects.refs import KubeObject, ObjectRef
from tests.e2e.scenarios.parts import exists
from tests.e2e.scenarios.world import Named, World, annotations, labels

ID = "applyset.kubernetes.io/id"
PART_OF = "applyset.kubernetes.io/part-of"
TOOLING = "applyset.kubernetes.io/tooling"
GROUP_KINDS = "applyset.kubernetes.io/contains-group-kinds"
NAMESPACES = "applyset.kubernetes.io/additional-namespaces"
MANAGED_BY = "app.kubernetes.io/managed-by"
NODE = "kro.run/node-id"
INDEX = "kro.run/collection-index"
SIZE = "kro.run/collection-size"
DEFINITION_ID = "kro.run/resource-graph-definition-id"
DEFINITION_NAME = "kro.run/resource-graph-definition-name"
APPLY_ORDER = "internal.kro.run/apply-order"


def apply_set_id(instance: KubeObject) -> str:
    """Return the name of the set that an instance's children belong to."""
    ref = ObjectRef.of(instance)
    text = f"{ref.name}.{ref.namespace}.{ref.kind.kind}.{ref.kind.group}"
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
    return f"applyset-{digest.decode().rstrip('=')}-v1"


def stamps_of_children(world: World, instance: KubeObject) -> dict[str, str]:
    """Return the labels that every child of an instance has; `instance` as it is in the cluster."""
    ref = ObjectRef.of(instance)
    return {
        PART_OF: apply_set_id(instance),
        MANAGED_BY: "kro",
        "kro.run/owned": "true",
        "kro.run/kro-version": world.version,
        "kro.run/instance-id": instance["metadata"]["uid"],
        "kro.run/instance-name": ref.name,
        "kro.run/instance-namespace": ref.namespace,
        "kro.run/instance-group": ref.kind.group,
        "kro.run/instance-version": ref.kind.version,
        "kro.run/instance-kind": ref.kind.kind,
    }


def records(world: World, group_kinds: str, namespaces: str = "") -> dict[str, str]:
    """Return the annotations by which an instance records what it made."""
    return {GROUP_KINDS: group_kinds, NAMESPACES: namespaces, TOOLING: f"kro/{world.version}"}


async def is_stamped(
    world: World,
    named: Named,
    *,
    labelled: dict[str, str] | None = None,
    annotated: dict[str, str] | None = None,
    within: float = 20.0,
) -> KubeObject:
    """Return an object when it has these labels and annotations, others besides."""

    async def check() -> KubeObject:
        found = await world.get(named)
        _includes(labels(found), labelled or {})
        _includes(annotations(found), annotated or {})
        return found

    return await world.until(check, within)


async def all_exist(world: World, *refs: Named, within: float = 20.0) -> list[KubeObject]:
    """Return objects when all are there."""
    return [await exists(world, ref, within) for ref in refs]


def _includes(found: dict[str, str], wanted: dict[str, Any]) -> None:
    assert {key: found.get(key) for key in wanted} == wanted
