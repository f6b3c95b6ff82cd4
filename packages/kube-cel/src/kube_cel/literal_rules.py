"""
What the API server demands of literals in validation rules, beyond their types.

Lists and maps may not mix types, except as arguments of `format`, and constant durations,
timestamps and patterns must be valid. kro demands none of it; for its expressions nothing here
applies.
"""

from collections.abc import Callable, Iterator, Mapping

import re2

from kube_cel.environment import Environment
from kube_cel.issues import Issue
from kube_cel.syntax_tree import Call, ListLiteral, Literal, MapLiteral, Node, children
from kube_cel.time_formats import parse_duration, parse_timestamp
from kube_cel.types import DYN, Type, format_for_message


def check_literals(tree: Node, env: Environment) -> Iterator[Issue]:
    """Look at the literals of a typed tree."""
    if env.profile.mixes_literals:
        return
    for node, may_mix in _walk(tree):
        if isinstance(node, ListLiteral) and not may_mix:
            yield from _check_list(node)
        elif isinstance(node, MapLiteral) and not may_mix:
            yield from _check_map(node)
        elif isinstance(node, Call) and node.function in _PARSERS and node.arguments:
            yield from _check_text(node.function, node.arguments[0])


def _walk(tree: Node) -> Iterator[tuple[Node, bool]]:
    """List all nodes, each with whether it is below a call that takes mixed lists."""
    stack = [(tree, False)]
    while stack:
        node, may_mix = stack.pop()
        yield node, may_mix
        may_mix = may_mix or (isinstance(node, Call) and node.function == "format")
        stack.extend((child, may_mix) for child in children(node))


def _check_list(node: ListLiteral) -> Iterator[Issue]:
    found = [_type_of(element, i in node.optional) for i, element in enumerate(node.elements)]
    for element, actual in zip(node.elements, found, strict=True):
        if actual != found[0]:
            yield _mismatch(element, found[0], actual)
            return


def _check_map(node: MapLiteral) -> Iterator[Issue]:
    keys = [_type_of(entry.key) for entry in node.entries]
    values = [_type_of(entry.value, entry.optional) for entry in node.entries]
    for entry, key, value in zip(node.entries, keys, values, strict=True):
        if key != keys[0]:
            yield _mismatch(entry.key, keys[0], key)
        if value != values[0]:
            yield _mismatch(entry.value, values[0], value)


def _type_of(node: Node, is_optional: bool = False) -> Type:
    found = node.type or DYN
    return found.parameters[0] if is_optional and found.parameters else found


def _mismatch(node: Node, expected: Type, actual: Type) -> Issue:
    message = (
        f"expected type '{format_for_message(expected)}' but found '{format_for_message(actual)}'"
    )
    return Issue(message, node.offset, node.start, node.end)


def _check_text(function: str, node: Node) -> Iterator[Issue]:
    if not isinstance(node, Literal) or not isinstance(node.value, str):
        return
    try:
        _PARSERS[function](node.value)
    except (ValueError, re2.error):
        yield Issue(f"invalid {function} argument", node.offset, node.start, node.end)


def _parse_pattern(pattern: str) -> object:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


_PARSERS: Mapping[str, Callable[[str], object]] = {
    "duration": parse_duration,
    "timestamp": parse_timestamp,
    "matches": _parse_pattern,
}
