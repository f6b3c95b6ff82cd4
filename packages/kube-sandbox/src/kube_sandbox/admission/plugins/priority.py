"""
Priority: a pod has the priority of its class, and only one class is that of all others.

Follows kubernetes 1.35 plugin/pkg/admission/priority/admission.go Plugin.Admit, Plugin.admitPod,
Plugin.validatePriorityClass.
"""

from kube_objects.refs import KubeObject
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.plugins.interface import (
    AdmissionContext,
    MutatingPlugin,
    ValidatingPlugin,
    forbidden_by_plugin,
    is_new,
)

CLASSES = "priorityclasses.scheduling.k8s.io"
_POLICY = "PreemptLowerPriority"
_KEPT_FIELDS = ("priority", "preemptionPolicy")
_COMPUTED = "must not be provided in pod spec; priority admission controller computed"


class PodPriority(MutatingPlugin):
    """Looks up what pods are worth."""

    def __init__(self, around: AdmissionContext) -> None:
        self._around = around

    def mutate(self, deed: AdmissionAttributes) -> None:
        """Give a new pod the priority of its class; keep that of one that is there."""
        if deed.obj is None or deed.subresource:
            return
        spec = deed.obj["spec"]
        if is_new(deed):
            self._prioritize(deed, spec)
            return
        before = (deed.old or {}).get("spec", {})
        for key in _KEPT_FIELDS:
            if key not in spec and key in before:
                spec[key] = before[key]

    def _prioritize(self, deed: AdmissionAttributes, spec: KubeObject) -> None:
        found = self._class_of(deed, spec)
        priority = found.get("value", 0)
        policy = found.get("preemptionPolicy", _POLICY)
        if spec.get("priority", priority) != priority:
            given = f"the integer value of priority ({spec['priority']})"
            raise _priority_mismatch(deed, given, priority)
        if spec.get("preemptionPolicy", policy) != policy:
            given = f"the string value of PreemptionPolicy ({spec['preemptionPolicy']})"
            raise _priority_mismatch(deed, given, policy)
        spec["priority"], spec["preemptionPolicy"] = priority, policy

    def _class_of(self, deed: AdmissionAttributes, spec: KubeObject) -> KubeObject:
        """Return the class of a pod; one that names none is given the default, if there is one."""
        name = spec.get("priorityClassName")
        if name:
            named = self._around.find(CLASSES, "", name)
            if named is None:
                raise forbidden_by_plugin(deed, f"no PriorityClass with name {name} was found")
            return named
        found = default_class(self._around)
        if found is None:
            return {}
        spec["priorityClassName"] = found["metadata"]["name"]
        return found


class OneDefaultPriority(ValidatingPlugin):
    """Lets no second class be the default."""

    def __init__(self, around: AdmissionContext) -> None:
        self._around = around

    def validate(self, deed: AdmissionAttributes) -> list[str]:
        """Refuse a class that is to be the default beside another."""
        if deed.obj is None or not deed.obj.get("globalDefault"):
            return []
        found = default_class(self._around)
        if found is None:
            return []
        name = found["metadata"]["name"]
        if is_new(deed) or name != deed.obj["metadata"]["name"]:
            told = f"PriorityClass {name} is already marked as default."
            raise forbidden_by_plugin(deed, f"{told} Only one default can exist")
        return []


def default_class(around: AdmissionContext) -> KubeObject | None:
    """Return the class of pods that name none: the lowest, should there be several."""
    marked = (each for each in around.all(CLASSES, "") if each.get("globalDefault"))
    return min(marked, key=lambda each: each.get("value", 0), default=None)


def _priority_mismatch(deed: AdmissionAttributes, given: str, computed: int | str) -> Exception:
    return forbidden_by_plugin(
        deed, f"{given} {_COMPUTED} {computed} from the given PriorityClass name"
    )
