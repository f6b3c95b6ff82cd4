"""
The attributes of a write that admission decides on.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/admission/attributes.go NewAttributesRecord.
"""

from dataclasses import dataclass

from kube_objects.refs import KubeObject
from kube_sandbox.authentication.user_info import UserInfo
from kube_sandbox.registry.kinds import Served


@dataclass(frozen=True, slots=True)
class AdmissionAttributes:
    """A write for admission; `old` is the stored object, `obj` the new one."""

    operation: str  # CREATE, UPDATE or DELETE
    served: Served
    namespace: str
    name: str
    subresource: str
    obj: KubeObject | None
    old: KubeObject | None
    asker: UserInfo
    dry_run: bool = False

    def request(self) -> KubeObject:
        """Return what expressions see of the request."""
        kind, asker = self.served.kind, self.asker
        shown = {"group": kind.group, "version": kind.version, "kind": kind.kind}
        place = {"group": kind.group, "version": kind.version, "resource": self.served.plural}
        user = {"username": asker.user, "uid": asker.uid, "groups": list(asker.groups)}
        extra = {key: list(values) for key, values in asker.extra.items()}
        part = {"subResource": self.subresource, "requestSubResource": self.subresource}
        return {
            **{"kind": shown, "requestKind": shown, "resource": place, "requestResource": place},
            **({key: value for key, value in part.items() if value}),
            **({"name": self.name} if self.name else {}),
            **({"namespace": self.namespace} if self.namespace else {}),
            "operation": self.operation,
            "userInfo": {**user, "extra": extra},
            "dryRun": self.dry_run,
        }
