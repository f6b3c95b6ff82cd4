"""
What the API server checks of the metadata of any object.

A kind's own checks begin with `validate_create` (or `validate_update`), with its rule for names.
The checks common to all kinds run around them: `common_create` after the checks of a kind found
nothing, `common_update` before them; an error that both find is reported twice.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/api/validation/objectmeta.go ValidateObjectMeta,
ValidateObjectMetaUpdate; k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go
ValidateLabelSelector, ValidateManagedFields.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from kube_objects.refs import KubeObject
from kube_sandbox.registry.field_errors import (
    FieldError,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from kube_sandbox.registry.name_validation import (
    NameRule,
    label_value,
    name_is_label,
    path_segment,
    qualified_name,
)

Errors = list[FieldError]

IMMUTABLE = "field is immutable"
_NEGATIVE = "must be greater than or equal to 0"
_MAX_ANNOTATIONS_BYTES = 256 * 1024
_MAX_MANAGER_LENGTH = 128
_MAX_SUBRESOURCE_LENGTH = 256
_ORPHAN, _FOREGROUND = "orphan", "foregroundDeletion"
# Finalizers without a domain that are known for old times' sake.
KNOWN_FINALIZERS = frozenset(("kubernetes", _ORPHAN, _FOREGROUND))
# What an update may not change, and how it reads where it is absent.
_IMMUTABLE_FIELDS: tuple[tuple[str, Any], ...] = (
    ("name", ""),
    ("namespace", ""),
    ("uid", ""),
    ("creationTimestamp", None),
    ("deletionTimestamp", None),
    ("deletionGracePeriodSeconds", None),
)


def validate_create(
    obj: KubeObject, namespaced: bool, name_rule: NameRule, *, field: str = "metadata"
) -> Errors:
    """Return the validation errors of the metadata of an object of the API server's own groups."""
    meta = obj["metadata"]
    found = _checked(meta, namespaced, name_rule, field)
    return found + _known_finalizers(meta, field)


def validate_object_meta(obj: KubeObject, namespaced: bool, name_rule: NameRule) -> Errors:
    """Return the validation errors of the metadata of any other object, such as a custom one."""
    return _checked(obj["metadata"], namespaced, name_rule, "metadata")


def common_create(obj: KubeObject, namespaced: bool) -> Errors:
    """Return the validation errors of the metadata of a new object of whatever kind."""
    return _checked(obj["metadata"], namespaced, path_segment, "metadata")


def common_update(new: KubeObject, old: KubeObject, namespaced: bool) -> Errors:
    """Return the validation errors of the metadata of a changed object of whatever kind."""
    return common_create(new, namespaced) + validate_object_meta_update(new, old)


def _checked(meta: Mapping[str, Any], namespaced: bool, rule: NameRule, field: str) -> Errors:
    found: Errors = []
    names = []
    prefix, name = meta.get("generateName", ""), meta.get("name", "")
    if prefix:
        names = [invalid(f"{field}.generateName", prefix, each) for each in rule(prefix, True)]
    if not name:
        names.append(required(f"{field}.name", "name or generateName is required"))
        found += names
    else:
        found += names + [invalid(f"{field}.name", name, each) for each in rule(name, False)]
    namespace = meta.get("namespace", "")
    where = f"{field}.namespace"
    if not namespaced:
        found += [forbidden(where, "not allowed on this type")] if namespace else []
    elif not namespace:
        found.append(required(where))
    else:
        found += [invalid(where, namespace, each) for each in name_is_label(namespace, False)]
    if meta.get("generation", 0) < 0:
        found.append(invalid(f"{field}.generation", meta["generation"], _NEGATIVE))
    found += _lists(meta, field)
    values = meta.get("finalizers")
    if values:
        where = f"{field}.finalizers"
        finalizers = [
            invalid(where, value, each) for value in values for each in qualified_name(value)
        ]
        if _ORPHAN in values and _FOREGROUND in values:
            message = f"finalizer {_ORPHAN} and {_FOREGROUND} cannot be both set"
            finalizers.append(invalid(where, list(values), message))
        found += finalizers
    return found + managed_fields(meta.get("managedFields", ()), f"{field}.managedFields")


def _lists(meta: Mapping[str, Any], field: str) -> Errors:
    found = labels(meta.get("labels"), f"{field}.labels")
    found += annotations(meta.get("annotations"), f"{field}.annotations")
    owners = meta.get("ownerReferences")
    return found + owner_references(owners, f"{field}.ownerReferences") if owners else found


def labels(values: Mapping[str, str] | None, field: str) -> Errors:
    """Return the validation errors of labels."""
    found: Errors = []
    for key, value in (values or {}).items():
        found += label_key(key, field)
        found += [invalid(field, value, each) for each in label_value(value)]
    return found


def label_key(key: str, field: str) -> Errors:
    """Return the validation errors of the key of a label."""
    return [invalid(field, key, each) for each in qualified_name(key)]


def annotations(values: Mapping[str, str] | None, field: str) -> Errors:
    """Return the validation errors of annotations."""
    if not values:
        return []
    found = [invalid(field, key, each) for key in values for each in qualified_name(key.lower())]
    size = sum(len(key.encode()) + len(value.encode()) for key, value in values.items())
    if size > _MAX_ANNOTATIONS_BYTES:
        found.append(too_long(field, _MAX_ANNOTATIONS_BYTES))
    return found


def owner_references(owners: Iterable[Mapping[str, Any]], field: str) -> Errors:
    """Return the validation errors of references to owners."""
    found: Errors = []
    controller = ""
    for owner in owners:
        version = owner.get("apiVersion", "")
        kind = owner.get("kind", "")
        # More than one slash is no group and version at all; the kind is lost with it.
        malformed = version.count("/") > 1
        if malformed or not version.rpartition("/")[2]:
            found.append(invalid(f"{field}.apiVersion", version, "version must not be empty"))
        if not kind:
            found.append(invalid(f"{field}.kind", kind, "must not be empty"))
        for key in ("name", "uid"):
            if not owner.get(key):
                found.append(invalid(f"{field}.{key}", "", "must not be empty"))
        if (version, kind) == ("v1", "Event"):
            message = "/v1, Kind=Event is disallowed from being an owner"
            found.append(invalid(field, _format_owners([owner])[0], message))
        if owner.get("controller"):
            name = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                found.append(
                    invalid(
                        field,
                        _format_owners(owners),
                        "Only one reference can have Controller set to true. "
                        f'Found "true" in references for {controller} and {name}',
                    )
                )
            controller = controller or name
    return found


def _format_owners(owners: Iterable[Mapping[str, Any]]) -> list[orjson.Fragment]:
    """Return references as messages show them, in the order of the API server's fields."""
    fields = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
    return [
        orjson.Fragment(orjson.dumps({key: owner[key] for key in fields if key in owner}))
        for owner in owners
    ]


def _known_finalizers(meta: Mapping[str, Any], field: str) -> Errors:
    message = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(f"{field}.finalizers[{index}]", value, message)
        for index, value in enumerate(meta.get("finalizers", ()))
        if "/" not in value and value not in KNOWN_FINALIZERS
    ]


def managed_fields(entries: Iterable[Mapping[str, Any]], field: str) -> Errors:
    """Return the validation errors of the records of who manages what."""
    found: Errors = []
    for index, entry in enumerate(entries):
        where = f"{field}[{index}]"
        operation = entry.get("operation", "")
        if operation not in ("Apply", "Update"):
            found.append(invalid(f"{where}.operation", operation, "must be `Apply` or `Update`"))
        if entry.get("fieldsType", "") not in ("", "FieldsV1"):
            message = invalid(f"{where}.fieldsType", entry["fieldsType"], "must be `FieldsV1`")
            found.append(message)
        found += field_manager(entry.get("manager", ""), f"{where}.manager")
        if len(entry.get("subresource", "")) > _MAX_SUBRESOURCE_LENGTH:
            found.append(too_long(f"{where}.subresource", _MAX_SUBRESOURCE_LENGTH))
    return found


def field_manager(name: str, field: str) -> Errors:
    """Return the validation errors of the name of a manager of fields."""
    if name.isascii() and name.isprintable() and len(name) <= _MAX_MANAGER_LENGTH:
        return []
    found = []
    if len(name.encode()) > _MAX_MANAGER_LENGTH:
        found.append(too_long(field, _MAX_MANAGER_LENGTH))
    at = 0
    for letter in name:
        if not letter.isprintable():
            # Go's %#U shows the character itself only if it can be printed.
            shown = f" '{letter}'" if letter == " " else ""
            message = f"invalid character U+{ord(letter):04X}{shown} (at position {at})"
            found.append(invalid(field, name, message))
        at += len(letter.encode())
    return found


def validate_object_meta_update(new: KubeObject, old: KubeObject) -> Errors:
    """Return what an update may not do to the metadata of an object."""
    meta, before = new["metadata"], old["metadata"]
    found: Errors = []
    if before.get("deletionTimestamp") is not None:
        added = sorted(set(meta.get("finalizers", ())) - set(before.get("finalizers", ())))
        if added:
            listed = ", ".join(f'"{each}"' for each in added)
            found.append(
                forbidden(
                    "metadata.finalizers",
                    "no new finalizers can be added if the object is being deleted, "
                    f"found new finalizers []string{{{listed}}}",
                )
            )
    if not meta.get("resourceVersion"):
        message = invalid("metadata.resourceVersion", "", "must be specified for an update")
        found.append(message)
    if meta.get("generation", 0) < before.get("generation", 0):
        value = meta.get("generation", 0)
        found.append(invalid("metadata.generation", value, "must not be decremented"))
    for key, absent in _IMMUTABLE_FIELDS:
        value = meta.get(key, absent)
        if value != before.get(key, absent):
            found.append(invalid(f"metadata.{key}", value, IMMUTABLE))
    found += _lists(meta, "metadata")
    return found + managed_fields(meta.get("managedFields", ()), "metadata.managedFields")


def validate_update(new: KubeObject, old: KubeObject) -> Errors:
    """Return the same for an object of the API server's own groups."""
    return validate_object_meta_update(new, old) + _known_finalizers(new["metadata"], "metadata")


def label_selector(
    selector: Mapping[str, Any] | None, field: str, *, any_value: bool = False
) -> Errors:
    """Return the errors of a label selector; `any_value` accepts invalid label values."""
    if not selector:
        return []
    found = labels(selector.get("matchLabels"), f"{field}.matchLabels")
    for index, requirement in enumerate(selector.get("matchExpressions", ())):
        where = f"{field}.matchExpressions[{index}]"
        operator, values = requirement.get("operator", ""), requirement.get("values", ())
        key = requirement.get("key", "")
        if operator in ("In", "NotIn"):
            if not values:
                message = "must be specified when `operator` is 'In' or 'NotIn'"
                found.append(required(f"{where}.values", message))
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                message = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                found.append(forbidden(f"{where}.values", message))
        else:
            found.append(invalid(f"{where}.operator", operator, "not a valid selector operator"))
        found += label_key(key, f"{where}.key")
        if not any_value:
            for place, value in enumerate(values):
                found += [
                    invalid(f"{where}.values[{place}]", value, each) for each in label_value(value)
                ]
    return found


def immutable(new: Any, old: Any, field: str) -> Errors:
    """Reject a change."""
    return [] if new == old else [invalid(field, new, IMMUTABLE)]


def one_of(value: str, supported: Iterable[str], field: str) -> Errors:
    """Reject what is none of those there are."""
    choices = list(supported)
    return [] if value in choices else [not_supported(field, value, choices)]
