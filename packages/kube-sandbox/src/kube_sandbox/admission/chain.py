"""
What is checked of every write besides the object itself: its place, and what it grants.

As the plugins of a real API server that are on by default; those that are about certain kinds are
in `plugins`.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/admission/chain.go chainAdmissionHandler.Admit,
chainAdmissionHandler.Validate;
k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go Lifecycle.Admit;
k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go crdHandler.ServeHTTP;
pkg/registry/scheduling/priorityclass/storage/storage.go REST.Delete.
"""

from collections.abc import Callable

from kube_objects.refs import KubeObject
from kube_sandbox import api_errors
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import LAST, Plugins, display_name
from kube_sandbox.authentication.user_info import UserInfo
from kube_sandbox.authorization.escalation import check_grant
from kube_sandbox.authorization.rbac import RBAC, RBACAuthorizer
from kube_sandbox.registry.kinds import Served

# Who may still be asked in a namespace that goes.
_ALLOWED_WITHOUT_NAMESPACE = frozenset(
    (
        "localsubjectaccessreviews.authorization.k8s.io",
        "subjectaccessreviews.authorization.k8s.io",
    )
)
# By bucket: what every cluster needs, and what is said to who would delete it.
_UNDELETABLE = {
    "namespaces": (
        frozenset(("default", "kube-system", "kube-public")),
        "this namespace may not be deleted",
    ),
    "priorityclasses.scheduling.k8s.io": (
        frozenset(("system-cluster-critical", "system-node-critical")),
        "this is a system priority class and cannot be deleted",
    ),
}


class AdmissionChain:
    """Admits writes, or raises."""

    def __init__(
        self,
        namespace: Callable[[str], KubeObject | None],
        access: RBACAuthorizer,
        policies: Callable[[AdmissionAttributes], list[str]] = lambda attributes: [],
        plugins: Plugins | None = None,
    ) -> None:
        self._namespace = namespace
        self._access = access
        self._policies = policies  # raises if a policy denies; returns warnings
        self._plugins = plugins or {}
        self._last = self._plugins.get(LAST, ())

    def create(self, served: Served, namespace: str, obj: KubeObject, user: UserInfo) -> None:
        """Raise if an object cannot be created in its namespace, or grants too many rights."""
        # Reject a new object of a custom kind that is being deleted.
        if served.is_custom and "create" not in served.verbs:
            name = obj["metadata"].get("name", "")
            why = "create not allowed while custom resource definition is terminating"
            raise api_errors.forbidden(served.kind.group, served.plural, name, why)
        if served.namespaced and served.bucket not in _ALLOWED_WITHOUT_NAMESPACE:
            found = self._namespace(namespace)
            if found is None:
                raise api_errors.not_found("", "namespaces", namespace)
            if "deletionTimestamp" in found["metadata"]:
                name = display_name(obj)
                why = (
                    f"unable to create new content in namespace {namespace} "
                    "because it is being terminated"
                )
                error = api_errors.forbidden(served.kind.group, served.plural, name, why)
                error.details["causes"] = [
                    {
                        "reason": "NamespaceTerminating",
                        "message": f"namespace {namespace} is being terminated",
                        "field": "metadata.namespace",
                    }
                ]
                raise error
        if served.kind.group == RBAC:
            check_grant(self._access, user, served.plural, obj)

    def mutate(self, attributes: AdmissionAttributes) -> None:
        """Have plugins change what is written."""
        for plugin in self._plugins.get(attributes.served.bucket, ()):
            plugin.mutate(attributes)

    def admit(self, attributes: AdmissionAttributes) -> list[str]:
        """Raise if a policy or a plugin denies the write; return the warnings for its author."""
        warnings = [
            text
            for plugin in self._plugins.get(attributes.served.bucket, ())
            for text in plugin.validate(attributes)
        ]
        warnings += self._policies(attributes)
        if attributes.served.namespaced:
            warnings += [text for plugin in self._last for text in plugin.validate(attributes)]
        return warnings

    def update(self, served: Served, new: KubeObject, old: KubeObject, user: UserInfo) -> None:
        """Reject a change that grants more than its author has."""
        if served.kind.group == RBAC:
            check_grant(self._access, user, served.plural, new, old)

    def delete(self, served: Served, name: str) -> None:
        """Reject to delete what every cluster needs."""
        names, why = _UNDELETABLE.get(served.bucket, ((), ""))
        if name in names:
            raise api_errors.forbidden(served.kind.group, served.plural, name, why)
