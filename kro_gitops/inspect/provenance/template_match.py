"""
The place of a live object's field in its template.

In maps the key is the same. In lists the index may differ, because other clients may add items and
the server may sort them. Items are matched by the keys of their list if its schema has some (a
container by its name), else by a `name` if all items have one, else by position. The answer has a
note if a match is not certain.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kro_gitops.engine.plan.fields import NOTHING_KNOWN, UNKNOWN, DesiredFields
from kro_gitops.inspect.provenance.reads import scanned
from kube_cel.values import OMIT
from kube_objects.paths import format_path
from kube_objects.problems import Path
from kube_objects.schemas import Schema
from kube_objects.structural_schema import field as field_schema
from kube_objects.structural_schema import items as item_schema
from kube_objects.structural_schema import list_map_keys, list_type

_NAME = "name"


@dataclass(frozen=True, slots=True)
class InTemplate:
    """
    Where a field stands in a template.

    `rest` is the path inside the value of an expression that the template has there. `desired` is
    the value, `UNKNOWN` if it cannot be evaluated. `notes` name the guesses.
    """

    path: Path
    value: Any
    rest: Path = ()
    desired: Any = UNKNOWN
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Template:
    """The body of a node, the values of its expressions as far as known, and its kind's schema."""

    body: Any
    desired: DesiredFields
    schema: Schema | None = None

    def find(self, path: Path, live: Any) -> InTemplate | None:
        """Return where a field of a live object comes from, or `None` if it is not here."""
        return _Match(self).find(path, live)


class _Match:
    """One search; it collects notes on what is not certain."""

    def __init__(self, template: Template) -> None:
        self._template = template
        self._notes: list[str] = []

    def find(self, path: Path, live: Any) -> InTemplate | None:
        here: Any = self._template.body
        schema = self._template.schema
        at: Path = ()
        for count, step in enumerate(path):
            if scanned(here):
                # Continue in its value; a field that the value lacks does not come from it.
                found = InTemplate(at, here, path[count:], notes=tuple(self._notes))
                value = self._template.desired.at(at)
                if value is UNKNOWN or value is OMIT or value is None:
                    return replace(found, desired=value)
                inside = Template(value, NOTHING_KNOWN, schema).find(found.rest, live)
                if inside is None:
                    return None
                notes = (*found.notes, *inside.notes)
                return replace(found, rest=inside.path, desired=inside.value, notes=notes)
            key = self._key(here, step, live, at, schema)
            if key is None:
                return None
            try:
                live = live[step]
            except (KeyError, IndexError, TypeError):
                live = None
            here = here[key]
            at = (*at, key)
            if schema is not None:
                is_index = isinstance(step, int)
                schema = item_schema(schema) if is_index else field_schema(schema, str(step))
        desired = _with_values(here, at, self._template.desired.values)
        return InTemplate(at, here, (), desired, tuple(self._notes))

    def _key(
        self, here: Any, step: str | int, live: Any, at: Path, schema: Schema | None
    ) -> str | int | None:
        """Return the key or index in the template of a step of the live path."""
        if isinstance(here, dict):
            return step if step in here else None
        if not isinstance(here, list) or not isinstance(step, int) or not isinstance(live, list):
            return None
        kept = [j for j in range(len(here)) if self._template.desired.at((*at, j)) is not OMIT]
        if not 0 <= step < len(live):
            return None
        if schema is not None and list_type(schema) == "set":
            same = (j for j in kept if self._value((*at, j), here[j]) == live[step])
            return next(same, None)
        keys = _keys(schema, here, live)
        if keys:
            matches = {j: self._is_same(here[j], live[step], (*at, j), keys) for j in kept}
            return self._only_match(matches, at, keys)
        if len(live) != len(kept):
            self._notes.append(
                f"{format_path(at)}: items of this list have no keys, and there are {len(live)} "
                f"where the template has {len(kept)}; they were matched by position"
            )
        return kept[step] if step < len(kept) else None

    def _only_match(
        self, matches: Mapping[int, bool | None], at: Path, keys: tuple[str, ...]
    ) -> int | None:
        found = [j for j, is_same in matches.items() if is_same is True]
        if not found:
            found = [j for j, is_same in matches.items() if is_same is None]
            if found:
                what = " and ".join(keys)
                self._notes.append(
                    f"{format_path(at)}: the template computes the {what} of an item, and its "
                    "value is not known; the item was matched by elimination"
                )
        return found[0] if found else None

    def _is_same(self, written: Any, item: Any, at: Path, keys: tuple[str, ...]) -> bool | None:
        """Return whether a template's item is a live one; `None` if that is not known."""
        whole = self._value(at, written)
        if whole is UNKNOWN or not isinstance(item, dict):
            return None
        if not isinstance(whole, dict):
            return False
        is_same: bool | None = True
        for key in keys:
            if key not in whole or whole[key] == item.get(key):
                continue  # a missing key gets a default from the server
            desired = self._value((*at, key), whole[key])
            if desired is UNKNOWN:
                is_same = None
            elif desired != item.get(key):
                return False
        return is_same

    def _value(self, at: Path, written: Any) -> Any:
        return self._template.desired.at(at) if scanned(written) else written


def _keys(schema: Schema | None, here: list[Any], live: list[Any]) -> tuple[str, ...]:
    declared = list_map_keys(schema) if schema is not None else ()
    if declared:
        return declared
    if schema is not None and list_type(schema) == "atomic" and "items" in schema:
        dicts = [each for each in (*here, *live) if isinstance(each, dict)]
        is_named = len(dicts) == len(here) + len(live) and all(_NAME in each for each in dicts)
        return (_NAME,) if is_named and _are_distinct(live) else ()
    named = [each for each in (*here, *live) if isinstance(each, dict) and _NAME in each]
    return (_NAME,) if len(named) == len(here) + len(live) and _are_distinct(live) else ()


def _are_distinct(items: list[Any]) -> bool:
    names = [repr(each[_NAME]) for each in items]
    return len(set(names)) == len(names)


def _with_values(value: Any, path: Path, values: Mapping[Path, Any]) -> Any:
    """Return a part of a template with the values of its expressions in it."""
    if scanned(value):
        return values.get(path, UNKNOWN)
    if isinstance(value, dict):
        parts = {k: _with_values(child, (*path, k), values) for k, child in value.items()}
        return {k: part for k, part in parts.items() if part is not OMIT}
    if isinstance(value, list):
        listed = [_with_values(child, (*path, i), values) for i, child in enumerate(value)]
        return [part for part in listed if part is not OMIT]
    return value
