"""
A field of a live object, found again in the template it was made from.

Maps are easy: a key is a key. Lists are not, because others may add items and the server may sort
them. Items are told apart by the keys of their list where its kind has some (a container by its
name), else by a `name` if all items have one, else by position. What is not certain is said.
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

    `rest` is what lies below it if an expression stands there and its value goes deeper. `wanted`
    is the value there, `UNKNOWN` if it cannot be told. `notes` say what is a guess.
    """

    path: Path
    value: Any
    rest: Path = ()
    wanted: Any = UNKNOWN
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Template:
    """The body of a node, the values of its expressions as far as known, and its kind's schema."""

    body: Any
    wanted: DesiredFields
    schema: Schema | None = None

    def find(self, path: Path, live: Any) -> InTemplate | None:
        """Return where a field of a live object comes from, or `None` if it is not here."""
        return _Walk(self).find(path, live)


class _Walk:
    def __init__(self, template: Template) -> None:
        self._template = template
        self._notes: list[str] = []

    def find(self, path: Path, live: Any) -> InTemplate | None:
        here: Any = self._template.body
        schema = self._template.schema
        at: Path = ()
        for count, step in enumerate(path):
            if scanned(here):
                return self._below(InTemplate(at, here, path[count:]), live, schema)
            key = self._key(here, step, live, at, schema)
            if key is None:
                return None
            live = _part(live, step)
            here = here[key]
            at = (*at, key)
            schema = _schema_below(schema, step)
        wanted = _with_values(here, at, self._template.wanted.values)
        return InTemplate(at, here, (), wanted, tuple(self._notes))

    def _below(self, found: InTemplate, live: Any, schema: Schema | None) -> InTemplate | None:
        """Go on below the value of an expression; what is not in it does not come from it."""
        value = self._template.wanted.at(found.path)
        if value is UNKNOWN or value is OMIT or value is None:
            return replace(found, wanted=value, notes=tuple(self._notes))
        inner = _Walk(Template(value, NOTHING_KNOWN, schema))
        inside = inner.find(found.rest, live)
        if inside is None:
            return None
        notes = (*self._notes, *inside.notes)
        return replace(found, rest=inside.path, wanted=inside.value, notes=notes)

    def _key(
        self, here: Any, step: str | int, live: Any, at: Path, schema: Schema | None
    ) -> str | int | None:
        """Return which key or index of the template a step of the live path is."""
        if isinstance(here, dict):
            return step if step in here else None
        if not isinstance(here, list) or not isinstance(step, int) or not isinstance(live, list):
            return None
        kept = [j for j in range(len(here)) if self._template.wanted.at((*at, j)) is not OMIT]
        if not 0 <= step < len(live):
            return None
        if schema is not None and list_type(schema) == "set":
            return self._by_value(here, kept, live[step], at)
        keys = _keys(schema, here, live)
        if keys:
            return self._by_keys(here, kept, live[step], at, keys)
        return self._by_position(kept, step, live, at)

    def _by_value(self, here: list[Any], kept: list[int], item: Any, at: Path) -> int | None:
        for j in kept:
            if self._value((*at, j), here[j]) == item:
                return j
        return None

    def _by_keys(
        self, here: list[Any], kept: list[int], item: Any, at: Path, keys: tuple[str, ...]
    ) -> int | None:
        verdicts = {j: self._agrees(here[j], item, (*at, j), keys) for j in kept}
        found = [j for j, verdict in verdicts.items() if verdict is True]
        if not found:
            found = [j for j, verdict in verdicts.items() if verdict is None]
            if found:
                what = " and ".join(keys)
                self._notes.append(
                    f"{format_path(at)}: the template computes the {what} of an item, and its "
                    "value is not known; the item was matched by elimination"
                )
        return found[0] if found else None

    def _agrees(self, written: Any, item: Any, at: Path, keys: tuple[str, ...]) -> bool | None:
        """Say whether a template's item is a live one; `None` if that cannot be told."""
        whole = self._value(at, written)
        if whole is UNKNOWN or not isinstance(item, dict):
            return None
        if not isinstance(whole, dict):
            return False
        verdict: bool | None = True
        for key in keys:
            if key not in whole or whole[key] == item.get(key):
                continue  # what is left out gets a default from the server
            wanted = self._value((*at, key), whole[key])
            if wanted is UNKNOWN:
                verdict = None
            elif wanted != item.get(key):
                return False
        return verdict

    def _by_position(self, kept: list[int], step: int, live: list[Any], at: Path) -> int | None:
        if len(live) != len(kept):
            self._notes.append(
                f"{format_path(at)}: items of this list have no keys, and there are {len(live)} "
                f"where the template has {len(kept)}; they were matched by position"
            )
        return kept[step] if step < len(kept) else None

    def _value(self, at: Path, written: Any) -> Any:
        return self._template.wanted.at(at) if scanned(written) else written


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


def _part(value: Any, step: str | int) -> Any:
    try:
        return value[step]
    except (KeyError, IndexError, TypeError):
        return None


def _schema_below(schema: Schema | None, step: str | int) -> Schema | None:
    if schema is None:
        return None
    return item_schema(schema) if isinstance(step, int) else field_schema(schema, step)


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
