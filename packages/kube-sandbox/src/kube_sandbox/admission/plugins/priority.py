"""
Priority: pods get the priority of their class, and there is one default class.

Follows kubernetes 1.35 plugin/pkg/admission/priority/admission.go Plugin.Admit, Plugin.admitPod,
Plugin.validatePriorityClass.
"""

from kube_objects.refs import KubeObject
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import (
    AdmissionContext,
    ClusterPlugin,
    MutatingPlugin,
    ValidatingPlugin,
    forbidden_by_plugin,
    is_new,
)

CLASSES = "priorityclasses.scheduling.k8s.io"
_POLICY = "PreemptLowerPriority"
_KEPT_FIELDS = ("priority", "preemptionPolicy")
_COMPUTED = "must not be provided in pod spec; priority admission controller computed"


class PodPriority(ClusterPlugin, MutatingPlugin):
    """Sets the priority of pods."""

    def mutate(self, attributes: AdmissionAttributes) -> None:
        """Set the priority of a new pod from its class; keep that of an existing pod."""
        if attributes.obj is None or attributes.subresource:
            return
        spec = attributes.obj["spec"]
        if is_new(attributes):
            name = spec.get("priorityClassName")
            if name:
                priority_class = self._context.find(CLASSES, "", name)
                if priority_class is None:
                    raise forbidden_by_plugin(
                        attributes, f"no PriorityClass with name {name} was found"
                    )
            else:
                priority_class = default_class(self._context)
                if priority_class is not None:
                    spec["priorityClassName"] = priority_class["metadata"]["name"]
            priority = (priority_class or {}).get("value", 0)
            policy = (priority_class or {}).get("preemptionPolicy", _POLICY)
            if spec.get("priority", priority) != priority:
                given = f"the integer value of priority ({spec['priority']})"
                raise _priority_mismatch(attributes, given, priority)
            if spec.get("preemptionPolicy", policy) != policy:
                given = f"the string value of PreemptionPolicy ({spec['preemptionPolicy']})"
                raise _priority_mismatch(attributes, given, policy)
            spec["priority"], spec["preemptionPolicy"] = priority, policy
            return
        before = (attributes.old or {}).get("spec", {})
        for key in _KEPT_FIELDS:
            if key not in spec and key in before:
                spec[key] = before[key]


class OneDefaultPriority(ClusterPlugin, ValidatingPlugin):
    """Rejects a second default class."""

    def validate(self, attributes: AdmissionAttributes) -> list[str]:
        """Reject a class that is marked as default beside another."""
        if attributes.obj is None or not attributes.obj.get("globalDefault"):
            return []
        found = default_class(self._context)
        if found is None:
            return []
        name = found["metadata"]["name"]
        if is_new(attributes) or name != attributes.obj["metadata"]["name"]:
            reason = f"PriorityClass {name} is already marked as default."
            raise forbidden_by_plugin(attributes, f"{reason} Only one default can exist")
        return []


def default_class(context: AdmissionContext) -> KubeObject | None:
    """Return the default class; that of the lowest value if there are several."""
    marked = (each for each in context.all(CLASSES, "") if each.get("globalDefault"))
    return min(marked, key=lambda each: each.get("value", 0), default=None)


def _priority_mismatch(
    attributes: AdmissionAttributes, given: str, computed: int | str
) -> Exception:
    """Return the rejection of a Pod that sets another priority than its PriorityClass gives it."""
    return forbidden_by_plugin(
        attributes, f"{given} {_COMPUTED} {computed} from the given PriorityClass name"
    )
