"""
A CustomResourceDefinition: whether it is one that can be served.

The API server looks at it in an inner form: what all versions have alike (schema, subresources,
columns, selectable fields) stands once beside the versions. That shows in the paths of errors:
`spec.validation.openAPIV3Schema` instead of `spec.versions[0].schema.openAPIV3Schema`.

Follows kubernetes 1.35
k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go
ValidateCustomResourceDefinition, ValidateCustomResourceDefinitionUpdate,
ValidateUpdateCustomResourceDefinitionStatus, validateAPIApproval.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from kube_objects.refs import KubeObject
from kube_objects.schemas import Schema
from kube_sandbox.apiextensions.customresourcedefinition.internal_form import (
    format_internal,
    internal_version,
)
from kube_sandbox.apiextensions.customresourcedefinition.version_validation import (
    check_conversion,
    check_version_fields,
    schema_of,
)
from kube_sandbox.apiextensions.schema.embedded_resources import kind_name
from kube_sandbox.registry import object_meta
from kube_sandbox.registry.field_errors import (
    FieldError,
    invalid,
    not_supported,
    required,
)
from kube_sandbox.registry.name_validation import dns_1035_label, dns_subdomain, name_is_subdomain
from kube_sandbox.registry.strategy import Errors

_SHARED = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}
_SCOPES = ("Cluster", "Namespaced")
_MAX_WARNING_LENGTH = 256
APPROVAL = "api-approved.kubernetes.io"
_PROTECTED = ("k8s.io", "kubernetes.io")
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"


def check_definition(crd: KubeObject) -> Errors:
    """Return the validation errors of a new definition."""
    spec = crd["spec"]
    wanted = f"{spec['names']['plural']}.{spec['group']}"

    def name_rule(name: str, is_prefix: bool) -> list[str]:
        wrong = name_is_subdomain(name, is_prefix)
        return wrong if name == wanted else [*wrong, 'must be spec.names.plural+"."+spec.group']

    found = object_meta.validate_object_meta(crd, False, name_rule)
    return [*found, *_check_spec(spec, None), *_check_other_fields(crd, None)]


def check_change(new: KubeObject, old: KubeObject) -> Errors:
    """Return the validation errors of a changed definition."""
    found = object_meta.validate_object_meta_update(new, old)
    spec, before = new["spec"], old["spec"]
    found += _check_spec(spec, before)
    if is_established(old):
        found += object_meta.immutable(spec["scope"], before["scope"], "spec.scope")
        found += _same_name(spec, before, "kind")
    found += object_meta.immutable(spec["group"], before["group"], "spec.group")
    return [*found, *_same_name(spec, before, "plural"), *_check_other_fields(new, old)]


def check_status(new: KubeObject, old: KubeObject) -> Errors:
    """Return the validation errors of a changed status."""
    found = object_meta.validate_object_meta_update(new, old)
    return found + _check_names(new["status"]["acceptedNames"], "status.acceptedNames")


def is_established(crd: KubeObject) -> bool:
    """Return whether a definition is being served."""
    return any(
        each["type"] == "Established" and each["status"] == "True"
        for each in crd["status"]["conditions"] or ()
    )


def _same_name(spec: KubeObject, before: KubeObject, key: str) -> Errors:
    new, old = spec["names"][key], before["names"][key]
    return object_meta.immutable(new, old, f"spec.names.{key}")


def _check_other_fields(crd: KubeObject, old: KubeObject | None) -> Iterator[FieldError]:
    yield from _check_names(crd["status"]["acceptedNames"], "status.acceptedNames")
    stored_path, stored = "status.storedVersions", crd["status"]["storedVersions"]
    if not stored:
        yield invalid(stored_path, stored, "must have at least one stored version")
    else:
        left = {name: index for index, name in enumerate(stored)}
        for version in crd["spec"]["versions"] or ():
            if version["storage"] and version["name"] not in left:
                stored_message = f"must have the storage version {version['name']}"
                yield invalid(stored_path, stored, stored_message)
            left.pop(version["name"], None)
        for name, index in left.items():
            stored_message = (
                f"missing from spec.versions; {name} was previously a storage version, and must "
                f"remain in spec.versions until a storage migration ensures no data remains "
                f"persisted in {name} and removes {name} from status.storedVersions"
            )
            yield invalid(f"{stored_path}[{index}]", name, stored_message)
    if is_protected(crd["spec"]["group"]):
        state, why = approval(crd)
        if old is None or approval(old)[0] != state:
            path = f"metadata.annotations[{APPROVAL}]"
            if state == "Missing":
                yield required(path, why)
            elif state == "Invalid":
                yield invalid(path, crd["metadata"]["annotations"][APPROVAL], why)
    was_kept = old is not None and old["spec"].get("preserveUnknownFields")
    if crd["spec"].get("preserveUnknownFields") and _has_defaults(crd["spec"]):
        message = "must be false in order to use defaults in the schema"
        yield invalid("spec.preserveUnknownFields", True, message)
    if crd["spec"].get("preserveUnknownFields") and not was_kept:
        message = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead"
        )
        yield invalid("spec.preserveUnknownFields", True, message)


def is_protected(group: str) -> bool:
    """Return whether a group belongs to the Kubernetes project."""
    return any(group == each or group.endswith(f".{each}") for each in _PROTECTED)


def approval(crd: KubeObject) -> tuple[str, str]:
    """Return the state of the approval that definitions in such groups need, and why it is that."""
    text = (crd["metadata"].get("annotations") or {}).get(APPROVAL, "")
    needed = f'protected groups must have approval annotation "{APPROVAL}"'
    if not text:
        return "Missing", f"{needed}, {_SEE}"
    if text.startswith("unapproved"):
        return "Unapproved", f'not approved: "{text}"'
    if re.match("[a-zA-Z][a-zA-Z0-9+.-]*://", text) and urlsplit(text).netloc:
        return "Approved", f"approved in {text}"
    return "Invalid", f'{needed} with either a URL or a reason starting with "unapproved", {_SEE}'


def _shared(versions: list[KubeObject]) -> dict[str, Any]:
    """Return what all versions have alike, by the name it has beside them."""
    return {
        name: versions[0].get(key)
        for key, name in _SHARED.items()
        if versions and all(each.get(key) == versions[0].get(key) for each in versions)
    }


def _stored_schema(before: KubeObject | None, name: str) -> Schema | None:
    """Return the schema a version had; one that all had counts as that of a new version, too."""
    versions: list[KubeObject] = (before or {}).get("versions") or []
    shared = _shared(versions)
    if "validation" in shared:
        return schema_of(shared["validation"])
    named = (each.get("schema") for each in versions if each["name"] == name)
    return schema_of(next(named, None))


def _check_spec(spec: KubeObject, before: KubeObject | None) -> Iterator[FieldError]:
    versions: list[KubeObject] = spec["versions"] or []
    shared = _shared(versions)
    own = [{k: v for k, v in each.items() if _SHARED.get(k) not in shared} for each in versions]
    group = spec["group"]
    wrong = dns_subdomain(group)
    if not group:
        yield required("spec.group")
    elif wrong:
        yield invalid("spec.group", group, ",".join(wrong))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")
    if not spec["scope"]:
        yield required("spec.scope")
    elif spec["scope"] not in _SCOPES:
        yield not_supported("spec.scope", spec["scope"], _SCOPES)
    if schema_of(shared.get("validation")) is None:
        for index, version in enumerate(own):
            if schema_of(version.get("schema")) is None:
                yield required(f"spec.versions[{index}].schema.openAPIV3Schema")
    # Without a schema of its own, a version has the subresources that all share.
    has_status = any("status" in (each.get("subresources") or {}) for each in versions)
    for index, version in enumerate(own):
        status = "status" in (versions[index].get("subresources") or {})
        stored = _stored_schema(before, version["name"])
        yield from _check_version(version, f"spec.versions[{index}]", status, stored)
    yield from _check_versions(own, spec["versions"])
    for key in ("plural", "singular", "kind", "listKind"):
        if not spec["names"].get(key):
            yield required(f"spec.names.{key}")
    yield from _check_names(spec["names"], "spec.names")
    stored = _stored_schema(before, versions[0]["name"]) if versions else None
    yield from check_version_fields(shared, "spec", "validation", has_status, stored)
    yield from check_conversion(spec)


def _check_versions(
    versions: list[KubeObject], given: list[KubeObject] | None
) -> Iterator[FieldError]:
    names = [each["name"] for each in versions]
    shown: Any = given
    if versions:
        shown = format_internal([internal_version(each) for each in versions])
    if len(set(names)) < len(names):
        yield invalid("spec.versions", shown, "must contain unique version names")
    if sum(each["storage"] for each in versions) != 1:
        message = "must have exactly one version marked as storage version"
        yield invalid("spec.versions", shown, message)
    if names and names[0] and (wrong := dns_1035_label(names[0])):
        yield invalid("spec.version", names[0], ",".join(wrong))


def _check_version(
    version: KubeObject, path: str, has_status: bool, before: Schema | None
) -> Iterator[FieldError]:
    if wrong := dns_1035_label(version["name"]):
        yield invalid(f"{path}.name", version["name"], ",".join(wrong))
    warning = version.get("deprecationWarning")
    if warning is None:
        warning_text: list[str] = []
    elif not version.get("deprecated"):
        warning_text = ["can only be set for deprecated versions"]
    else:
        warning_text = []
        if len(warning.encode()) > _MAX_WARNING_LENGTH:
            warning_text.append("must be <= 256 characters long")
        if not warning:
            warning_text.append("must not be an empty string")
        for index, letter in enumerate(warning):
            if not letter.isprintable():
                at = len(warning[:index].encode())
                warning_told = (
                    "must only contain printable UTF-8 characters; non-printable character found"
                )
                warning_text.append(f"{warning_told} at index {at}")
                break
    for message in warning_text:
        yield invalid(f"{path}.deprecationWarning", version["deprecationWarning"], message)
    yield from check_version_fields(version, path, "schema", has_status, before)


def _check_names(names: KubeObject, path: str) -> Errors:
    found: Errors = []
    for key in ("plural", "singular"):
        if names.get(key) and (wrong := dns_1035_label(names[key])):
            found.append(invalid(f"{path}.{key}", names[key], ",".join(wrong)))
    for key in ("kind", "listKind"):
        if names.get(key):
            found += kind_name(names[key], f"{path}.{key}")
    found += _check_labels(names.get("shortNames"), f"{path}.shortNames")
    if names.get("kind") and names["kind"] == names.get("listKind"):
        message = "kind and listKind may not be the same"
        found.append(invalid(f"{path}.listKind", names["listKind"], message))
    return found + _check_labels(names.get("categories"), f"{path}.categories")


def _check_labels(values: list[str] | None, path: str) -> Errors:
    """Check names of a CRD that become parts of URLs: each must be a DNS-1035 label."""
    return [
        invalid(f"{path}[{index}]", value, ",".join(wrong))
        for index, value in enumerate(values or ())
        if (wrong := dns_1035_label(value))
    ]


def _has_defaults(value: Any) -> bool:
    """Return whether a schema has a default anywhere."""
    if isinstance(value, list):
        return any(map(_has_defaults, value))
    if not isinstance(value, dict):
        return False
    is_schema = isinstance(value.get("type"), str)
    return (is_schema and value.get("default") is not None) or any(
        _has_defaults(each) for each in value.values()
    )
