"""
ServiceAccount: pods run as an account of their namespace, with its token and its Secrets.

Only enabled where each namespace gets an account "default": without that, no pod is admitted. An
account can restrict its pods to the Secrets that it lists.

Follows kubernetes 1.35 plugin/pkg/admission/serviceaccount/admission.go Plugin.Admit,
Plugin.mountServiceAccountToken, Plugin.limitSecretReferences,
Plugin.limitEphemeralContainerSecretReferences.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import orjson

from kube_objects.refs import KubeObject
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import AdmissionContext, forbidden_by_plugin, is_new
from kube_sandbox.api_errors import StatusError

_DEFAULT = "default"
_EPHEMERAL = "ephemeralcontainers"
_MIRROR = "kubernetes.io/config.mirror"
_VOLUME = "kube-api-access-"
_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
# As bytes: each pod gets its own, and nothing copies faster.
_TOKEN = orjson.dumps(
    {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {
                "configMap": {
                    "name": "kube-root-ca.crt",
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }
            },
            {
                "downwardAPI": {
                    "items": [
                        {
                            "path": "namespace",
                            "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                        }
                    ]
                }
            },
        ],
        "defaultMode": 420,
    }
)
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


class PodAccount:
    """Gives pods an account."""

    def __init__(self, context: AdmissionContext, suffix: Callable[[], str]) -> None:
        self._context = context
        self._suffix = suffix  # five letters, others each time

    def mutate(self, attributes: AdmissionAttributes) -> None:
        """Give a new pod its account, that account's token and its Secrets to pull images with."""
        if attributes.obj is None or not is_new(attributes):
            return
        spec = attributes.obj["spec"]
        if _MIRROR in (attributes.obj["metadata"].get("annotations") or {}):
            # Mirror pods, which a kubelet creates, may not refer to API objects.
            if spec.get("serviceAccountName"):
                raise forbidden_by_plugin(
                    attributes, "a mirror pod may not reference service accounts"
                )
            if has_secrets(spec):
                raise forbidden_by_plugin(attributes, "a mirror pod may not reference secrets")
            if has_tokens(spec):
                why = "a mirror pod may not use ServiceAccountToken volume projections"
                raise forbidden_by_plugin(attributes, why)
            return
        name = spec.get("serviceAccountName") or _DEFAULT
        # The deprecated field has the same value.
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        account = self._account(attributes, name)
        choices = (each.get("automountServiceAccountToken") for each in (spec, account))
        if next((choice for choice in choices if choice is not None), True):
            # Mount the token into every container that has nothing in its place.
            wanting = [
                container
                for part in ("initContainers", "containers")
                for container in spec.get(part) or ()
                if not any(
                    each.get("mountPath") == _PATH for each in container.get("volumeMounts") or ()
                )
            ]
            if wanting:
                volumes = spec.get("volumes") or ()
                names = (each.get("name", "") for each in volumes)
                volume = next((each for each in names if each.startswith(_VOLUME)), "")
                if not volume:
                    volume = f"{_VOLUME}{self._suffix()}"
                    token = {"name": volume, "projected": orjson.loads(_TOKEN)}
                    spec["volumes"] = [*volumes, token]
                for container in wanting:
                    mount = {"name": volume, "readOnly": True, "mountPath": _PATH}
                    container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]
        pulled = account.get("imagePullSecrets")
        if pulled and not spec.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [{"name": each.get("name", "")} for each in pulled]
        if enforces(account) and (wrong := not_allowed(account, spec)):
            raise forbidden_by_plugin(attributes, wrong)

    def validate(self, attributes: AdmissionAttributes) -> list[str]:
        """Reject containers that come later and may not have what they refer to."""
        if attributes.obj is None or attributes.old is None or attributes.subresource != _EPHEMERAL:
            return []
        spec = attributes.obj["spec"]
        name = spec.get("serviceAccountName")
        if not name:
            pod = f"{attributes.namespace}/{attributes.name}"
            raise forbidden_by_plugin(attributes, f"no service account specified for pod {pod}")
        account = self._account(attributes, name)
        if enforces(account) and (wrong := not_allowed_ephemeral(account, spec)):
            # Not what one expects, but what is answered.
            raise StatusError(500, "", wrong)
        return []

    def _account(self, attributes: AdmissionAttributes, name: str) -> KubeObject:
        """Return the service account of a Pod, or reject the Pod with the plugin's own message."""
        found = self._context.find("serviceaccounts", attributes.namespace, name)
        if found is None:
            where = f"error looking up service account {attributes.namespace}/{name}"
            raise forbidden_by_plugin(attributes, f'{where}: serviceaccount "{name}" not found')
        return found


def enforces(account: KubeObject) -> bool:
    """Return whether pods may have no other Secrets than those of their account."""
    return (account["metadata"].get("annotations") or {}).get(ENFORCED) in _TRUE


def has_secrets(spec: Part) -> bool:
    """Return whether a pod refers to any Secret."""
    pulled = (each.get("name") for each in spec.get("imagePullSecrets") or ())
    used = (name for part in (*_CONTAINERS, *EPHEMERAL) for _, _, name in _used(spec, part))
    if any(pulled) or any(used):
        return True
    for volume in spec.get("volumes") or ():
        for source, field in _SOURCES.items():
            reference = (volume.get(source) or {}).get(field) or ""
            if reference if isinstance(reference, str) else reference.get("name", ""):
                return True
        for projected in (volume.get("projected") or {}).get("sources") or ():
            if (projected.get("secret") or {}).get("name", ""):
                return True
    return False


def has_tokens(spec: Part) -> bool:
    """Return whether a volume of a pod has a service account's token."""
    return any(
        "serviceAccountToken" in source
        for volume in spec.get("volumes") or ()
        for source in (volume.get("projected") or {}).get("sources") or ()
    )


def not_allowed(account: KubeObject, spec: Part) -> str:
    """Return why a pod may not use its Secrets; "" if it may."""
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
    """Return why ephemeral containers may not use their Secrets; "" if they may."""
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
