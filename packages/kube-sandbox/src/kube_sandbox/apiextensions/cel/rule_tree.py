"""
The validation rules in a schema: a tree that follows the schema, without the parts that have none.

The expression engine takes a while to import and most schemas have no rules, so rules are compiled
when they are first read, and `rule_evaluation` is imported when the first object is validated.

Follows kubernetes 1.35 k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go
NewValidator, validator.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from kube_objects.schemas import Schema
from kube_objects.structural_schema import fields, is_embedded, items, other_fields
from kube_sandbox.lazy import lazy_module
from kube_sandbox.registry.field_errors import FieldError

if TYPE_CHECKING:
    from kube_cel.schema_views import Shape
    from kube_sandbox.apiextensions.cel import compilation
else:
    compilation = lazy_module("kube_sandbox.apiextensions.cel.compilation")

RULES = "x-kubernetes-validations"


@dataclass(slots=True)
class Verdict:
    """What rules found: errors, and warnings instead of errors that are forgiven."""

    errors: list[FieldError] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


class RuleTree:
    """The rules of one part of a schema, and those of the parts below it."""

    def __init__(self, schema: Schema, *, is_root: bool) -> None:
        self.schema = schema
        self.kind = schema.get("type", "")
        self._is_root = is_root
        below = {name: rule_tree(part) for name, part in fields(schema).items()}
        self.fields = {name: tree for name, tree in below.items() if tree is not None}
        others, item = other_fields(schema), items(schema)
        self.others = rule_tree(others) if others is not None else None
        self.items = rule_tree(item) if item is not None else None

    @cached_property
    def rules(self) -> "list[compilation.Rule]":
        """The rules of this part, compiled."""
        if not self.schema.get(RULES):
            return []
        return compilation.compile_rules(self.schema, is_root=self._is_root)

    @cached_property
    def view(self) -> "Shape":
        """How rules see values of this part."""
        seen = compilation.rule_schema(self.schema, is_root=self._is_root)
        return compilation.view_of(seen)


def rule_tree(schema: Schema, *, is_root: bool = False) -> RuleTree | None:
    """Return the rules in a schema, or None if there are none."""
    tree = RuleTree(schema, is_root=is_root or is_embedded(schema))
    has_any = schema.get(RULES) or tree.fields or tree.items or tree.others
    return tree if has_any else None
