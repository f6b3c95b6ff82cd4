"""
Which Secrets a pod refers to, and which of them its service account does not let it have.

An account can say that its pods have the Secrets it lists, and no others.

Follows kubernetes 1.35 plugin/pkg/admission/serviceaccount/admission.go
Plugin.limitSecretReferences, Plugin.limitEphemeralContainerSecretReferences.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kube_objects.refs import KubeObject

ENFORCED = "kubernetes.io/enforce-mountable-secrets"
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_CONTAINERS = {"initContainers": "init container", "containers": "container"}
EPHEMERAL = {"ephemeralContainers": "ephemeral container"}
# The sources of volumes that refer to a Secret, by the field that does; in projections see below.
_SOURCES = {
    "azureFile": "secretName",
    "cephfs": "secretRef",
    "cinder": "secretRef",
    "flexVolume": "secretRef",
    "rbd": "secretRef",
    "secret": "secretName",
    "scaleIO": "secretRef",
    "iscsi": "secretRef",
    "storageos": "secretRef",
    "csi": "nodePublishSecretRef",
}

Part = Mapping[str, Any]


def enforces(account: KubeObject) -> bool:
    """Say whether pods may have no other Secrets than those of their account."""
    return (account["metadata"].get("annotations") or {}).get(ENFORCED) in _TRUE


def has_secrets(spec: Part) -> bool:
    """Say whether a pod refers to any Secret."""
    pulled = (each.get("name") for each in spec.get("imagePullSecrets") or ())
    used = (name for part in (*_CONTAINERS, *EPHEMERAL) for _, _, name in _used(spec, part))
    mounted = (name for each in spec.get("volumes") or () for name in _mounted(each))
    return any(pulled) or any(used) or any(mounted)


def has_tokens(spec: Part) -> bool:
    """Say whether a volume of a pod has a service account's token."""
    return any(
        "serviceAccountToken" in source
        for volume in spec.get("volumes") or ()
        for source in (volume.get("projected") or {}).get("sources") or ()
    )


def not_allowed(account: KubeObject, spec: Part) -> str:
    """Say what is wrong with the Secrets of a pod; "": nothing."""
    name, allowed = account["metadata"]["name"], _names(account.get("secrets"))
    for volume in spec.get("volumes") or ():
        secret = (volume.get("secret") or {}).get("secretName")
        if secret is not None and secret not in allowed:
            return f'volume with secret.secretName="{secret}" {_unknown(name)}'
    if wrong := _not_allowed_in(account, spec, _CONTAINERS):
        return wrong
    pulled = _names(account.get("imagePullSecrets"))
    for index, each in enumerate(spec.get("imagePullSecrets") or ()):
        if (secret := each.get("name", "")) not in pulled:
            unknown = _unknown(name, "imagePullSecret")
            return f'imagePullSecrets[{index}].name="{secret}" {unknown}'
    return ""


def not_allowed_ephemeral(account: KubeObject, spec: Part) -> str:
    """Say what is wrong with the Secrets of containers that come later; "": nothing."""
    return _not_allowed_in(account, spec, EPHEMERAL)


def _not_allowed_in(account: KubeObject, spec: Part, parts: Mapping[str, str]) -> str:
    allowed, unknown = _names(account.get("secrets")), _unknown(account["metadata"]["name"])
    for part, title in parts.items():
        for container, how, secret in _used(spec, part):
            if secret not in allowed:
                where = f"{title} {container} with {how} referencing"
                return f'{where} secret.secretName="{secret}" {unknown}'
    return ""


def _unknown(account: str, what: str = "secret") -> str:
    return f"is not allowed because service account {account} does not reference that {what}"


def _names(references: Iterable[Part] | None) -> set[str]:
    return {each.get("name", "") for each in references or ()}


def _used(spec: Part, part: str) -> Iterator[tuple[str, str, str]]:
    """Tell the Secrets in the environment of containers: whose, how, and which."""
    for container in spec.get(part) or ():
        owner = container.get("name", "")
        for env in container.get("env") or ():
            reference = (env.get("valueFrom") or {}).get("secretKeyRef")
            if reference is not None:
                yield owner, f"envVar {env.get('name', '')}", reference.get("name", "")
        for source in container.get("envFrom") or ():
            if (reference := source.get("secretRef")) is not None:
                yield owner, "envFrom", reference.get("name", "")


def _mounted(volume: Part) -> Iterator[str]:
    for source, field in _SOURCES.items():
        found = (volume.get(source) or {}).get(field) or ""
        yield found if isinstance(found, str) else found.get("name", "")
    for each in (volume.get("projected") or {}).get("sources") or ():
        yield (each.get("secret") or {}).get("name", "")
