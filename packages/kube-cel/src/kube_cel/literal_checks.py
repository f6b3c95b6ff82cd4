"""
Checks of literals that types cannot express.

`check_format_calls` compares a literal format string of `format` with its literal arguments. cel-go
does so when it checks an expression, so that one which fails at every evaluation is rejected early.
The messages are cel-go's; there are two sets of them, because validation rules of the API server
use an older version of the string library. A clause is `%`, an optional precision `.N`, and a
letter; `%%` is a percent sign.

`check_literals` holds further checks of the API server in validation rules: lists and maps may not
mix types, except as arguments of `format`, and constant durations, timestamps and regular
expressions must be valid. `Environment.kro()` has none of these rules.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import re2

from kube_cel.environment import Environment
from kube_cel.issues import Issue
from kube_cel.syntax_tree import Call, ListLiteral, Literal, MapLiteral, Node, children
from kube_cel.time_formats import parse_duration, parse_timestamp
from kube_cel.types import DYN, Type, format_for_message

_TEXTUAL = frozenset(
    {
        *("list", "map", "int", "uint", "double", "bool", "string", "bytes"),
        *("google.protobuf.Timestamp", "google.protobuf.Duration", "type", "null_type"),
    }
)
_TEXT_ERROR = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types,"
    " durations, and timestamps"
)


@dataclass(frozen=True, slots=True)
class _Clause:
    """The types that a letter accepts, and the message for all others."""

    kinds: frozenset[str]
    complaint: str
    checks_elements: bool = False  # at the elements of literals, too


_STRING = _Clause(_TEXTUAL, _TEXT_ERROR, checks_elements=True)
_NUMBERS = frozenset({"int", "uint", "double"})
_INTEGERS = frozenset({"int", "uint"})
_DIGITS_AND_BOOLS = _INTEGERS | {"bool"}
_HEX_KINDS = _INTEGERS | {"string", "bytes"}
_FLOATING = frozenset({"double", "string"})  # strings may spell NaN and the infinities


def _numeric(clause: str, takes: str) -> str:
    return f"{clause} clause can only be used on {takes}"


_HEX = _Clause(_HEX_KINDS, "only ints, uints, bytes, and strings can be formatted as hex")
_CLAUSES: Mapping[str, _Clause] = {
    "s": _STRING,
    "d": _Clause(_NUMBERS, _numeric("decimal", "ints, uints, and doubles")),
    "f": _Clause(_NUMBERS, _numeric("fixed-point", "ints, uints, and doubles")),
    "e": _Clause(_NUMBERS, _numeric("scientific", "ints, uints, and doubles")),
    "b": _Clause(_DIGITS_AND_BOOLS, "only ints, uints, and bools can be formatted as binary"),
    "x": _HEX,
    "X": _HEX,
    "o": _Clause(_INTEGERS, _numeric("octal", "ints and uints")),
}

_OLD_HEX = _Clause(_HEX_KINDS, "only integers, byte buffers, and strings can be formatted as hex")
_CLAUSES_BEFORE_4: Mapping[str, _Clause] = {
    "s": _STRING,
    "d": _Clause(_INTEGERS, _numeric("decimal", "integers")),
    "f": _Clause(_FLOATING, _numeric("fixed-point", "doubles")),
    "e": _Clause(_FLOATING, _numeric("scientific", "doubles")),
    "b": _Clause(_DIGITS_AND_BOOLS, "only integers and bools can be formatted as binary"),
    "x": _OLD_HEX,
    "X": _OLD_HEX,
    "o": _Clause(_INTEGERS, _numeric("octal", "integers")),
}

_MAX_PRECISION = 100  # since version 5; before, there was no limit
_MAX_INT = 2**63 - 1


class _Mismatch(Exception):  # noqa: N818 - caught by its only caller
    """What is wrong, and with which node if not with the call."""

    def __init__(self, message: str, node: Node | None = None) -> None:
        super().__init__(message)
        self.node = node


def check_format_calls(calls: Iterable[Call], env: Environment) -> list[Issue]:
    """Return the issues of typed `format` calls; only those with literals are checked."""
    found: list[Issue] = []
    for call in calls:
        try:
            _check_call(call, env.profile.strings_version)
        except _Mismatch as mismatch:
            node = mismatch.node or call
            found.append(
                Issue(str(mismatch), node.offset, node.start, node.end, code="invalid-format")
            )
    return found


def _check_call(call: Call, version: int) -> None:
    if not isinstance(call.target, Literal) or not isinstance(call.arguments[0], ListLiteral):
        return
    text, arguments = call.target.value, call.arguments[0].elements
    if not isinstance(text, str):
        return
    expected = 0
    position = text.find("%")
    while position != -1:
        position += 1
        if text[position : position + 1] == "%":
            position += 1
        else:
            if position >= len(text):
                raise _Mismatch("unexpected end of string")
            if expected >= len(arguments):
                raise _Mismatch(f"index {expected} out of range")
            clause, position = _read_clause(text, position, version)
            _check_argument(clause, arguments[expected])
            expected += 1
        position = text.find("%", position)
    if len(arguments) > expected:
        raise _Mismatch(
            "too many arguments supplied to string.format"
            f" (expected {expected}, got {len(arguments)})"
        )


def _read_clause(text: str, position: int, version: int) -> tuple[_Clause, int]:
    """Read what follows a `%`; return the clause and where it ends."""
    if text[position] == ".":
        start = position + 1
        end = start
        while text[end : end + 1].isdecimal() and text[end].isascii():
            end += 1
        digits = text[start:end]
        conversion = (
            f'error while converting precision to integer: strconv.Atoi: parsing "{digits}"'
        )
        if not digits:
            complaint = f"{conversion}: invalid syntax"
        elif len(digits.lstrip("0")) > len(str(_MAX_INT)) or int(digits) > _MAX_INT:
            complaint = f"{conversion}: value out of range"
        elif version >= 5 and int(digits) > _MAX_PRECISION:
            complaint = (
                f"precision {int(digits)} exceeds maximum allowed precision {_MAX_PRECISION}"
            )
        else:
            complaint = ""
        if end >= len(text):
            complaint = "could not find end of precision specifier"
        if complaint:
            raise _Mismatch(
                f"could not parse formatting clause: error while parsing precision: {complaint}"
            )
        position = end
    clauses = _CLAUSES if version >= 4 else _CLAUSES_BEFORE_4
    letter = text[position]
    if letter not in clauses:
        # cel-go reads bytes: of a longer character it sees, and names, only the first one.
        shown = chr(letter.encode(errors="replace")[0])
        raise _Mismatch(
            f'could not parse formatting clause: unrecognized formatting clause "{shown}"'
        )
    return clauses[letter], position + 1


def _check_argument(clause: _Clause, argument: Node) -> None:
    stack = [argument]
    while stack:
        node = stack.pop()
        if node.type is not None and not (
            node.type.kind == "dyn" or node.type.kind in clause.kinds
        ):
            shown = node.type.name or node.type.kind
            raise _Mismatch(f"error during formatting: {clause.complaint}, was given {shown}", node)
        if clause.checks_elements:
            if isinstance(node, ListLiteral):
                parts: list[Node] = node.elements
            elif isinstance(node, MapLiteral):
                parts = [part for entry in node.entries for part in (entry.key, entry.value)]
            else:
                parts = []
            stack.extend(reversed(parts))


def check_literals(tree: Node, env: Environment) -> Iterator[Issue]:
    """Yield what the API server rejects in the literals of a typed tree."""
    if env.profile.mixes_literals:
        return
    stack = [(tree, False)]  # nodes, and whether they are below a call that takes mixed lists
    while stack:
        node, may_mix = stack.pop()
        if isinstance(node, ListLiteral) and not may_mix:
            found = [
                _type_of(element, i in node.optional) for i, element in enumerate(node.elements)
            ]
            for element, actual in zip(node.elements, found, strict=True):
                if actual != found[0]:
                    yield _mismatch(element, found[0], actual)
                    break
        elif isinstance(node, MapLiteral) and not may_mix:
            keys = [_type_of(entry.key) for entry in node.entries]
            values = [_type_of(entry.value, entry.optional) for entry in node.entries]
            for entry, key, value in zip(node.entries, keys, values, strict=True):
                if key != keys[0]:
                    yield _mismatch(entry.key, keys[0], key)
                if value != values[0]:
                    yield _mismatch(entry.value, values[0], value)
        elif isinstance(node, Call) and node.function in _PARSERS and node.arguments:
            text = node.arguments[0]
            if isinstance(text, Literal) and isinstance(text.value, str):
                try:
                    _PARSERS[node.function](text.value)
                except (ValueError, re2.error):
                    message = f"invalid {node.function} argument"
                    yield Issue(message, text.offset, text.start, text.end)
        may_mix = may_mix or (isinstance(node, Call) and node.function == "format")
        stack.extend((child, may_mix) for child in children(node))


def _type_of(node: Node, is_optional: bool = False) -> Type:
    found = node.type or DYN
    return found.parameters[0] if is_optional and found.parameters else found


def _mismatch(node: Node, expected: Type, actual: Type) -> Issue:
    message = (
        f"expected type '{format_for_message(expected)}' but found '{format_for_message(actual)}'"
    )
    return Issue(message, node.offset, node.start, node.end)


def _parse_pattern(pattern: str) -> object:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


_PARSERS: Mapping[str, Callable[[str], object]] = {
    "duration": parse_duration,
    "timestamp": parse_timestamp,
    "matches": _parse_pattern,
}
