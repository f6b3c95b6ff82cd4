"""
Parts of a CustomResourceDefinition as errors print them.

The API server keeps definitions in an inner form, with all fields, whether they are there or not,
and names of its own; its messages show that form.

Follows kubernetes 1.35 k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/types.go
CustomResourceDefinitionVersion;
k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/types_jsonschema.go JSONSchemaProps.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from kube_objects.refs import KubeObject
from kube_objects.schemas import Schema
from kube_sandbox.apiextensions.customresourcedefinition.defaults import INTERNAL_NAMES


def internal_schema(schema: Schema | None) -> Any:
    """Return a schema in the API server's inner form."""
    if schema is None:
        return None
    internals: dict[str, Any] = {}
    for key, name in INTERNAL_NAMES.items():
        value = schema.get(key)
        if value is None:
            internals[name] = _EMPTY_INTERNAL.get(key)
        else:
            match key:
                case "items":
                    many = isinstance(value, list)
                    internals[name] = {
                        "Schema": None if many else internal_schema(value),
                        "JSONSchemas": [internal_schema(each) for each in value] if many else None,
                    }
                case "additionalProperties" | "additionalItems":
                    allowed = value is not False
                    internals[name] = {
                        "Allows": allowed,
                        "Schema": internal_schema(value) if isinstance(value, dict) else None,
                    }
                case "not":
                    internals[name] = internal_schema(value)
                case "allOf" | "oneOf" | "anyOf":
                    internals[name] = [internal_schema(each) for each in value]
                case "properties" | "patternProperties" | "definitions":
                    internals[name] = {name: internal_schema(value[name]) for name in sorted(value)}
                case "x-kubernetes-validations":
                    internals[name] = [internal_rule(each) for each in value]
                case "externalDocs":
                    internals[name] = {
                        "Description": value.get("description", ""),
                        "URL": value.get("url", ""),
                    }
                case _:
                    internals[name] = value
    return internals


_EMPTY_INTERNAL = {
    **dict.fromkeys(("id", "$schema", "description", "type", "format", "title", "pattern"), ""),
    **dict.fromkeys(("nullable", "exclusiveMaximum", "exclusiveMinimum", "uniqueItems"), False),
    **dict.fromkeys(("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"), False),
}


def internal_rule(rule: Mapping[str, Any]) -> KubeObject:
    """Return a validation rule in the API server's inner form."""
    return {
        "Rule": rule.get("rule", ""),
        "Message": rule.get("message", ""),
        "MessageExpression": rule.get("messageExpression", ""),
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath", ""),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }


def internal_version(version: Mapping[str, Any]) -> KubeObject:
    """Return a version in the API server's inner form."""
    schema, sub = version.get("schema"), version.get("subresources")
    scale = (sub or {}).get("scale")
    columns, selectable = version.get("additionalPrinterColumns"), version.get("selectableFields")
    return {
        "Name": version["name"],
        "Served": version["served"],
        "Storage": version["storage"],
        "Deprecated": version.get("deprecated", False),
        "DeprecationWarning": version.get("deprecationWarning"),
        "Schema": None
        if schema is None
        else {"OpenAPIV3Schema": internal_schema(schema.get("openAPIV3Schema"))},
        "Subresources": None
        if sub is None
        else {
            "Status": sub.get("status"),
            "Scale": None
            if scale is None
            else {
                "SpecReplicasPath": scale["specReplicasPath"],
                "StatusReplicasPath": scale["statusReplicasPath"],
                "LabelSelectorPath": scale.get("labelSelectorPath"),
            },
        },
        "AdditionalPrinterColumns": columns
        and [
            {
                "Name": each["name"],
                "Type": each["type"],
                "Format": each.get("format", ""),
                "Description": each.get("description", ""),
                "Priority": each.get("priority", 0),
                "JSONPath": each["jsonPath"],
            }
            for each in columns
        ],
        "SelectableFields": selectable and [{"JSONPath": e["jsonPath"]} for e in selectable],
    }


def format_internal(inner: Any) -> Any:
    """Return an inner form so that errors print its fields in the order it has them."""
    return orjson.Fragment(orjson.dumps(inner))
