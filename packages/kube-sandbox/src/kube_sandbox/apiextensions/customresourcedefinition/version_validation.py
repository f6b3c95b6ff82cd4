"""
What a version of a CustomResourceDefinition has, or all of them share: schema, subresources,
columns, selectable fields; and how objects are converted from one version to another.

Follows kubernetes 1.35
k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go
ValidateCustomResourceDefinitionSubresources, ValidateCustomResourceColumnDefinition,
ValidateCustomResourceSelectableFields, validateCustomResourceConversion.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kube_objects.refs import KubeObject
from kube_objects.schemas import Schema
from kube_sandbox.apiextensions.customresourcedefinition.schema_validation import check_schema
from kube_sandbox.apiextensions.schema.field_paths import BadPath, follow
from kube_sandbox.registry.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
    too_many,
)
from kube_sandbox.registry.name_validation import dns_1035_label

_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = (*("byte", "date", "date-time", "double", "float", "int32", "int64", "password"),)
_MAX_SELECTABLE_FIELDS = 8
_REVIEW_VERSIONS = ("v1", "v1beta1")


def schema_of(part: Mapping[str, Any] | None) -> Schema | None:
    """Return the schema in a version, or in what all versions share."""
    return (part or {}).get("openAPIV3Schema")


def check_version_fields(
    parts: Mapping[str, Any], path: str, key: str, has_status: bool, before: Schema | None
) -> Iterator[FieldError]:
    """
    Check what stands in a version or, if all have it alike, beside the versions.

    `before` is the schema that is stored for it.
    """
    schema = schema_of(parts.get(key))
    if schema is not None:
        where = f"{path}.{key}.openAPIV3Schema"
        same = schema == before
        yield from check_schema(schema, where, has_status=has_status, is_unchanged=same)
    yield from _check_subresources(parts.get("subresources"), f"{path}.subresources")
    for index, column in enumerate(parts.get("additionalPrinterColumns") or ()):
        column_path = f"{path}.additionalPrinterColumns[{index}]"
        if not column["name"]:
            yield required(f"{column_path}.name")
        column_told = f"must be one of {','.join(_COLUMN_TYPES)}"
        if not column["type"]:
            yield required(f"{column_path}.type", column_told)
        elif column["type"] not in _COLUMN_TYPES:
            yield invalid(f"{column_path}.type", column["type"], column_told)
        form = column.get("format")
        if form and form not in _COLUMN_FORMATS:
            yield invalid(
                f"{column_path}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}"
            )
        yield from _check_path(column["jsonPath"], f"{column_path}.JSONPath")
    selectable = parts.get("selectableFields")
    if selectable:
        where = f"{path}.selectableFields"
        if schema is None:
            message = (
                "may only be set when `version.schema.openAPIV3Schema` is not included"
                if key == "schema"
                else "may only be set when validations.schema is included"
            )
            yield invalid(where, "", message)
        else:
            yield from _check_selectable(selectable, schema, where)


def _check_path(path: str, where: str) -> Iterator[FieldError]:
    if not path:
        yield required(where)
    elif not path.startswith("."):
        yield invalid(where, path, "must be a simple json path starting with .")


def _check_subresources(value: KubeObject | None, path: str) -> Iterator[FieldError]:
    scale = (value or {}).get("scale")
    if scale is None:
        return
    for key, roots in (
        ("specReplicasPath", (".spec.",)),
        ("statusReplicasPath", (".status.",)),
        ("labelSelectorPath", (".spec.", ".status.")),
    ):
        text, where = scale.get(key, ""), f"{path}.scale.{key}"
        if key == "labelSelectorPath" and not text:
            continue
        wrong = list(_check_path(text, where))
        yield from wrong
        if not wrong and not text.startswith(roots):
            place = " or ".join(root.rstrip(".") for root in roots)
            either = "either " if len(roots) > 1 else ""
            yield invalid(where, text, f"should be a json path under {either}{place}")


def _check_selectable(
    selectable: list[KubeObject], schema: Schema, path: str
) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, each in enumerate(selectable):
        text, where = each["jsonPath"], f"{path}[{index}].jsonPath"
        if not text:
            yield required(where)
            continue
        try:
            target = follow(text, schema, with_brackets=False)
        except BadPath as error:
            yield invalid(where, text, f"is an invalid path: {error}")
            continue
        if target.root == "metadata":
            yield invalid(where, text, "must not point to fields in metadata")
        if (target.schema or {}).get("type") not in ("string", "boolean", "integer"):
            message = (
                "must point to a field of type string, boolean or integer. "
                "Enum string fields and strings with formats are allowed."
            )
            yield invalid(where, text, message)
        if target.path in seen:
            yield duplicate(where, text)
        seen.add(target.path)
    if len(seen) > _MAX_SELECTABLE_FIELDS:
        yield too_many(path, len(seen), _MAX_SELECTABLE_FIELDS)


def check_conversion(spec: KubeObject) -> Iterator[FieldError]:
    """Yield the validation errors of the conversion between versions."""
    conversion, path = spec.get("conversion"), "spec.conversion"
    if conversion is None:
        return
    strategy, webhook = conversion["strategy"], conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions")
    if not strategy:
        yield required(f"{path}.strategy")
    elif strategy not in ("None", "Webhook"):
        yield not_supported(f"{path}.strategy", strategy, ("None", "Webhook"))
    if strategy == "Webhook":
        if client is None:
            message = "required when strategy is set to Webhook"
            yield required(f"{path}.webhookClientConfig", message)
        elif ("url" in client) == ("service" in client):
            message = "exactly one of url or service is required"
            yield required(f"{path}.webhookClientConfig", message)
        reviews_versions = versions or []
        reviews_path = f"{path}.conversionReviewVersions"
        if not reviews_versions:
            yield required(reviews_path)
        else:
            for index, version in enumerate(reviews_versions):
                if version in reviews_versions[:index]:
                    yield invalid(f"{reviews_path}[{index}]", version, "duplicate version")
                    continue
                for reviews_told in dns_1035_label(version):
                    yield invalid(f"{reviews_path}[{index}]", version, reviews_told)
            if not set(reviews_versions) & set(_REVIEW_VERSIONS):
                reviews_told = f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"
                yield invalid(reviews_path, reviews_versions, reviews_told)
        return
    message = "should not be set when strategy is not set to Webhook"
    if client is not None:
        yield forbidden(f"{path}.webhookClientConfig", message)
    if versions:
        yield forbidden(f"{path}.conversionReviewVersions", message)
