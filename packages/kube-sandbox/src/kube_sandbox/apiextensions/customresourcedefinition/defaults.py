"""
A CustomResourceDefinition in the form in which it is kept.

As Go reads it into its structs and writes it back: unknown fields and what is empty are gone, what
must be there is there. `INTERNAL_NAMES` are what the API server's inner form calls the keywords.

Follows kubernetes 1.35 k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/defaults.go
SetDefaults_CustomResourceDefinitionSpec;
k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/marshal.go
JSONSchemaPropsOrBool.UnmarshalJSON.
"""

from collections.abc import Mapping
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.apiextensions.schema.go_structs import (
    DecodePosition,
    MalformedError,
    Read,
    Struct,
    any_value,
    flag,
    integer,
    kept_flag,
    kept_text,
    kept_texts,
    list_of,
    map_of,
    number,
    omitting,
    text,
    texts,
    time,
    whole_numbers,
)
from kube_sandbox.apiextensions.schema.object_meta import METADATA


def _schema(value: Any, spot: DecodePosition) -> Any:
    return SCHEMA.read(value, spot)


def _schema_without_tracking(spot: DecodePosition) -> DecodePosition:
    """Return a place below which unknown fields are dropped without a word."""
    return DecodePosition(spot.struct, spot.fields, spot.path, [])


def _schema_or_list(value: Any, spot: DecodePosition) -> Any:
    """Read `items`: one schema, or a list of them; an empty list is stored as nothing."""
    if isinstance(value, dict):
        return SCHEMA.read(value, _schema_without_tracking(spot))
    if isinstance(value, list):
        return list_of(SCHEMA)(value, _schema_without_tracking(spot)) or None
    return None


def _schema_or_flag(value: Any, spot: DecodePosition) -> Any:
    """Read `additionalProperties` or `additionalItems`: a schema, or whether any are allowed."""
    if isinstance(value, dict):
        return SCHEMA.read(value, _schema_without_tracking(spot))
    if isinstance(value, bool):
        return value
    raise MalformedError("boolean or JSON schema expected")


def _dependencies(value: Any, spot: DecodePosition) -> Any:
    if not isinstance(value, dict):
        raise MalformedError("json: cannot unmarshal dependencies")
    found = {
        key: SCHEMA.read(part, _schema_without_tracking(spot)) if isinstance(part, dict) else part
        for key, part in value.items()
    }
    return found or None


def _schemas(value: Any, spot: DecodePosition) -> Any:
    return omitting(list_of(SCHEMA))(value, spot)


def _schemas_by_name(value: Any, spot: DecodePosition) -> Any:
    return omitting(map_of(SCHEMA))(value, spot)


_RULE_TEXTS: dict[str, Read] = dict.fromkeys(("message", "messageExpression", "fieldPath"), text)
_RULE = Struct(
    "ValidationRule",
    {"rule": kept_text, **_RULE_TEXTS, "reason": kept_text, "optionalOldSelf": kept_flag},
    {"rule": ""},
)
# In the order of the API server's inner form, with the names it has there.
_SCHEMA_FIELDS: dict[str, tuple[str, Read]] = {
    "id": ("ID", text),
    "$schema": ("Schema", text),
    "$ref": ("Ref", kept_text),
    "description": ("Description", text),
    "type": ("Type", text),
    "nullable": ("Nullable", flag),
    "format": ("Format", text),
    "title": ("Title", text),
    "default": ("Default", any_value),
    "maximum": ("Maximum", number),
    "exclusiveMaximum": ("ExclusiveMaximum", flag),
    "minimum": ("Minimum", number),
    "exclusiveMinimum": ("ExclusiveMinimum", flag),
    "maxLength": ("MaxLength", integer()),
    "minLength": ("MinLength", integer()),
    "pattern": ("Pattern", text),
    "maxItems": ("MaxItems", integer()),
    "minItems": ("MinItems", integer()),
    "uniqueItems": ("UniqueItems", flag),
    "multipleOf": ("MultipleOf", number),
    "enum": ("Enum", omitting(lambda found, _: whole_numbers(found))),
    "maxProperties": ("MaxProperties", integer()),
    "minProperties": ("MinProperties", integer()),
    "required": ("Required", texts),
    "items": ("Items", _schema_or_list),
    "allOf": ("AllOf", _schemas),
    "oneOf": ("OneOf", _schemas),
    "anyOf": ("AnyOf", _schemas),
    "not": ("Not", _schema),
    "properties": ("Properties", _schemas_by_name),
    "additionalProperties": ("AdditionalProperties", _schema_or_flag),
    "patternProperties": ("PatternProperties", _schemas_by_name),
    "dependencies": ("Dependencies", _dependencies),
    "additionalItems": ("AdditionalItems", _schema_or_flag),
    "definitions": ("Definitions", _schemas_by_name),
    "externalDocs": (
        "ExternalDocs",
        Struct("ExternalDocumentation", {"description": text, "url": text}).read,
    ),
    "example": ("Example", any_value),
    "x-kubernetes-preserve-unknown-fields": ("XPreserveUnknownFields", kept_flag),
    "x-kubernetes-embedded-resource": ("XEmbeddedResource", flag),
    "x-kubernetes-int-or-string": ("XIntOrString", flag),
    "x-kubernetes-list-map-keys": ("XListMapKeys", texts),
    "x-kubernetes-list-type": ("XListType", kept_text),
    "x-kubernetes-map-type": ("XMapType", kept_text),
    "x-kubernetes-validations": ("XValidations", omitting(list_of(_RULE))),
}
SCHEMA = Struct("JSONSchemaProps", {key: read for key, (_, read) in _SCHEMA_FIELDS.items()})
INTERNAL_NAMES: Mapping[str, str] = {key: name for key, (name, _) in _SCHEMA_FIELDS.items()}

_COLUMN = Struct(
    "CustomResourceColumnDefinition",
    {
        "name": kept_text,
        "type": kept_text,
        "jsonPath": kept_text,
        "format": text,
        "description": text,
        "priority": omitting(integer(32)),
    },
    {"name": "", "type": "", "jsonPath": ""},
)
_SCALE = Struct(
    "CustomResourceSubresourceScale",
    dict.fromkeys(("specReplicasPath", "statusReplicasPath", "labelSelectorPath"), kept_text),
    {"specReplicasPath": "", "statusReplicasPath": ""},
)
_VERSION = Struct(
    "CustomResourceDefinitionVersion",
    {
        "name": kept_text,
        "served": kept_flag,
        "storage": kept_flag,
        "deprecated": flag,
        "deprecationWarning": kept_text,
        "schema": Struct("CustomResourceValidation", {"openAPIV3Schema": _schema}).read,
        "subresources": Struct(
            "CustomResourceSubresources",
            {
                "status": Struct("CustomResourceSubresourceStatus", {}).read,
                "scale": _SCALE.read,
            },
        ).read,
        "additionalPrinterColumns": omitting(list_of(_COLUMN)),
        "selectableFields": omitting(
            list_of(Struct("SelectableField", {"jsonPath": kept_text}, {"jsonPath": ""}))
        ),
    },
    {"name": "", "served": False, "storage": False},
)
_NAMES = Struct(
    "CustomResourceDefinitionNames",
    {
        "plural": kept_text,
        "singular": text,
        "shortNames": texts,
        "kind": kept_text,
        "listKind": text,
        "categories": texts,
    },
    {"plural": "", "kind": ""},
)
_SERVICE = Struct(
    "ServiceReference",
    {"namespace": kept_text, "name": kept_text, "path": kept_text, "port": integer(32)},
    {"namespace": "", "name": ""},
)
_WEBHOOK = Struct(
    "WebhookConversion",
    {
        "clientConfig": Struct(
            "WebhookClientConfig", {"url": kept_text, "service": _SERVICE.read, "caBundle": text}
        ).read,
        "conversionReviewVersions": kept_texts,
    },
    {"conversionReviewVersions": None},
)
_SPEC = Struct(
    "CustomResourceDefinitionSpec",
    {
        "group": kept_text,
        "names": _NAMES.read,
        "scope": kept_text,
        "versions": list_of(_VERSION),
        "conversion": Struct(
            "CustomResourceConversion",
            {"strategy": kept_text, "webhook": _WEBHOOK.read},
            {"strategy": ""},
        ).read,
        "preserveUnknownFields": flag,
    },
    {"group": "", "names": {"plural": "", "kind": ""}, "scope": "", "versions": None},
)
_CONDITION = Struct(
    "CustomResourceDefinitionCondition",
    {
        "type": kept_text,
        "status": kept_text,
        "lastTransitionTime": time,
        "reason": text,
        "message": text,
        "observedGeneration": omitting(integer()),
    },
    {"type": "", "status": "", "lastTransitionTime": None},
)
_STATUS = Struct(
    "CustomResourceDefinitionStatus",
    {
        "conditions": list_of(_CONDITION),
        "acceptedNames": _NAMES.read,
        "storedVersions": kept_texts,
        "observedGeneration": omitting(integer()),
    },
    {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": None,
    },
)
_DEFINITION = Struct(
    "CustomResourceDefinition",
    {
        "apiVersion": text,
        "kind": text,
        "metadata": METADATA.read,
        "spec": _SPEC.read,
        "status": _STATUS.read,
    },
)


def empty_status() -> KubeObject:
    """Return the status of a definition before its first reconcile."""
    return _STATUS.read({}, DecodePosition())


def read_definition(crd: KubeObject) -> tuple[KubeObject, list[str]]:
    """Return a definition as it is kept, and the paths of fields that are unknown, in order."""
    spot = DecodePosition()
    absent: KubeObject = {key: {} for key in ("metadata", "spec", "status") if crd.get(key) is None}
    found = _DEFINITION.read({**crd, **absent}, spot)
    return found, spot.unknown
