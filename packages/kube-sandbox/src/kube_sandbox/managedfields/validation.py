"""
Does a value fit its type, and if not: why, in the API server's own words.

The question is asked of every object that is merged or compared, the reasons only of those that
do not fit.

Follows structured-merge-diff 6.3 typed/validate.go validatingObjectWalker.validate.
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
from kube_sandbox.managedfields.types import Atom

_MESSAGES = {
    "numeric": "expected numeric (int or float), got {type}",
    "string": "expected string, got &value.valueUnstructured{{Value:{literal}}}",
    "boolean": "expected boolean, got &{{{plain}}}",
    "untyped": "expected any scalar, got &{{{plain}}}",
}


def is_valid(value: Any, atom: Atom, *, may_repeat: bool) -> bool:
    """Return whether a value fits; `may_repeat` lets several items of a list have one name."""
    if type(value) is dict:
        if atom.map is None:
            return False
        map_kind = atom.map
        named, element = map_kind.fields, map_kind.element
        for key, child in value.items():
            map_atom = named.get(key) or element
            if map_atom is None:
                return False
            if type(child) in map_atom.accepts:
                continue
            if not is_valid(child, map_atom, may_repeat=may_repeat):
                return False
        return True
    if type(value) is list:
        if atom.list is None:
            return False
        kind = atom.list
        if not kind.is_atomic:
            if not all(has_path_element(item, kind) for item in value):
                return False
            if not may_repeat and len({step_of(item, kind) for item in value}) < len(value):
                return False
        list_atom = kind.element
        return all(
            type(item) in list_atom.accepts or is_valid(item, list_atom, may_repeat=may_repeat)
            for item in value
        )
    return value is None or type(value) in atom.accepts


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
        kind = atom.map
        found: _Wrong = []
        for key, child in value.items():
            map_atom = kind.fields.get(key) or kind.element
            if map_atom is None:
                # Validation stops at the first unknown element.
                return [*found, (f".{key}", "field not declared in schema")]
            found += [
                (f".{key}{path}", text) for path, text in _find_errors(child, map_atom, may_repeat)
            ]
        return found
    if type(value) is list and atom.list is not None:
        list_kind = atom.list
        find_list_errors: _Wrong = []
        seen: set[str] = set()
        for place, item in enumerate(value):
            list_shown = f"[{place}]"
            if not list_kind.is_atomic:
                try:
                    step = step_of(item, list_kind)
                except UnnamedItemError as reason:
                    return [*find_list_errors, ("", f"element {place}: {reason}")]
                list_shown = step_text(step, applied_number_text)
                if step in seen and not may_repeat:
                    find_list_errors.append(("", f"duplicate entries for key {list_shown}"))
                seen.add(step)
            find_list_errors += [
                (f"{list_shown}{path}", text)
                for path, text in _find_errors(item, list_kind.element, may_repeat)
            ]
        return find_list_errors
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
