"""
Parses the parameters of requests; invalid ones have the API server's messages.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go
ValidateDeleteOptions, ValidateCreateOptions, ValidatePatchOptions, ValidateFieldManager,
ValidateDryRun; k8s.io/apiserver/pkg/endpoints/handlers/create.go managerOrUserAgent;
k8s.io/apiserver/pkg/endpoints/handlers/delete.go DeleteResource.
"""

from dataclasses import dataclass
from typing import Any

from kube_objects.go_text import quote
from kube_sandbox.api_errors import bad_request
from kube_sandbox.api_errors import invalid as invalid_object
from kube_sandbox.endpoints import json_bodies
from kube_sandbox.endpoints.go_json_errors import go_type
from kube_sandbox.endpoints.json_bodies import BodyError
from kube_sandbox.endpoints.request_info import Query
from kube_sandbox.registry.field_errors import (
    FieldError,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)

APPLY = "application/apply-patch+yaml"
_META = "meta.k8s.io"
_MAX_MANAGER_LENGTH = 128
_VALIDATIONS = ("", "Ignore", "Strict", "Warn")
_TYPES: tuple[tuple[str, Any, str], ...] = (
    ("gracePeriodSeconds", int | None, "int64"),
    ("preconditions", dict | None, "v1.Preconditions"),
    ("orphanDependents", bool | None, "bool"),
    ("propagationPolicy", str | None, "v1.DeletionPropagation"),
    ("dryRun", list | None, "[]string"),
)
_POLICIES = ("Foreground", "Background", "Orphan")


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How something is written."""

    manager: str = ""
    force: bool = False
    dry_run: bool = False
    validation: str = "Warn"  # the handling of unknown fields: Ignore, Warn or Strict


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How something is deleted."""

    grace: int | None = None
    uid: str | None = None
    version: str | None = None
    orphan: bool | None = None  # the older way to say what becomes of dependents
    propagation: str = ""
    dry_run: bool = False


def write_options(query: Query, kind: str, patch_type: str = "") -> WriteOptions:
    """Read the parameters of a write; `kind` is CreateOptions, UpdateOptions or PatchOptions."""
    manager, force = query.get("fieldManager"), query.flag("force")
    errors: list[FieldError] = []
    if patch_type == APPLY and not manager:
        errors.append(required("fieldManager", "is required for apply patch"))
    if patch_type and patch_type != APPLY and force is not None:
        errors.append(forbidden("force", "may not be specified for non-apply patch"))
    if len(manager.encode()) > _MAX_MANAGER_LENGTH:
        errors.append(too_long("fieldManager", _MAX_MANAGER_LENGTH))
    for position, letter in enumerate(manager):
        if not letter.isprintable():
            text = f"invalid character U+{ord(letter):04X} (at position {position})"
            errors.append(invalid("fieldManager", manager, text))
    dry_run, validation = query.all("dryRun"), query.get("fieldValidation")
    errors += _check_dry_run(dry_run)
    if validation not in _VALIDATIONS:
        errors.append(not_supported("fieldValidation", validation, _VALIDATIONS))
    if errors:
        raise invalid_object(_META, kind, "", errors)
    return WriteOptions(manager, bool(force), bool(dry_run), validation or "Warn")


def delete_options(query: Query, body: bytes) -> DeleteOptions:
    """Read how to delete: from the body, or from parameters if there is none."""
    if body:
        try:
            given = json_bodies.parsed(body)
        except BodyError as error:
            raise bad_request(f"couldn't get version/kind; json parse error: {error}") from error
        if not isinstance(given, dict):
            raise bad_request("decoded object cannot be converted to DeleteOptions")
        for name, wanted, shown in _TYPES:
            if not isinstance(value := given.get(name), wanted):
                where = f"Go struct field DeleteOptions.{name} of type {shown}"
                raise bad_request(f"json: cannot unmarshal {go_type(value)} into {where}")
        kind, version = given.get("kind") or "DeleteOptions", given.get("apiVersion") or "v1"
        if kind != "DeleteOptions":
            raise bad_request(
                f"no kind {quote(kind)} is registered for version {quote(version)} in scheme "
                '"pkg/runtime/scheme.go:111"'
            )
    else:
        grace = query.get("gracePeriodSeconds")
        try:
            seconds = int(grace) if grace else None
        except ValueError:
            from_text = f'strconv.ParseInt: parsing "{grace}": invalid syntax'
            raise bad_request(from_text) from None
        given = {
            "gracePeriodSeconds": seconds,
            "orphanDependents": query.flag("orphanDependents"),
            "propagationPolicy": query.get("propagationPolicy"),
            "dryRun": query.all("dryRun"),
        }
    preconditions = given.get("preconditions") or {}
    propagation, dry_run = given.get("propagationPolicy") or "", given.get("dryRun") or []
    orphan = given.get("orphanDependents")
    errors: list[FieldError] = []
    if orphan is not None and propagation:
        text = "orphanDependents and deletionPropagation cannot be both set"
        errors.append(invalid("propagationPolicy", propagation, text))
    if propagation and propagation not in _POLICIES:
        errors.append(not_supported("propagationPolicy", propagation, (*_POLICIES, "nil")))
    errors += _check_dry_run(dry_run)
    if errors:
        raise invalid_object(_META, "DeleteOptions", "", errors)
    return DeleteOptions(
        given.get("gracePeriodSeconds"),
        preconditions.get("uid"),
        preconditions.get("resourceVersion"),
        orphan,
        propagation,
        bool(dry_run),
    )


def _check_dry_run(values: list[str]) -> list[FieldError]:
    if all(each == "All" for each in values):
        return []
    return [not_supported("dryRun", values, ("All",))]


def manager_or_agent(manager: str, agent: str) -> str:
    """Return who writes: as they say, else by the first part of the program's name."""
    if manager:
        return manager
    name = agent.split("/", 1)[0]
    kept = "".join(letter for letter in name if letter.isprintable())
    return kept.encode()[:_MAX_MANAGER_LENGTH].decode(errors="ignore")
