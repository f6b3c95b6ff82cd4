"""
Lists what an update of a CRD changes for the users of its kind.

kro compares the two schemas before it updates a CRD and rejects changes that break existing
instances; its rules and texts are kept here word for word. It overlooks some things: the type of
map values, a first `enum`, list types, rules, unknown fields. These are found too and marked
`seen_by_kro=False`, so that callers who need kro's own answer can leave them out.

Paths read like field paths, with `[]` for the items of a list and `[*]` for the values of a map:
`spec.ports[].name`. Changes of the version as a whole are listed under `version`.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from kube_objects.errors import SchemaError
from kube_objects.refs import KubeObject

Schema = Mapping[str, Any]

_MAX_SHOWN = 3  # breaking changes a summary spells out

_LIST_TYPE = "x-kubernetes-list-type"
_LIST_MAP_KEYS = "x-kubernetes-list-map-keys"
_PRESERVE_UNKNOWN = "x-kubernetes-preserve-unknown-fields"
_VALIDATIONS = "x-kubernetes-validations"

_LOSES_VALUES = "existing instances lose the value of this field"
_NO_LONGER_FIT = "values of existing instances may become invalid"
_MUST_BE_GIVEN = "instances without the field become invalid: add a default"

# keyword, kro's word for it, and whether a greater value is the stricter one
_CONSTRAINTS = (
    ("minimum", "Minimum", True),
    ("maximum", "Maximum", False),
    ("minLength", "MinLength", True),
    ("maxLength", "MaxLength", False),
    ("minItems", "MinItems", True),
    ("maxItems", "MaxItems", False),
)

# Parts of the CRD that a cluster never lets change.
_IMMUTABLE_FIELDS = (("scope",), ("group",), ("names", "kind"), ("names", "plural"))


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """One difference, in kro's words."""

    path: str
    description: str
    breaking: bool
    hint: str = ""
    seen_by_kro: bool = True


def compare(old_crd: KubeObject, new_crd: KubeObject) -> tuple[Change, ...]:
    """List what changes from one CRD to the next, sorted by path."""
    old_versions, new_versions = (
        _get(old_crd, "spec", "versions") or [],
        _get(new_crd, "spec", "versions") or [],
    )
    if len(old_versions) != 1 or len(new_versions) != 1:
        raise SchemaError(
            "not-one-version",
            "expected exactly one version in each CRD, "
            f"got {len(old_versions)} old and {len(new_versions)} new versions",
        )
    old, new = old_versions[0], new_versions[0]
    changes = _Changes()
    if old.get("name") != new.get("name"):
        text = f"Type changed from {old.get('name')} to {new.get('name')}"
        changes.breaking("version", text, "clients of the old version get 404")
    else:
        _compare_schemas("", _root_schema(old, "old"), _root_schema(new, "new"), changes)
        if old.get("served") and not new.get("served"):
            changes.breaking("version.served", "Type changed from true to false")
        status_before, status_after = (_get(one, "subresources", "status") for one in (old, new))
        if status_before is not None and status_after is None:
            changes.breaking("version.subresources.status", "Property status was removed")
        if _printer_columns(old) != _printer_columns(new):
            path = "version.additionalPrinterColumns"
            changes.harmless(path, "Additional printer columns were changed")
    unseen = changes.unseen()
    for steps in _IMMUTABLE_FIELDS:
        before, after = _get(old_crd, "spec", *steps), _get(new_crd, "spec", *steps)
        if before != after:
            name = steps[-1].capitalize()
            hint = "it cannot change: the CRD would have to be deleted and created again"
            unseen.breaking(steps[-1], f"{name} changed from {before} to {after}", hint)
    return tuple(sorted(changes.found))


def breaking(changes: Iterable[Change], *, beyond_kro: bool = False) -> tuple[Change, ...]:
    """Pick the changes that break existing instances: those kro sees, or all."""
    return tuple(one for one in changes if one.breaking and (one.seen_by_kro or beyond_kro))


def summary(changes: Iterable[Change], *, beyond_kro: bool = False) -> str:
    """Sum up the breaking changes in one line, as kro reports them."""
    found = breaking(changes, beyond_kro=beyond_kro)
    if not found:
        return "no breaking changes"
    parts = [change.description for change in found[:_MAX_SHOWN]]
    if len(found) > _MAX_SHOWN:
        parts.append(f"and {len(found) - _MAX_SHOWN} more changes")
    return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class _Changes:
    """Where changes are gathered; `unseen` gathers in the same place what kro overlooks."""

    found: list[Change] = field(default_factory=list)
    seen_by_kro: bool = True

    def breaking(self, path: str, text: str, hint: str = "") -> None:
        self.found.append(Change(path, text, True, hint, self.seen_by_kro))

    def harmless(self, path: str, text: str) -> None:
        self.found.append(Change(path, text, False, "", self.seen_by_kro))

    def unseen(self) -> "_Changes":
        return _Changes(self.found, seen_by_kro=False)


def _root_schema(version: Schema, which: str) -> Schema:
    """Return the schema of a CRD version; raise if the version has none."""
    schema = _get(version, "schema", "openAPIV3Schema")
    if schema is None:
        raise SchemaError("no-schema", f"{which} version {version.get('name')} has no schema")
    found: Schema = schema
    return found


def _printer_columns(version: Schema) -> list[Schema]:
    # A priority of 0, or an empty text, is as good as none.
    columns = version.get("additionalPrinterColumns") or ()
    return [{key: value for key, value in column.items() if value} for column in columns]


def _compare_schemas(path: str, old: Schema, new: Schema, changes: _Changes) -> None:
    before, after = old.get("description", ""), new.get("description", "")
    if before != after:
        changes.harmless(path, f"Description field was changed from {before} to {after}")
    default_before, default_after = _default(old), _default(new)
    if default_before != default_after:
        text = f"Default value was changed from {default_before} to {default_after}"
        changes.harmless(path, text)
    before, after = old.get("type", ""), new.get("type", "")
    if before != after:
        changes.breaking(path, f"Type changed from {before} to {after}", _NO_LONGER_FIT)
        return  # the rest of two different things cannot be compared
    for rule in _RULES:
        rule(path, old, new, changes)


def _compare_limits(path: str, old: Schema, new: Schema, changes: _Changes) -> None:
    before, after = old.get("pattern", ""), new.get("pattern", "")
    if before and not after:
        changes.harmless(path, f"Validation pattern {before} was removed")
    elif after and not before:
        changes.breaking(path, f"Validation pattern {after} was added", _NO_LONGER_FIT)
    elif before != after:
        text = f"Validation pattern changed from {before} to {after}"
        changes.breaking(path, text, _NO_LONGER_FIT)
    for keyword, word, greater_is_stricter in _CONSTRAINTS:
        before, after = old.get(keyword), new.get(keyword)
        if before == after:
            continue
        if after is None:
            changes.harmless(path, f"{word} constraint {_number(before)} was removed")
        elif before is None:
            text = f"{word} constraint {_number(after)} was added"
            changes.breaking(path, text, _NO_LONGER_FIT)
        else:
            direction = "increased" if after > before else "decreased"
            text = f"{word} was {direction} from {_number(before)} to {_number(after)}"
            if (after > before) == greater_is_stricter:
                changes.breaking(path, text, _NO_LONGER_FIT)
            else:
                changes.harmless(path, text)


def _compare_properties(path: str, old: Schema, new: Schema, changes: _Changes) -> None:
    before: Mapping[str, Schema] = old.get("properties") or {}
    after: Mapping[str, Schema] = new.get("properties") or {}
    for name, schema in before.items():
        if name in after:
            _compare_schemas(_below(path, name), schema, after[name], changes)
        else:
            text = f"Property {_last(name)} was removed"
            changes.breaking(_below(path, name), text, _LOSES_VALUES)
    for name in after.keys() - before.keys():
        # kro says "optional" of a required property too.
        text = f"Optional property {_last(name)} was added"
        if name in new.get("required", ()) and not _default(after[name]):
            changes.breaking(_below(path, name), text, _MUST_BE_GIVEN)
        else:
            changes.harmless(_below(path, name), text)
    required_before, required = set(old.get("required") or ()), set(new.get("required") or ())
    for name in required_before - required:
        changes.harmless(_below(path, name), f"Field {name} is no longer required")
    for name in required & before.keys():
        if name not in required_before:
            text = f"Field {name} is newly required"
            changes.breaking(_below(path, name), text, _MUST_BE_GIVEN)
        elif _default(before[name]) and not _default(after.get(name, {})):
            text = f"Default value removed from required field {name}"
            changes.breaking(_below(path, name), text, _MUST_BE_GIVEN)


def _compare_enum(path: str, old: Schema, new: Schema, changes: _Changes) -> None:
    before = {_json(value) for value in old.get("enum") or ()}
    after = {_json(value) for value in new.get("enum") or ()}
    if before and after:
        for value in before - after:
            changes.breaking(path, f"Enum value {value} was removed", _NO_LONGER_FIT)
        for value in after - before:
            changes.harmless(path, f"Enum value {value} was added")
    elif after:
        text = f"Enum with the values {', '.join(sorted(after))} was added"
        changes.unseen().breaking(path, text, _NO_LONGER_FIT)
    elif before:
        changes.unseen().harmless(path, "Enum was removed")


def _compare_items(path: str, old: Schema, new: Schema, changes: _Changes) -> None:
    if old.get("type") != "array":
        return
    before, after = old.get("items"), new.get("items")
    if before is not None and after is not None:
        _compare_schemas(f"{path}[]", before, after, changes)
    elif before is not None:
        changes.breaking(f"{path}[]", "Property items was removed", _LOSES_VALUES)
    elif after is not None:
        changes.harmless(f"{path}[]", "Optional property items was added")


def _compare_map_values(path: str, old: Schema, new: Schema, changes: _Changes) -> None:
    before, after = old.get("additionalProperties"), new.get("additionalProperties")
    changes = changes.unseen()
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        _compare_schemas(f"{path}[*]", before, after, changes)
    elif before and not after:
        changes.breaking(f"{path}[*]", "Map values were removed", _LOSES_VALUES)
    elif before is True and isinstance(after, Mapping):
        changes.breaking(f"{path}[*]", "Map values were restricted", _NO_LONGER_FIT)
    elif before != after:
        changes.harmless(f"{path}[*]", "Map values were added")
    kept, keeps = bool(old.get(_PRESERVE_UNKNOWN)), bool(new.get(_PRESERVE_UNKNOWN))
    if kept and not keeps:
        changes.breaking(path, "Unknown fields are no longer preserved", _LOSES_VALUES)
    elif keeps and not kept:
        changes.harmless(path, "Unknown fields are now preserved")


def _compare_list_type(path: str, old: Schema, new: Schema, changes: _Changes) -> None:
    changes = changes.unseen()
    before, after = old.get(_LIST_TYPE, "atomic"), new.get(_LIST_TYPE, "atomic")
    if before != after:
        text = f"List type changed from {before} to {after}"
        if after == "atomic":
            changes.harmless(path, text)
        else:
            changes.breaking(path, text, "lists with duplicate items are rejected")
    elif (keys := old.get(_LIST_MAP_KEYS)) != (new_keys := new.get(_LIST_MAP_KEYS)):
        text = f"List map keys changed from {_joined(keys)} to {_joined(new_keys)}"
        changes.breaking(path, text, "other items than before count as duplicates")


def _compare_rules(path: str, old: Schema, new: Schema, changes: _Changes) -> None:
    before = {rule.get("rule", "") for rule in old.get(_VALIDATIONS) or ()}
    after = {rule.get("rule", "") for rule in new.get(_VALIDATIONS) or ()}
    for rule in after - before:
        text = f"Validation rule {rule} was added"
        changes.unseen().breaking(path, text, _NO_LONGER_FIT)
    for rule in before - after:
        changes.unseen().harmless(path, f"Validation rule {rule} was removed")


_Rule = Callable[[str, Schema, Schema, _Changes], None]

_RULES: tuple[_Rule, ...] = (
    _compare_limits,
    _compare_properties,
    _compare_enum,
    _compare_items,
    _compare_map_values,
    _compare_list_type,
    _compare_rules,
)


def _get(value: Any, *steps: str) -> Any:
    for step in steps:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _default(schema: Schema) -> str:
    """Print a default as JSON; nothing if there is none."""
    value = schema.get("default")
    return "" if value is None else _json(value)


def _below(path: str, name: str) -> str:
    if not name or "." in name:
        return f'{path}["{name}"]'
    return f"{path}.{name}" if path else name


def _last(name: str) -> str:
    # kro takes its name for a property from a path joined by dots.
    return name.rpartition(".")[2]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _joined(keys: Iterable[str] | None) -> str:
    return ", ".join(keys or ()) or "none"


def _number(value: Any) -> str:
    if isinstance(value, int):
        return str(value)
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
