"""
What is done with one object: keep, apply, replace or wait.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kro_gitops.errors import KroGitopsError
from kro_gitops.metadata import FORCE, SOURCE_HASH, SOURCE_MANAGER
from kro_gitops.source.api.types import DriftMode, SourceSpec
from kro_gitops.source.plan.apply_errors import explain, is_immutable
from kro_gitops.source.plan.claims import Claimant
from kro_gitops.source.plan.desired import Desired, State, assess
from kro_gitops.source.plan.live_metadata import is_applied, source_of, with_own_fields
from kro_gitops.source.plan.result import NOTHING, Fault, SyncResult
from kro_gitops.tracking.foreign_owners import Tool, find_foreign_owner
from kro_gitops.tracking.inventory import Entry, Key
from kro_gitops.tracking.methods import ArgoCD
from kube_objects.errors import RefusedError
from kube_objects.managed_fields import CachedObject, other_managers
from kube_objects.refs import KubeObject, ObjectRef

_FORCED = ("enabled", "true")
_NEVER_REPLACED = frozenset({("", "Namespace"), ("", "PersistentVolumeClaim")})
_OUR_MANAGERS = (SOURCE_MANAGER,)


@dataclass(frozen=True, slots=True, eq=False)
class Keep:
    """
    Leave the object as it is.

    `live` is what it was compared with: as long as the fields we own stay the same, the object is
    current. It is None where drift is tolerated. `uid` is recorded in the inventory, if given.
    """

    desired: Desired
    live: CachedObject | None = None
    uid: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Apply:
    """Apply the object; `live` is the metadata of what is there now."""

    desired: Desired
    live: KubeObject | None
    is_ours: bool
    adopts: bool

    @property
    def force(self) -> bool:
        """Return True if fields are taken from other managers."""
        return self.is_ours or self.adopts

    def changes_uid(self, recorded: str) -> bool:
        """Return True if the object will not be the one that has the recorded uid."""
        return self.live is None or self.live["metadata"]["uid"] != recorded


@dataclass(frozen=True, slots=True, eq=False)
class Replace:
    """Delete the object and create it again: an immutable field changes."""

    desired: Desired
    live: KubeObject
    is_ours: bool
    adopts: bool

    @property
    def force(self) -> bool:
        """Return True: only our own objects are replaced."""
        return True

    def changes_uid(self, recorded: str) -> bool:
        """Return True: the API server gives the new object a new uid."""
        return bool(recorded)


@dataclass(frozen=True, slots=True, eq=False)
class Wait:
    """Do nothing yet: the object is being deleted, or an earlier stage is not finished."""

    ref: ObjectRef
    reason: str


Step = Keep | Apply | Replace | Wait


@dataclass(frozen=True, slots=True, eq=False)
class OtherSources:
    """The claims of all other sources."""

    claimant: Callable[[Key], Claimant | None] = lambda _: None
    exists: Callable[[str], bool] = lambda _: False
    is_behind: bool = False  # one of this repository has not seen the commit yet


def decide(
    desired: Desired,
    live: KubeObject | None,
    entry: Entry | None,
    spec: SourceSpec,
    others: OtherSources,
    source: str,
) -> tuple[Step | None, SyncResult]:
    """
    Decide about one object by its live metadata; no step if it must be left alone.

    `entry` is what the inventory has of it, `source` the name of the source that wants it.
    """
    name = source_of(live) if live is not None else ""
    is_recorded = live is not None and entry is not None and entry.uid == live["metadata"]["uid"]
    # Any client can write our annotations; managedFields are written by the API server.
    is_ours = live is not None and is_applied(live) and (bool(name) or is_recorded)
    if name not in (source, "") and not spec.adopt and others.exists(name):
        claimant = others.claimant(desired.key)
        if claimant is not None:
            error = RefusedError(
                "foreign-owner",
                f"{desired.ref} belongs to source {claimant.name}, which still wants it",
                hint="remove it there first",
            )
            foreign = SyncResult(foreign=(f"{desired.ref}: source {claimant.name}",))
            return None, explain(desired, error) + foreign
    state = assess(desired, live if is_ours else None)
    match state:
        case State.CURRENT:
            assert isinstance(live, CachedObject), "a current object is live"
            return Keep(desired, live, live["metadata"]["uid"]), NOTHING
        case State.DELETING:
            waiting = Wait(desired.ref, "which is being deleted")
            text = f"{desired.ref}, {waiting.reason}"
            return waiting, SyncResult(waiting=(text,), is_cut_short=True)
        case State.DRIFTED | State.ABSENT:
            is_drift = state is State.DRIFTED or bool(entry is not None and entry.uid)
            is_same = entry is not None and entry.hash == desired.item.digest
            if is_drift and is_same and spec.drift is not DriftMode.CORRECT:
                what = "was deleted" if state is State.ABSENT else "was changed"
                text = f"{desired.ref} {what} on the cluster, and is left so (drift.mode: warn)"
                origin = desired.item.origin()
                warning = Fault("drifted", text, str(desired.ref), origin)
                is_silent = spec.drift is not DriftMode.WARN
                return Keep(desired), NOTHING if is_silent else SyncResult(warnings=(warning,))
        case State.CHANGED:
            pass
    return Apply(desired, live, is_ours, spec.adopt), NOTHING


def replacement(step: Apply, error: KroGitopsError, spec: SourceSpec) -> Replace | None:
    """
    Return the replacement of an object that cannot be changed; None if it must stay.

    It needs the consent of the source or of the object. Objects of other owners, with finalizers,
    namespaces and volume claims are never deleted for that.
    """
    annotations = step.desired.object["metadata"].get("annotations") or {}
    is_allowed = spec.force or annotations.get(FORCE) in _FORCED
    kind, live = step.desired.ref.kind, step.live
    if not is_allowed or not step.is_ours or live is None or not is_immutable(error):
        return None
    if (kind.group, kind.kind) in _NEVER_REPLACED or live["metadata"].get("finalizers"):
        return None
    return Replace(step.desired, live, step.is_ours, step.adopts)


def foreign_owner(step: Apply, answer: KubeObject, argocd: ArgoCD) -> SyncResult | None:
    """
    Return the fault of an object that belongs to another owner, by the answer to a dry run.

    None if the source may apply it.
    """
    if step.is_ours and step.live is not None:
        owner = find_foreign_owner(with_own_fields(step.live), argocd=argocd)
    elif other_managers(answer, _OUR_MANAGERS):
        owner = find_foreign_owner(answer, argocd=argocd)
    else:
        return None
    # A child of a kro instance cannot be adopted: its instance would apply it again and again.
    is_child = owner is not None and owner.tool == Tool.KRO
    if owner is None or (step.adopts and not is_child):
        return None
    hint = "" if is_child else ", or set adopt: true on the source"
    error = RefusedError(
        "foreign-owner",
        f"{step.desired.ref} belongs to {owner}: it is left alone",
        hint=f"remove it {'from git' if is_child else 'there'}{hint}",
    )
    return explain(step.desired, error) + SyncResult(foreign=(f"{step.desired.ref}: {owner}",))


def kept_again(former: Keep, desired: Desired, live: KubeObject) -> Keep | None:
    """Return the step of an object that is as it was found current; None if it may differ."""
    if former.live is live and former.desired is desired:
        return former
    if former.live is None or not isinstance(live, CachedObject) or former.live.owned != live.owned:
        return None
    # The label decides as well: after a revert the owned fields are the same again.
    labels = live["metadata"].get("labels") or {}
    is_same = former.desired.hash == desired.hash == labels.get(SOURCE_HASH)
    return Keep(desired, live) if is_same else None
