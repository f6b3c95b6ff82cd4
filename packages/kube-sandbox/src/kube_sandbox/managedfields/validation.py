"""
Does a value fit its type, and if not: why, in the API server's own words.

The question is asked of every object that is merged or compared, the reasons only of those that
do not fit.
"""

from typing import Any

from kube_objects.go_format import (
    format_literal,
    format_value,
    type_name,
    whole_floats_as_integers,
)
from kube_sandbox.managedfields.fieldset import applied_number_text, step_text
from kube_sandbox.managedfields.typed import UnnamedItemError, has_path_element, step_of
from kube_sandbox.managedfields.types import Atom, ListType, MapType

_MESSAGES = {
    "numeric": "expected numeric (int or float), got {type}",
    "string": "expected string, got &value.valueUnstructured{{Value:{literal}}}",
    "boolean": "expected boolean, got &{{{plain}}}",
    "untyped": "expected any scalar, got &{{{plain}}}",
}


def is_valid(value: Any, atom: Atom, *, may_repeat: bool) -> bool:
    """Say whether a value fits; `may_repeat` lets several items of a list have one name."""
    if type(value) is dict:
        return atom.map is not None and _map_fits(value, atom.map, may_repeat)
    if type(value) is list:
        return atom.list is not None and _list_fits(value, atom.list, may_repeat)
    return value is None or type(value) in atom.accepts


def _map_fits(value: dict[str, Any], kind: MapType, may_repeat: bool) -> bool:
    named, element = kind.fields, kind.element
    for key, child in value.items():
        atom = named.get(key) or element
        if atom is None:
            return False
        if type(child) in atom.accepts:
            continue
        if not is_valid(child, atom, may_repeat=may_repeat):
            return False
    return True


def _list_fits(value: list[Any], kind: ListType, may_repeat: bool) -> bool:
    if not kind.is_atomic:
        if not all(has_path_element(item, kind) for item in value):
            return False
        if not may_repeat and len({step_of(item, kind) for item in value}) < len(value):
            return False
    atom = kind.element
    return all(
        type(item) in atom.accepts or is_valid(item, atom, may_repeat=may_repeat) for item in value
    )


def validation_message(value: Any, root: Atom, *, may_repeat: bool) -> str:
    """Say all that is wrong with a value that does not fit."""
    found = _find_errors(value, root, may_repeat)
    texts = [f"{path}: {text}" if path else text for path, text in found]
    return texts[0] if len(texts) == 1 else "\n  ".join(("errors:", *texts))


_Wrong = list[tuple[str, str]]


def _find_errors(value: Any, atom: Atom, may_repeat: bool) -> _Wrong:
    if value is None or type(value) in atom.accepts:
        return []
    if type(value) is dict and atom.map is not None:
        return _find_map_errors(value, atom.map, may_repeat)
    if type(value) is list and atom.list is not None:
        return _find_list_errors(value, atom.list, may_repeat)
    # What is applied comes as YAML, in which a whole number is an integer however it is written.
    shown = whole_floats_as_integers(value)
    plain = format_value(shown)
    if atom.map is not None:
        return [("", f"expected map, got &{{{plain}}}")]
    if atom.list is not None and not atom.scalar:
        return [("", f"expected list, got &{{{plain}}}")]
    words = _MESSAGES[atom.scalar]
    text = words.format(type=type_name(value), literal=format_literal(shown), plain=plain)
    return [("", text)]


def _find_map_errors(value: dict[str, Any], kind: MapType, may_repeat: bool) -> _Wrong:
    found: _Wrong = []
    for key, child in value.items():
        atom = kind.fields.get(key) or kind.element
        if atom is None:
            # Nothing else is looked at once something is met that nobody knows.
            return [*found, (f".{key}", "field not declared in schema")]
        found += [(f".{key}{path}", text) for path, text in _find_errors(child, atom, may_repeat)]
    return found


def _find_list_errors(value: list[Any], kind: ListType, may_repeat: bool) -> _Wrong:
    found: _Wrong = []
    seen: set[str] = set()
    for place, item in enumerate(value):
        shown = f"[{place}]"
        if not kind.is_atomic:
            try:
                step = step_of(item, kind)
            except UnnamedItemError as reason:
                return [*found, ("", f"element {place}: {reason}")]
            shown = step_text(step, applied_number_text)
            if step in seen and not may_repeat:
                found.append(("", f"duplicate entries for key {shown}"))
            seen.add(step)
        found += [
            (f"{shown}{path}", text) for path, text in _find_errors(item, kind.element, may_repeat)
        ]
    return found
