"""
DefaultTolerationSeconds: pods tolerate a failed node for five minutes.

Follows kubernetes 1.35 plugin/pkg/admission/defaulttolerationseconds/admission.go Plugin.Admit.
"""

from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import MutatingPlugin

_FAILURES = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOLERATION_SECONDS = 300


class DefaultTolerations(MutatingPlugin):
    """Adds tolerations of failed nodes to pods."""

    def mutate(self, attributes: AdmissionAttributes) -> None:
        """Add a toleration for each failure that the pod does not tolerate by itself."""
        if attributes.subresource or attributes.obj is None:
            return
        spec = attributes.obj["spec"]
        tolerations = spec.get("tolerations") or ()
        added = [
            {
                "key": key,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": _TOLERATION_SECONDS,
            }
            for key in _FAILURES
            if not any(
                each.get("key", "") in ("", key) and each.get("effect", "") in ("", "NoExecute")
                for each in tolerations
            )
        ]
        if added:
            spec["tolerations"] = [*tolerations, *added]
