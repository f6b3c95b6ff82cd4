"""
What is in the way of an object, as the author of its file should read it.

Answers of the API server become faults with the place in git; its words about a Secret are left
out, because they may quote it.
"""

from kro_gitops.errors import KroGitopsError, NotServed, UserError
from kro_gitops.kube.responses import ApiError, Conflict
from kro_gitops.metadata import SOURCE_MANAGER
from kro_gitops.source.accounts import Fault
from kro_gitops.source.controllers.errands import Errand, Target
from kro_gitops.source.controllers.live import evidence
from kro_gitops.source.desired import Wanted
from kro_gitops.source.misfits import Misfit, misfits
from kro_gitops.tracking.foreign_owners import Tool, find_foreign_owner
from kube_objects.errors import RefusedError
from kube_objects.managed_fields import other_managers
from kube_objects.refs import Kind, KubeObject, ObjectRef

_OURS = (SOURCE_MANAGER,)
_FORBIDDEN = "forbidden"


def refuse_foreign(errand: Errand, target: Target, answer: KubeObject) -> None:
    """Refuse what is somebody else's, by the answer to a rehearsal."""
    if target.is_ours and target.live is not None:
        owner = find_foreign_owner(evidence(target.live), argocd=errand.argocd)
    elif other_managers(answer, _OURS):
        owner = find_foreign_owner(answer, argocd=errand.argocd)
    else:
        return
    # What kro makes cannot be adopted: it would be made again, and again.
    is_made_by_kro = owner is not None and owner.tool == Tool.KRO
    if owner is not None and (is_made_by_kro or not target.adopts):
        errand.account.foreign.append(f"{target.wanted.ref}: {owner}")
        hint = "" if is_made_by_kro else ", or set adopt: true on the source"
        raise RefusedError(
            "foreign-owner",
            f"{target.wanted.ref} belongs to {owner}: it is left alone",
            hint=f"remove it {'from git' if is_made_by_kro else 'there'}{hint}",
        )


async def note_refusal(errand: Errand, target: Target, error: KroGitopsError) -> None:
    """Note why an object could not be applied, and whose it is if that is the reason."""
    if isinstance(error, Conflict) and error.fields:
        found = await errand.cluster.find(target.wanted.ref)
        owner = find_foreign_owner(found, argocd=errand.argocd) if found is not None else None
        if owner is not None:
            errand.account.foreign.append(f"{target.wanted.ref}: {owner}")
        fields = "; ".join(f"{each.field}: {each.message}" for each in error.fields[:3])
        errand.account.conflicts.append(f"{target.wanted.ref}: {fields}")
        whose = f"belongs to {owner}" if owner is not None else "was made by somebody else"
        error = RefusedError(
            "conflict",
            f"{target.wanted.ref} {whose}, and fields differ: {fields}",
            hint="make them agree, or set adopt: true on the source",
        )
    note_failure(errand, target.wanted, error)


def note_failure(errand: Errand, wanted: Wanted, error: KroGitopsError) -> None:
    """Note what went wrong with an object, and where it is written."""
    if error.code == _FORBIDDEN:
        errand.denied.add(wanted.key)
    found = misfits(error.message, wanted.object)
    if found:
        errand.account.failures += [_misfit(wanted, each) for each in found]
        return
    field_ = ""
    if isinstance(error, ApiError) and error.causes:
        field_ = error.causes[0].field
    if isinstance(error, NotServed):
        error = no_such_kind(wanted.ref.kind)
    elif _is_secret(wanted.ref) and isinstance(error, ApiError):
        error = _discreet(error, wanted)
    lasting = isinstance(error, UserError) and error.code not in ("foreign-owner", "conflict")
    errand.account.failures.append(
        Fault.of_item(wanted.item, wanted.ref, error, field_=field_, lasting=lasting)
    )


def _misfit(wanted: Wanted, found: Misfit) -> Fault:
    # It may fit later: the schema of a kind can change, too.
    origin = wanted.item.manifest.origin(found.spot)
    return Fault("schema-mismatch", found.text, str(wanted.ref), origin)


def _is_secret(ref: ObjectRef) -> bool:
    return (ref.kind.group, ref.kind.kind) == ("", "Secret")


def _discreet(error: ApiError, wanted: Wanted) -> KroGitopsError:
    """Leave out the server's words about a Secret: they may quote it."""
    fields = ", ".join(each.field for each in error.causes if each.field)
    where = f" at {fields}" if fields else ""
    reason = error.status.reason or f"HTTP {error.status.http_code}"
    return KroGitopsError(error.code, f"{wanted.ref} was refused{where}: {reason}")


def no_such_kind(kind: Kind) -> KroGitopsError:
    """Say that nobody serves a kind."""
    return KroGitopsError(
        "not-served",
        f"the cluster does not serve {kind}",
        hint="does its definition or CRD stand in git, and is its apiVersion right?",
    )
