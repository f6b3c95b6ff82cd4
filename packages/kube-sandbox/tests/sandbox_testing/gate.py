"""The admission plugins, asked as the verbs ask them, with objects to look up."""

from collections.abc import Iterable

from kube_objects.refs import Kind, KubeObject
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import AdmissionContext
from kube_sandbox.admission.plugins.registration import default_plugins
from kube_sandbox.authentication.user_info import UserInfo
from kube_sandbox.registry.builtin.registry import strategies
from kube_sandbox.registry.builtin_resources import served_builtins

SERVED = {each.kind: each for each in served_builtins(strategies())}
NAMESPACE = "town"


class Gate:
    """Lets objects in, or raises a `StatusError`."""

    def __init__(self, *known: KubeObject, accounts: bool = False) -> None:
        self._known = {_place(each): each for each in known}
        around = AdmissionContext(self._find, self._all)
        self._plugins = default_plugins(around, accounts=accounts, suffix=lambda: "abcde")

    def change(self, obj: KubeObject, old: KubeObject | None = None, subresource: str = "") -> None:
        """Have plugins change an object."""
        deed = _deed(obj, old, subresource)
        for plugin in self._plugins.get(deed.served.bucket, ()):
            plugin.mutate(deed)

    def admit(
        self, obj: KubeObject, old: KubeObject | None = None, subresource: str = ""
    ) -> list[str]:
        """Have plugins judge an object; return what its author should know."""
        deed = _deed(obj, old, subresource)
        asked = self._plugins.get(deed.served.bucket, ())
        return [text for plugin in asked for text in plugin.validate(deed)]

    def _find(self, bucket: str, namespace: str, name: str) -> KubeObject | None:
        return self._known.get((bucket, namespace, name))

    def _all(self, bucket: str, namespace: str) -> Iterable[KubeObject]:
        return [
            obj
            for (known, place, _), obj in self._known.items()
            if known == bucket and namespace in ("", place)
        ]


def _place(obj: KubeObject) -> tuple[str, str, str]:
    served = SERVED[Kind.of(obj["apiVersion"], obj["kind"])]
    metadata = obj["metadata"]
    namespace = metadata.get("namespace", NAMESPACE) if served.namespaced else ""
    return served.bucket, namespace, metadata["name"]


def _deed(obj: KubeObject, old: KubeObject | None, subresource: str) -> AdmissionAttributes:
    served = SERVED[Kind.of(obj["apiVersion"], obj["kind"])]
    metadata = obj["metadata"]
    namespace = metadata.get("namespace", NAMESPACE) if served.namespaced else ""
    operation, name = "CREATE" if old is None else "UPDATE", metadata.get("name", "")
    place = (namespace, name, subresource)
    return AdmissionAttributes(operation, served, *place, obj, old, UserInfo("jane"))
