"""
ServiceAccount: a pod acts as an account of its namespace, and has its token.

Only where somebody makes the account «default» in each namespace (`namespace_keeping`): without one
no pod is let in.

Follows kubernetes 1.35 plugin/pkg/admission/serviceaccount/admission.go Plugin.Admit,
Plugin.mountServiceAccountToken.
"""

from collections.abc import Callable

import orjson

from kube_objects.refs import KubeObject
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import AdmissionContext, forbidden_by_plugin, is_new
from kube_sandbox.admission.plugins.service_account_secrets import (
    enforces,
    has_secrets,
    has_tokens,
    not_allowed,
    not_allowed_ephemeral,
)
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
            # Refuse what a pod may not have that a node made by itself.
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
        # The older name of the field goes along.
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        account = self._account(attributes, name)
        choices = (each.get("automountServiceAccountToken") for each in (spec, account))
        if next((choice for choice in choices if choice is not None), True):
            self._mount(spec)
        pulled = account.get("imagePullSecrets")
        if pulled and not spec.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [{"name": each.get("name", "")} for each in pulled]
        if enforces(account) and (wrong := not_allowed(account, spec)):
            raise forbidden_by_plugin(attributes, wrong)

    def validate(self, attributes: AdmissionAttributes) -> list[str]:
        """Refuse containers that come later and may not have what they refer to."""
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
        found = self._context.find("serviceaccounts", attributes.namespace, name)
        if found is None:
            where = f"error looking up service account {attributes.namespace}/{name}"
            raise forbidden_by_plugin(attributes, f'{where}: serviceaccount "{name}" not found')
        return found

    def _mount(self, spec: KubeObject) -> None:
        """Mount the token into every container that has nothing in its place."""
        wanting = [
            container
            for part in ("initContainers", "containers")
            for container in spec.get(part) or ()
            if not any(
                each.get("mountPath") == _PATH for each in container.get("volumeMounts") or ()
            )
        ]
        if not wanting:
            return
        volumes = spec.get("volumes") or ()
        names = (each.get("name", "") for each in volumes)
        name = next((each for each in names if each.startswith(_VOLUME)), "")
        if not name:
            name = f"{_VOLUME}{self._suffix()}"
            spec["volumes"] = [*volumes, {"name": name, "projected": orjson.loads(_TOKEN)}]
        for container in wanting:
            mount = {"name": name, "readOnly": True, "mountPath": _PATH}
            container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]
