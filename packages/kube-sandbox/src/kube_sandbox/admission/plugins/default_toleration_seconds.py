"""
DefaultTolerationSeconds: a pod puts up with a node that fails for five minutes.

Follows kubernetes 1.35 plugin/pkg/admission/defaulttolerationseconds/admission.go Plugin.Admit.
"""

from collections.abc import Mapping
from typing import Any

from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import MutatingPlugin

_FAILURES = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATION_SECONDS = 300  # seconds


class DefaultTolerations(MutatingPlugin):
    """Lets pods wait for their nodes."""

    def mutate(self, deed: AdmissionAttributes) -> None:
        """Add what a pod does not say by itself of nodes that fail."""
        if deed.subresource or deed.obj is None:
            return
        spec = deed.obj["spec"]
        tolerations = spec.get("tolerations") or ()
        added = [_toleration(key) for key in _FAILURES if not _has_toleration(tolerations, key)]
        if added:
            spec["tolerations"] = [*tolerations, *added]


def _toleration(key: str) -> dict[str, Any]:
    return {
        "key": key,
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": _TOLERATION_SECONDS,
    }


def _has_toleration(tolerations: Any, key: str) -> bool:
    return any(_covers_taint(each, key) for each in tolerations)


def _covers_taint(toleration: Mapping[str, Any], key: str) -> bool:
    known, effect = toleration.get("key", ""), toleration.get("effect", "")
    return known in ("", key) and effect in ("", "NoExecute")
