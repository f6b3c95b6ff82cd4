"""
The defaults in a schema: each must be a value that the schema accepts, with no unknown fields.

Defaults of the metadata of an object inside an object are only checked against their schema.

Follows kubernetes 1.35
k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go ValidateDefaults.
"""

from collections.abc import Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from kube_objects.defaulting import SchemaReader
from kube_objects.ratcheting import is_equal
from kube_objects.schema_validator import SchemaValidator
from kube_objects.schemas import Schema
from kube_sandbox.apiextensions.cel.rule_tree import rule_tree
from kube_sandbox.apiextensions.schema.embedded_resources import check_embedded
from kube_sandbox.apiextensions.schema.prune_and_default import prune_unknown_fields
from kube_sandbox.apiextensions.schema.violations import as_field_errors
from kube_sandbox.lazy import lazy_module
from kube_sandbox.registry.field_errors import FieldError, invalid
from kube_sandbox.registry.strategy import Errors

if TYPE_CHECKING:
    from kube_sandbox.apiextensions.cel import rule_evaluation
else:
    rule_evaluation = lazy_module("kube_sandbox.apiextensions.cel.rule_evaluation")

_META_FIELDS = frozenset(("metadata", "kind", "apiVersion"))
_EMBEDDED = "x-kubernetes-embedded-resource"


def check_defaults(schema: Schema, path: str) -> Errors:
    """Return the validation errors of the defaults in a structural schema."""
    return list(_check({**schema, _EMBEDDED: True}, path, is_root=True, is_meta=False))


def _check(schema: Schema, path: str, *, is_root: bool, is_meta: bool) -> Iterator[FieldError]:
    embedded = schema.get(_EMBEDDED) is True
    is_meta = is_meta and not embedded
    if schema.get("default") is not None:
        default_path = f"{path}.default"
        is_object = is_root or embedded
        value: Any = schema["default"]
        if not is_meta:
            pruned = deepcopy(value)
            prune_unknown_fields(pruned, SchemaReader(schema))
            if not is_equal(pruned, value):
                yield invalid(default_path, value, "must not have unknown fields")
        found = [] if is_meta else check_embedded(value, schema, default_path)
        found = found or as_field_errors(
            SchemaValidator(_of_any_type(schema), every_format=True).violations(value), default_path
        )
        if found:
            yield from found
        else:
            rules = rule_tree(schema, is_root=is_object)
            if rules is not None:
                errors = rule_evaluation.evaluate_rules(
                    rules, value, value, path=default_path
                ).errors
                yield from (
                    errors or rule_evaluation.evaluate_rules(rules, value, path=default_path).errors
                )
    items = schema.get("items")
    if items is not None:
        yield from _check(items, f"{path}.items", is_root=False, is_meta=is_meta)
    for name, part in (schema.get("properties") or {}).items():
        inside = is_meta or (embedded and name in _META_FIELDS)
        where = f"{path}.properties[{name}]"
        yield from _check(part, where, is_root=False, is_meta=inside)


def _of_any_type(schema: Schema) -> Schema:
    """Return a schema that leaves open what an int-or-string is: in defaults it is not checked."""
    changed: Schema = {
        key: _of_any_type(schema[key])
        for key in ("items", "additionalProperties")
        if isinstance(schema.get(key), dict)
    }
    if schema.get("properties"):
        changed["properties"] = {n: _of_any_type(p) for n, p in schema["properties"].items()}
    if schema.get("x-kubernetes-int-or-string"):
        changed["x-kubernetes-int-or-string"] = False
    return {**schema, **changed} if changed else schema
