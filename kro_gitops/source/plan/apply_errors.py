"""
Errors of a server-side apply → faults with their origin in git.

Two facts have no structured form in a Status, so their texts are parsed here and nowhere else:

* Schema violations. The API server answers with a plain text and code 500, as if it had failed:

      failed to create typed patch object (default/x; /v1, Kind=Service): errors:
        .spec.ports[port=80,protocol="TCP"].prt: field not declared in schema
        .spec.type: expected string, got &value.valueUnstructured{Value:1}

  (structured-merge-diff v6 `typed/validate.go`, wrapped by apimachinery
  `managedfields/internal/structuredmerge.go`.) List items are named by their keys. Values are left
  out: the object may be a Secret.
* Immutable fields. A Status has causes, but their reason is FieldValueInvalid or
  FieldValueForbidden, as for every other bad value. Only the message of the cause says that the
  field cannot be changed: "field is immutable" (apimachinery `pkg/api/validation/objectmeta.go`,
  FieldImmutableErrorMsg), "field is immutable when `immutable` is set" (kubernetes
  `pkg/apis/core/validation/validation.go`, ValidateConfigMapUpdate), and by convention the message
  of a CRD's transition rule.

What the API server says about a Secret is left out, because it may quote it.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kro_gitops.errors import KroGitopsError, NotServed, UserError
from kro_gitops.kube.responses import ApiError, Conflict, Invalid
from kro_gitops.source.plan.desired import Desired
from kro_gitops.source.plan.result import Fault, SyncResult
from kro_gitops.tracking.foreign_owners import find_foreign_owner
from kro_gitops.tracking.methods import ArgoCD
from kube_objects.errors import RefusedError
from kube_objects.problems import Path, Spot
from kube_objects.refs import Kind, KubeObject

_FORBIDDEN = "forbidden"
_BAD_REQUEST = 400
_MAX_CONFLICTS = 3  # fields named in a message
_FIELD_REASONS = frozenset({"FieldValueInvalid", "FieldValueForbidden"})
_IMMUTABLE = re.compile(r"\bimmutable\b")
_PREFIX = re.compile(r"failed to create typed patch object \([^)]*\): (?:errors:\n)?")
_LINE = re.compile(r"^\s*((?:\.[^\s.\[\]:]+|\[(?:[^\]\"]|\"(?:[^\"\\]|\\.)*\")*\])+): (.*)$", re.M)
_STEP = re.compile(r"\.([^.\[\]]+)|\[((?:[^\]\"]|\"(?:[^\"\\]|\\.)*\")*)\]")
_KEY = re.compile(r"(\w+)=(\"(?:[^\"\\]|\\.)*\"|[^,]+)")
_VALUE = re.compile(r", got &.*$")
_UNDECLARED = "field not declared in schema"


@dataclass(frozen=True, slots=True)
class Violation:
    """A field that violates the schema of its kind."""

    path: Path
    text: str
    is_unknown: bool = False  # the schema has no such field

    @property
    def spot(self) -> Spot:
        """Return the place inside the object."""
        return Spot(self.path, on_key=self.is_unknown)


def violations(message: str, obj: KubeObject) -> tuple[Violation, ...]:
    """Parse the fields that a server names; empty if the message has another form."""
    found = _PREFIX.match(message)
    if found is None:
        return ()
    violations = []
    for line in _LINE.finditer(message[found.end() :]):
        field, said = line[1], line[2]
        path, name = tuple(_path(field, obj)), field.removeprefix(".")
        if said == _UNDECLARED:
            text = f"there is no field '{name}'"
            violations.append(Violation(path, text, is_unknown=True))
        else:
            violations.append(Violation(path, f"'{name}': {_VALUE.sub('', said)}"))
    return tuple(violations)


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


def explain(desired: Desired, error: KroGitopsError) -> SyncResult:
    """Return the faults of an object that could not be read or applied."""
    found = violations(error.message, desired.object)
    if found:  # not lasting: the schema of the kind can change, too
        origin = desired.item.origin
        return SyncResult(
            failures=tuple(
                Fault("schema-mismatch", each.text, str(desired.ref), origin(each.spot))
                for each in found
            )
        )
    field_ = error.causes[0].field if isinstance(error, ApiError) and error.causes else ""
    is_secret = (desired.ref.kind.group, desired.ref.kind.kind) == ("", "Secret")
    if isinstance(error, NotServed):
        error = not_served(desired.ref.kind)
    elif is_secret and isinstance(error, ApiError):
        fields = ", ".join(cause.field for cause in error.causes if cause.field)
        where = f" at {fields}" if fields else ""
        reason = error.status.reason or f"HTTP {error.status.http_code}"
        error = KroGitopsError(error.code, f"{desired.ref} was rejected{where}: {reason}")
    lasting = isinstance(error, UserError) and error.code not in ("foreign-owner", "conflict")
    fault = Fault.of_item(desired.item, desired.ref, error, field_=field_, lasting=lasting)
    return SyncResult(failures=(fault,))


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


def _path(field: str, obj: KubeObject) -> Iterator[str | int]:
    """Yield the path of a field, as far as the object has it."""
    here: Any = obj
    for name, item in _STEP.findall(field):
        step = name if name else _index(item, here)
        if step is None:
            return
        yield step
        if isinstance(here, dict):
            here = here.get(step)
        elif isinstance(here, list) and isinstance(step, int) and step < len(here):
            here = here[step]
        else:
            here = None


def _index(item: str, items: Any) -> int | None:
    """Return the index of a list item, given as a number or by its keys."""
    if item.isdecimal():
        return int(item)
    keys: dict[str, Any] = {}
    for key, value in _KEY.findall(item):
        try:
            keys[key] = json.loads(value)
        except ValueError:
            keys[key] = value
    if not keys or not isinstance(items, list):
        return None
    for number, each in enumerate(items):
        # A key that is not written has its default value.
        if isinstance(each, dict) and all(each.get(k, want) == want for k, want in keys.items()):
            return number
    return None
