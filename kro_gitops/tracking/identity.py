"""
Argo CD's tracking id: `<application>:<group>/<kind>:<namespace>/<name>`.

Argo CD writes it on every object it applies, and later reads it to find what it applied. An id
that names the object it stands on means `I am in git`; if that object is not in git, it is pruned.
An id copied from another object does not. So ids are copied byte for byte, and never made up.

For cluster-scoped objects the namespace in the id is the application's destination, not theirs.
"""

from dataclasses import dataclass

from kube_objects.refs import ObjectRef


@dataclass(frozen=True, slots=True)
class TrackingId:
    """The parts of a tracking id; there is no version anywhere."""

    application: str
    group: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, application: str, ref: ObjectRef, destination: str = "") -> "TrackingId":
        """Name an object of an application, as Argo CD would."""
        namespace = ref.namespace or destination
        return cls(application, ref.kind.group, ref.kind.kind, namespace, ref.name)

    def __str__(self) -> str:
        return f"{self.application}:{self.group}/{self.kind}:{self.namespace}/{self.name}"

    def names(self, ref: ObjectRef) -> bool:
        """Return whether the object named here is this one; the application is not compared."""
        same_object = (self.group, self.kind, self.name) == (
            ref.kind.group,
            ref.kind.kind,
            ref.name,
        )
        return same_object and (not ref.namespace or self.namespace == ref.namespace)


def parse_tracking_id(text: str) -> TrackingId | None:
    """Take an id apart; what Argo CD could not read is no id."""
    # At most three parts: names of roles may contain colons.
    parts = text.split(":", 2)
    if len(parts) != 3:
        return None
    application, kind, place = parts[0], parts[1].split("/"), parts[2].split("/")
    if len(kind) != 2 or len(place) != 2:
        return None
    return TrackingId(application, *kind, *place)


def application_instance(name: str, namespace: str, argocd_namespace: str) -> str:
    """Return an Application's name as it stands in ids and labels."""
    # Elsewhere Argo CD writes `namespace/name`; a label could not hold the slash.
    return name if namespace in ("", argocd_namespace) else f"{namespace}_{name}"
