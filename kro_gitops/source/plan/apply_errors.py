"""
Errors of a server-side apply → faults with their origin in git.

One fact has no structured form in a Status, so its text is parsed here and nowhere else: immutable
fields. A Status has causes, but their reason is FieldValueInvalid or FieldValueForbidden, as for
every other bad value. Only the message of the cause says that the field cannot be changed: "field
is immutable" (apimachinery `pkg/api/validation/objectmeta.go`, FieldImmutableErrorMsg), "field is
immutable when `immutable` is set" (kubernetes `pkg/apis/core/validation/validation.go`,
ValidateConfigMapUpdate), and by convention the message of a CRD's transition rule.
"""

import re
from dataclasses import replace

from kro_gitops.errors import KroGitopsError, NotServed, UserError
from kro_gitops.kube.responses import ApiError, Conflict, Invalid, NotFound
from kro_gitops.source.plan.desired import Desired
from kro_gitops.source.plan.rejections import is_secret, problems_of
from kro_gitops.source.plan.result import Fault, SyncResult
from kro_gitops.source.plan.schema_errors import violations
from kro_gitops.tracking.foreign_owners import find_foreign_owner
from kro_gitops.tracking.methods import ArgoCD
from kube_objects.builtins.catalog import catalog
from kube_objects.errors import RefusedError
from kube_objects.refs import Kind, KubeObject
from kube_objects.schemas import KindSchema

_FORBIDDEN = "forbidden"
_BAD_REQUEST = 400
_SERVER_ERROR = 500
_MAX_CONFLICTS = 3  # fields named in a message
_FIELD_REASONS = frozenset({"FieldValueInvalid", "FieldValueForbidden"})
_IMMUTABLE = re.compile(r"\bimmutable\b")


def is_immutable(error: KroGitopsError) -> bool:
    """
    Return True if the API server rejected an update because it changes an immutable field.

    Only the messages of causes count: the message of the whole Status holds the object's name,
    which may be anything. A server without causes (an admission webhook) is read by its message
    behind the name.
    """
    if not isinstance(error, Invalid):
        return False
    if error.causes:
        return any(
            cause.reason in _FIELD_REASONS and _IMMUTABLE.search(cause.message)
            for cause in error.causes
        )
    return (
        _IMMUTABLE.search(error.message.partition(" is invalid: ")[2] or error.message) is not None
    )


def is_unknown_field(error: KroGitopsError, desired: Desired) -> bool:
    """
    Return True if the API server may not know a field of the object's schema yet.

    An unknown field has no reason or cause of its own: it is a bad request like any other, or a
    schema violation.
    """
    if isinstance(error, ApiError) and error.status.http_code == _BAD_REQUEST:
        return True
    return bool(violations(error.message, desired.object))


def is_denied(error: KroGitopsError) -> bool:
    """Return True if the service account lacks a permission."""
    return error.code == _FORBIDDEN


def not_served(kind: Kind) -> KroGitopsError:
    """Return the error of a kind that the API server does not serve."""
    return KroGitopsError(
        "not-served",
        f"the cluster does not serve {kind}",
        hint="does its definition or CRD stand in git, and is its apiVersion right?",
    )


def explain(
    desired: Desired, error: KroGitopsError, served: KindSchema | None = None
) -> SyncResult:
    """Return the faults of an object that could not be read or applied; `served` is its kind."""
    if _is_rejection(error, desired):
        builtin = catalog.find(desired.ref.kind)
        problems = problems_of(
            error, desired.object, builtin or served, is_builtin=builtin is not None
        )
        # Not lasting: the schema of the kind can change, too.
        faults = [Fault.of_finding(desired.item.finding(each)) for each in problems]
        return SyncResult(
            failures=tuple(
                replace(each, subject=str(desired.ref), is_lasting=False, is_rejection=True)
                for each in faults
            )
        )
    if isinstance(error, NotServed):
        error = not_served(desired.ref.kind)
    lasting = isinstance(error, UserError) and error.code not in ("foreign-owner", "conflict")
    fault = Fault.of_item(desired.item, desired.ref, error, lasting=lasting)
    return SyncResult(failures=(replace(fault, is_rejection=error.code == "not-served"),))


def _is_rejection(error: KroGitopsError, desired: Desired) -> bool:
    """Return True if the API server rejected the object for what is written in it."""
    if isinstance(error, Invalid) or is_unknown_field(error, desired):
        return True
    if not isinstance(error, ApiError):
        return False
    # Objects that cannot be decoded are answered as if the server had failed, without a reason.
    is_undecodable = error.status.http_code == _SERVER_ERROR and not error.status.reason
    return is_undecodable or isinstance(error, NotFound) or is_secret(desired.object)


def explain_conflict(
    desired: Desired, error: Conflict, live: KubeObject | None, argocd: ArgoCD
) -> SyncResult:
    """Return the fault of an object whose fields another manager owns, and who that is."""
    owner = find_foreign_owner(live, argocd=argocd) if live is not None else None
    fields = "; ".join(f"{each.field}: {each.message}" for each in error.fields[:_MAX_CONFLICTS])
    whose = f"belongs to {owner}" if owner is not None else "was created by another client"
    rejected = RefusedError(
        "conflict",
        f"{desired.ref} {whose}, and fields differ: {fields}",
        hint="make them agree, or set adopt: true on the source",
    )
    foreign = (f"{desired.ref}: {owner}",) if owner is not None else ()
    return explain(desired, rejected) + SyncResult(
        foreign=foreign, conflicts=(f"{desired.ref}: {fields}",)
    )
