"""
The schema of a version in a CustomResourceDefinition: whether it is one that can be served.

Besides being structural it must keep to what the API server supports of OpenAPI, its lists must say
how they merge, its defaults must be values that it accepts, its validation rules must compile and
not cost too much. Rules are looked at only where everything else is in order.

Follows kubernetes 1.35
k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go
validateCustomResourceDefinitionValidation, ValidateCustomResourceDefinitionOpenAPISchema.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from kube_objects.schemas import Schema
from kube_sandbox.apiextensions.cel.cost_limits import CostBudget, repeated
from kube_sandbox.apiextensions.customresourcedefinition.default_validation import check_defaults
from kube_sandbox.apiextensions.customresourcedefinition.defaults import INTERNAL_NAMES
from kube_sandbox.apiextensions.customresourcedefinition.internal_form import (
    format_internal,
    internal_schema,
)
from kube_sandbox.apiextensions.customresourcedefinition.rule_validation import (
    RULES,
    RuleLocation,
    check_rule_texts,
    check_rules,
    has_type,
)
from kube_sandbox.apiextensions.schema.list_type_validation import check_lists
from kube_sandbox.apiextensions.schema.structural import structural_errors, unsupported
from kube_sandbox.registry.field_errors import FieldError, forbidden, invalid, not_supported
from kube_sandbox.registry.strategy import Errors

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_META_FIELDS = frozenset(("metadata", "kind", "apiVersion"))
# What the root of a schema may have beside a status subresource.
_AT_ROOT = (
    *("Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum"),
    *("ExclusiveMinimum", "MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems"),
    *("UniqueItems", "MultipleOf", "Required", "Items", "Properties", "ExternalDocs", "Example"),
    *("XPreserveUnknownFields", "XValidations"),
)
_FORBIDDEN = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_PRESERVE_UNKNOWN = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"


def check_schema(
    schema: Schema, path: str, *, has_status: bool, is_unchanged: bool = False
) -> Errors:
    """Return the validation errors of a schema; `is_unchanged` if it is stored already."""
    if has_status:
        beside = "if the status subresource is enabled"
        for key, name in INTERNAL_NAMES.items():
            if key not in schema:
                continue
            if key == "type" and schema["type"] != "object":
                message = f'only "object" is allowed as the type at the root of the schema {beside}'
                found = [invalid(f"{path}.type", schema["type"], message)]
                break
            if name not in _AT_ROOT:
                message = f"fields are allowed at the root of the schema {beside}"
                listed = " ".join(_AT_ROOT)
                found = [
                    invalid(
                        path, format_internal(internal_schema(schema)), f"only [{listed}] {message}"
                    )
                ]
                break
        else:
            found = []
    else:
        found = []
    if schema.get("nullable"):
        found.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    why = unsupported(schema)
    may_ask = False
    if not why:
        wrong = structural_errors(schema, path) or check_defaults(schema, path)
        found += wrong
        may_ask = not wrong
    checks = _Checks(may_ask, CostBudget(is_unchanged))
    checks.check(schema, path, _SchemaContext(), is_root=True)
    found += [*checks.errors, *checks.rule_errors, *checks.bill.errors(path)]
    if not found and why:
        found.append(invalid(path, "", why))
    return found


@dataclass(frozen=True, slots=True)
class _SchemaContext:
    """What holds for a part of a schema because of where it is."""

    no_defaults: str | None = None  # why it may have none
    is_meta: bool = False  # it describes the metadata of an object
    untied: str = ""  # the part around it whose old values cannot be found again
    has_rules: bool = False  # a part around it has
    is_unseen: bool = False  # expressions cannot see a part around it, though they should
    repeats: int | None = 1  # how often there can be values of it; None if nothing bounds that


@dataclass(slots=True)
class _Checks:
    """The errors found so far; those of rules are reported last."""

    may_ask: bool
    bill: CostBudget
    errors: list[FieldError] = field(default_factory=list)
    rule_errors: list[FieldError] = field(default_factory=list)

    def check(
        self,
        schema: Schema,
        path: str,
        around: _SchemaContext,
        *,
        is_root: bool = False,
        is_described: bool = True,
    ) -> None:
        """Check a part and the parts below; `is_described` unless it only restricts values."""
        before = len(self.errors)
        self.errors += _check_keywords(schema, path, around)
        has_rules = around.has_rules or bool(schema.get(RULES))
        is_unseen = around.is_unseen or (has_rules and not has_type(schema))
        repeats = repeated(around.repeats, schema)
        inside = replace(around, has_rules=has_rules, is_unseen=is_unseen, repeats=repeats)
        for part, where, below in self._parts(schema, path, inside, is_root):
            self.check(part, where, below, is_described=is_described)
        for part, where in _restrictions(schema, path):
            self.check(part, where, around, is_described=False)
        if schema.get(_PRESERVE_UNKNOWN) is False:
            where = f"{path}.{_PRESERVE_UNKNOWN}"
            self.errors.append(invalid(where, False, "must be true or undefined"))
        self.errors += check_lists(schema, path)
        if schema.get(RULES):
            self.errors += check_rule_texts(schema, path)
            if len(self.errors) == before and self.may_ask and is_described:
                is_whole = is_root or schema.get(_EMBEDDED) is True
                untied = None if is_unseen else around.untied
                place = RuleLocation(path, untied, around.repeats, is_whole)
                self.rule_errors += check_rules(schema, place, self.bill)

    def _parts(
        self, schema: Schema, path: str, around: _SchemaContext, is_root: bool
    ) -> Iterator[tuple[Schema, str, _SchemaContext]]:
        others = schema.get("additionalProperties")
        if isinstance(others, dict):
            why = "inside additionalProperties applying to object metadata"
            below = replace(around, no_defaults=why) if around.is_meta else around
            yield others, f"{path}.additionalProperties", below
        tied = schema.get("x-kubernetes-map-type") in (None, "granular", "atomic")
        inside = around if tied or around.untied else replace(around, untied=path)
        for name, part in (schema.get("properties") or {}).items():
            below = inside
            if (is_root or schema.get(_EMBEDDED)) and name in _META_FIELDS:
                barred = f"in top-level {name}" if is_root else around.no_defaults
                below = replace(inside, is_meta=True, no_defaults=barred)
            yield part, f"{path}.properties[{name}]", below
        items = schema.get("items")
        if items is not None:
            tied = schema.get("x-kubernetes-list-type") == "map"
            below = around if tied or around.untied else replace(around, untied=path)
            many = items if isinstance(items, list) else None
            if many is None:
                yield items, f"{path}.items", below
            for index, part in enumerate(many or ()):
                yield part, f"{path}.items[{index}]", below


def _restrictions(schema: Schema, path: str) -> Iterator[tuple[Schema, str]]:
    if schema.get("not") is not None:
        yield schema["not"], f"{path}.not"
    for key in ("allOf", "oneOf", "anyOf"):
        for index, part in enumerate(schema.get(key) or ()):
            yield part, f"{path}.{key}[{index}]"
    for name, part in (schema.get("definitions") or {}).items():
        yield part, f"{path}.definitions[{name}]"
    for name, part in (schema.get("dependencies") or {}).items():
        if isinstance(part, dict):
            yield part, f"{path}.dependencies[{name}]"


def _check_keywords(schema: Schema, path: str, around: _SchemaContext) -> Iterator[FieldError]:
    kind: Any = schema.get("type", "")
    if kind and kind not in _TYPES:
        yield not_supported(f"{path}.type", kind, _TYPES)
    if schema.get("default") is not None and around.no_defaults is not None:
        yield forbidden(f"{path}.default", f"must not be set {around.no_defaults}")
    for key in _FORBIDDEN:
        if schema.get(key) is not None:
            yield forbidden(f"{path}.{key}", f"{key} is not supported")
    if kind == "null":
        message = "type cannot be set to null, use nullable as an alternative"
        yield forbidden(f"{path}.type", message)
    if isinstance(schema.get("items"), list):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    if around.is_meta and schema.get(_EMBEDDED):
        yield forbidden(f"{path}.{_EMBEDDED}", "must not be used inside of resource meta")
    if schema.get("uniqueItems"):
        message = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", message)
    others = schema.get("additionalProperties")
    if others is not None and others is not True and schema.get("properties"):
        message = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{path}.additionalProperties", message)
