"""
What becomes of changes that others made to a child that was applied as desired.

Fields that others took from us are set again; fields that people added are removed; fields that a
rule ignores are left as they are. This module decides; the applier takes the fields over.

Rules come from the platform's flags, from annotations of the definition, and from those of the
instance, which take precedence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kro_gitops.engine.adoption import may_adopt_any
from kro_gitops.engine.plan.steps import Apply
from kro_gitops.errors import UserError
from kro_gitops.metadata import DRIFT_ADDED_FIELDS, DRIFT_IGNORE
from kro_gitops.settings.option import AddedFields, AdoptionPolicy
from kro_gitops.tracking.ignored_fields import (
    IgnoreRule,
    parse_pointer,
    pointers_for,
    without_pointers,
)
from kube_objects.errors import RefusedError
from kube_objects.field_sets import fields_missing_in, has_created_part, unpack, without_paths
from kube_objects.managed_fields import CachedObject
from kube_objects.refs import KubeObject
from kube_objects.value_checks import did_you_mean
from kube_objects.yaml_values import DEFAULT_LIMITS, build

_MAX_RULES = 64
_MAX_PATHS = 64
_TARGET_KEYS = ("group", "kind", "namespace", "name")
_EXAMPLE = "write a list: [{target: {kind: Deployment}, paths: [/spec/replicas]}]"


@dataclass(frozen=True, slots=True)
class DriftRules:
    """Which fields of children others may set, and what becomes of those that people add."""

    added: AddedFields = AddedFields.OWN
    ignore: tuple[IgnoreRule, ...] = ()

    def for_instance(self, instance: KubeObject, adoption: AdoptionPolicy) -> "DriftRules":
        """Return the rules for one instance; raise `RefusedError` if its annotations are bad."""
        found = with_annotations(self, instance)
        if found.added is AddedFields.OWN and may_adopt_any(adoption, instance):
            return replace(found, added=AddedFields.KEEP)
        return found


DEFAULT_DRIFT_RULES = DriftRules()


@dataclass(frozen=True, slots=True)
class Drift:
    """What differs in one child: `expected` of us, and the fields that people added to it."""

    expected: KubeObject
    pointers: tuple[str, ...] = ()
    added: Mapping[str, Any] = field(default_factory=dict)

    def onto(self, step: Apply) -> Apply:
        """Return the step that repairs the child."""
        if not self.added and not self.pointers:
            return step
        return replace(step, added=self.added, ignored=self.pointers)


def plan_drift(step: Apply, live: KubeObject, rules: DriftRules) -> Drift:
    """Return what others may have changed in a child, and what is expected of it."""
    desired = step.object
    pointers = pointers_for(rules.ignore, step.ref) if rules.ignore else ()
    expected = without_pointers(desired, pointers) if pointers else desired
    packed = live.added if isinstance(live, CachedObject) else b""
    if not packed or rules.added is AddedFields.KEEP:
        return Drift(expected, pointers)
    fields = unpack(packed)
    if rules.added is AddedFields.OWN and has_created_part(desired, fields):
        return Drift(expected, pointers)  # there before us: an adopted object is not wholly ours
    added = fields_missing_in(desired, fields)
    if pointers and added:
        added = without_paths(added, [parse_pointer(pointer) for pointer in pointers])
    return Drift(expected, pointers, added)


def with_annotations(rules: DriftRules, obj: KubeObject) -> DriftRules:
    """Return rules with those of an object's annotations; raise `RefusedError` if they are bad."""
    annotations = obj["metadata"].get("annotations") or {}
    text = annotations.get(DRIFT_ADDED_FIELDS)
    if text is not None:
        try:
            rules = replace(rules, added=AddedFields(text))
        except ValueError:
            choices = ", ".join(AddedFields)
            raise RefusedError(
                "invalid-drift-rules",
                f"annotation {DRIFT_ADDED_FIELDS}: {text[:60]!r} is none of {choices}",
                hint=did_you_mean(text, list(AddedFields))
                or f"set one of {choices}, or remove the annotation",
            ) from None
    text = annotations.get(DRIFT_IGNORE)
    if text is not None:
        rules = replace(rules, ignore=(*rules.ignore, *_parse_ignore(text)))
    return rules


def _parse_ignore(text: str) -> tuple[IgnoreRule, ...]:
    """Read the list that a source has as `drift.ignore`."""
    parsed = build(text, DEFAULT_LIMITS)
    if not parsed.usable:
        raise _bad_rules(f"it is not YAML: {parsed.complaints[0].problem.summary}")
    found = parsed.value
    if not isinstance(found, list):
        raise _bad_rules("it is not a list")
    if len(found) > _MAX_RULES:
        raise _bad_rules(f"it has {len(found)} rules; at most {_MAX_RULES} are allowed")
    return tuple(_parse_rule(rule, f"[{index}]") for index, rule in enumerate(found))


def _parse_rule(rule: Any, place: str) -> IgnoreRule:
    if not isinstance(rule, dict):
        raise _bad_rules(f"{place} is not an object")
    unknown = sorted(str(key) for key in rule if key not in ("paths", "target"))
    if unknown:
        raise _bad_rules(f"{place}: unknown field {unknown[0][:60]!r}")
    paths, target = rule.get("paths"), rule.get("target") or {}
    if not isinstance(paths, list) or not 0 < len(paths) <= _MAX_PATHS:
        raise _bad_rules(f"{place}.paths is not a list of 1 to {_MAX_PATHS} JSON pointers")
    if not isinstance(target, dict):
        raise _bad_rules(f"{place}.target is not an object")
    for key, value in target.items():
        if key not in _TARGET_KEYS:
            raise _bad_rules(f"{place}.target: unknown field {str(key)[:60]!r}")
        if not isinstance(value, str):
            raise _bad_rules(f"{place}.target.{key} is not a text")
    for index, path in enumerate(paths):
        try:
            if not isinstance(path, str) or not parse_pointer(path):
                raise _bad_rules(f"{place}.paths[{index}] is not a JSON pointer to a field")
        except UserError as error:
            raise _bad_rules(f"{place}.paths[{index}]: {error.message}") from None
    return IgnoreRule(tuple(paths), **target)


def _bad_rules(what: str) -> RefusedError:
    return RefusedError("invalid-drift-rules", f"annotation {DRIFT_IGNORE}: {what}", hint=_EXAMPLE)
