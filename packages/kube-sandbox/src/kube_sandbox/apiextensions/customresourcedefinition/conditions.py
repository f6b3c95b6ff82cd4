"""
The status of a CustomResourceDefinition: what the API server's controllers make of it.

Each function takes a definition and returns the next one; nothing is changed in place. After a
creation or a change, `next_status` is asked until it has nothing to say: names are accepted (unless
another definition of the group has them), then the definition is established. A deletion goes
through `deleted`, `terminating` and, once no object is left, `terminated`. All of it is written to
the status subresource by `MANAGER`, except `deleted`, which is what DELETE itself does.

Follows kubernetes 1.35 k8s.io/apiextensions-apiserver/pkg/controller/status/naming_controller.go
NamingConditionController.calculateNamesAndConditions;
k8s.io/apiextensions-apiserver/pkg/controller/establish/establishing_controller.go
EstablishingController.sync;
k8s.io/apiextensions-apiserver/pkg/controller/apiapproval/apiapproval_controller.go
calculateCondition; k8s.io/apiextensions-apiserver/pkg/controller/finalizer/crd_finalizer.go
CRDFinalizer.sync.
"""

from collections.abc import Iterable
from copy import deepcopy
from datetime import datetime

from kube_objects.refs import KubeObject
from kube_objects.times import format_time
from kube_sandbox.apiextensions.customresourcedefinition.validation import (
    approval,
    is_established,
    is_protected,
)

FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
MANAGER = "kube-apiserver"

_ACCEPTED = ("True", "NoConflicts", "no conflicts found")
_INSTALLING = ("False", "Installing", "the initial names have been accepted")
_NOT_ACCEPTED = ("False", "NotAccepted", "not all names are accepted")
_ESTABLISHED = ("True", "InitialNamesAccepted", "the initial names have been accepted")
_PENDING = (
    "True",
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)
_IN_PROGRESS = ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
_COMPLETED = ("False", "InstanceDeletionCompleted", "removed all instances")
_NEVER = ("False", "NeverEstablished", "resource was never established")
_APPROVALS = {
    "Invalid": ("False", "InvalidAnnotation"),
    "Missing": ("False", "MissingAnnotation"),
    "Approved": ("True", "ApprovedAnnotation"),
    "Unapproved": ("False", "UnapprovedAnnotation"),
}
_POLICY = "KubernetesAPIApprovalPolicyConformant"

_State = tuple[str, str, str]  # status, reason, message


def accepted(crd: KubeObject, others: Iterable[KubeObject], now: datetime) -> KubeObject:
    """Return a definition as the controllers leave it."""
    known = list(others)
    while (following := next_status(crd, known, now)) is not None:
        crd = following
    return crd


def next_status(crd: KubeObject, others: Iterable[KubeObject], now: datetime) -> KubeObject | None:
    """Return a definition with its next status, or None if it has none to come."""
    wanted, former = crd["spec"]["names"], crd["status"]["acceptedNames"]
    if wanted == former:
        with_names: KubeObject | None = None
    else:
        names, state = _decide_names(crd, others)
        if names == former and _state(crd, "NamesAccepted") == state:
            with_names = None
        else:
            with_names = _copy(crd)
            with_names["status"]["acceptedNames"] = names
            _set(with_names, "NamesAccepted", state, now)
            if not is_established(crd):
                following = (
                    _INSTALLING
                    if state == _ACCEPTED
                    else _state(crd, "Established") or _NOT_ACCEPTED
                )
                _set(with_names, "Established", following, now)
    if with_names is not None:
        return with_names
    accepted = _state(crd, "NamesAccepted")
    if accepted is not None and accepted[0] == "True" and not is_established(crd):
        new = _copy(crd)
        _set(new, "Established", _ESTABLISHED, now)
        return new
    if is_protected(crd["spec"]["group"]):
        found, why = approval(crd)
        policy = (*_APPROVALS[found], why)
        if _state(crd, _POLICY) != policy:
            new = _copy(crd)
            _set(new, _POLICY, policy, now)
            return new
    return None


def _decide_names(crd: KubeObject, others: Iterable[KubeObject]) -> tuple[KubeObject, _State]:
    """Return the names that a definition gets, and whether they are those it wants."""
    wanted, former = crd["spec"]["names"], crd["status"]["acceptedNames"]
    group, name = crd["spec"]["group"], crd["metadata"]["name"]
    names_resources: set[str] = set()
    names_kinds: set[str] = set()
    rivals = [e for e in others if e["spec"]["group"] == group and e["metadata"]["name"] != name]
    for each in (crd, *rivals):
        use_names = each["status"]["acceptedNames"]
        names_resources.update(
            (use_names["plural"], use_names.get("singular", "")), use_names.get("shortNames", ())
        )
        names_kinds.update((use_names["kind"], use_names.get("listKind", "")))
    resources, kinds = names_resources, names_kinds
    names, state = {**former}, _ACCEPTED
    for key, reason, taken in (
        ("plural", "PluralConflict", resources),
        ("singular", "SingularConflict", resources),
        ("shortNames", "ShortNamesConflict", resources),
        ("kind", "KindConflict", kinds),
        ("listKind", "ListKindConflict", kinds),
    ):
        conflict_wanted = wanted.get(key)
        conflict_former = former.get(key)
        if isinstance(conflict_wanted, list):
            found = [
                f'"{e}" is already in use'
                for e in conflict_wanted
                if e not in (conflict_former or ()) and e in taken
            ]
            conflict = found[0] if len(found) == 1 else f"[{', '.join(found)}]" if found else ""
        elif (
            conflict_wanted is None
            or conflict_wanted == conflict_former
            or conflict_wanted not in taken
        ):
            conflict = ""
        else:
            conflict = f'"{conflict_wanted}" is already in use'
        if conflict:
            state = ("False", reason, conflict)
        else:
            _set_or_drop(names, key, wanted.get(key))
    _set_or_drop(names, "categories", wanted.get("categories"))
    return names, state


def _set_or_drop(names: KubeObject, key: str, value: str | list[str] | None) -> None:
    if value is None:
        names.pop(key, None)
    else:
        names[key] = value


def deleted(crd: KubeObject, now: datetime) -> KubeObject:
    """Return a definition as the first DELETE leaves it: it waits for its objects to go."""
    new = _copy(crd)
    metadata = new["metadata"]
    metadata["deletionTimestamp"] = format_time(now)
    finalizers = metadata.get("finalizers", [])
    if FINALIZER not in finalizers:
        metadata["finalizers"] = [*finalizers, FINALIZER]
    _set(new, "Terminating", _PENDING, now)
    return new


def terminating(crd: KubeObject, now: datetime) -> KubeObject:
    """Return a definition whose objects are being deleted."""
    new = _copy(crd)
    _set(new, "Terminating", _IN_PROGRESS, now)
    return new


def terminated(crd: KubeObject, now: datetime) -> KubeObject:
    """Return a definition of which no objects are left: without its finalizer."""
    new = _copy(crd)
    _set(new, "Terminating", _COMPLETED if is_established(crd) else _NEVER, now)
    left = [each for each in new["metadata"].get("finalizers", ()) if each != FINALIZER]
    new["metadata"].pop("finalizers", None)
    if left:
        new["metadata"]["finalizers"] = left
    return new


def _copy(crd: KubeObject) -> KubeObject:
    return {**crd, "metadata": {**crd["metadata"]}, "status": deepcopy(crd["status"])}


def _find(crd: KubeObject, kind: str) -> KubeObject | None:
    conditions = crd["status"]["conditions"] or ()
    return next((each for each in conditions if each["type"] == kind), None)


def _state(crd: KubeObject, kind: str) -> _State | None:
    found = _find(crd, kind)
    if found is None:
        return None
    return found["status"], found.get("reason", ""), found.get("message", "")


def _set(crd: KubeObject, kind: str, state: _State, now: datetime) -> None:
    status, reason, message = state
    found = _find(crd, kind)
    if found is None:
        found = {"type": kind}
        crd["status"]["conditions"] = [*(crd["status"]["conditions"] or ()), found]
    if found.get("status") != status or not found.get("lastTransitionTime"):
        found["lastTransitionTime"] = format_time(now)
    found.update({"status": status, "reason": reason, "message": message})
