"""
Kinds whose status nobody fills but the scenario: a cloud's, as controllers for clouds have them.

All are in `cloud.example.org/v1alpha1`, namespaced, with a status subresource. They are there
before the controller starts, and stay; `install` is for scenarios that have another cluster.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kro_gitops.kube.responses import AlreadyExists
from kube_objects.refs import Kind, KubeObject, ObjectRef

if TYPE_CHECKING:
    from tests.e2e.scenarios.world import World

GROUP = "cloud.example.org"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
CRD = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
TEXTS: Schema = {"type": "array", "items": TEXT}
TAGS: Schema = {"type": "object", "additionalProperties": TEXT}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _list(**properties: Schema) -> Schema:
    return {"type": "array", "items": _object(**properties)}


CONDITIONS = _list(type=TEXT, status=TEXT, reason=TEXT, message=TEXT, lastTransitionTime=TEXT)

# Kind → spec fields, status fields; each status has `state` and `conditions` besides.
KINDS: Mapping[str, tuple[dict[str, Schema], dict[str, Schema]]] = {
    "Network": (
        {"cidr": TEXT, "cidrs": TEXTS, "dnsSupport": FLAG, "tags": TAGS},
        {"networkID": TEXT},
    ),
    "Subnet": (
        {
            "networkID": TEXT,
            "zone": TEXT,
            "cidr": TEXT,
            "routeTables": TEXTS,
            "publicAddresses": FLAG,
            "tags": TAGS,
        },
        {"subnetID": TEXT},
    ),
    "Gateway": ({"networkID": TEXT, "tags": TAGS}, {"gatewayID": TEXT}),
    "RouteTable": (
        {"networkID": TEXT, "routes": _list(cidr=TEXT, gatewayID=TEXT, natGatewayID=TEXT)},
        {"routeTableID": TEXT},
    ),
    "SecurityGroup": (
        {
            "networkID": TEXT,
            "name": TEXT,
            "description": TEXT,
            "rules": _list(cidr=TEXT, fromPort=WHOLE, toPort=WHOLE, protocol=TEXT),
        },
        {"groupID": TEXT},
    ),
    "Address": ({"tags": TAGS}, {"allocationID": TEXT, "ip": TEXT}),
    "NatGateway": ({"subnetID": TEXT, "allocationID": TEXT}, {"natGatewayID": TEXT}),
    "Role": (
        {"name": TEXT, "description": TEXT, "policies": TEXTS, "assumeRolePolicy": TEXT},
        {"arn": TEXT, "roleID": TEXT},
    ),
    "Cluster": (
        {
            "name": TEXT,
            "version": TEXT,
            "roleARN": TEXT,
            "subnetIDs": TEXTS,
            "securityGroupIDs": TEXTS,
            "publicEndpoint": FLAG,
        },
        {"arn": TEXT, "endpoint": TEXT},
    ),
    "NodeGroup": (
        {
            "name": TEXT,
            "clusterName": TEXT,
            "roleARN": TEXT,
            "subnetIDs": TEXTS,
            "size": _object(minimum=WHOLE, maximum=WHOLE, desired=WHOLE),
        },
        {"arn": TEXT},
    ),
}


def definitions(*kinds: str, group: str = GROUP) -> list[KubeObject]:
    """Return the CRDs of some kinds, or of all; in another group they can be disturbed."""
    return [_crd(kind, group) for kind in kinds or KINDS]


async def install(world: "World", *kinds: str) -> None:
    """Have kinds served on the cluster of a world; all without names."""
    await asyncio.gather(*(_install(world, crd) for crd in definitions(*kinds)))


async def _install(world: "World", crd: KubeObject) -> None:
    ref = ObjectRef.of(crd)
    if await world.cluster.find(ref) is None:
        with suppress(AlreadyExists):  # a scenario beside us was faster
            await world.cluster.create(crd)  # not `world.create`: it stays

    async def established() -> None:
        found = (await world.cluster.get(ref))["status"]["conditions"]
        assert {"Established", "True"} <= {v for each in found for v in each.values()}, found

    await world.until(established)


def _crd(kind: str, group: str) -> KubeObject:
    spec, status = KINDS[kind]
    plural = _plural(kind)
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    return {
        "apiVersion": CRD.api_version,
        "kind": CRD.kind,
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": names,
            "versions": [_version(spec, {**status, "state": TEXT, "conditions": CONDITIONS})],
        },
    }


def _version(spec: Mapping[str, Schema], status: Mapping[str, Schema]) -> KubeObject:
    schema = _object(
        apiVersion=TEXT,
        kind=TEXT,
        metadata={"type": "object"},
        spec=_object(**spec),
        status=_object(**status),
    )
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }


def _plural(kind: str) -> str:
    lower = kind.lower()
    return f"{lower}es" if lower.endswith("s") else f"{lower}s"
