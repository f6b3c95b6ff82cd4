"""
`format` calls whose format string and argument list are literals: do they go together?

cel-go looks at those when it checks an expression, so a definition that would fail at every
evaluation fails when it is read. The texts are cel-go's; there are two sets of them, because
the API server's validation rules stay at an older version of the string library.

A clause is `%`, an optional precision `.N`, and a letter; `%%` is a percent sign.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kube_cel.environment import Environment
from kube_cel.issues import Issue
from kube_cel.syntax_tree import Call, ListLiteral, Literal, MapLiteral, Node
from kube_cel.types import Type

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
    """What a letter takes, and what is said about anything else."""

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
    """Look at typed `format` calls; calls with anything but literals are passed over."""
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
    text, arguments = call.target, call.arguments[0]
    if not isinstance(text, Literal) or not isinstance(arguments, ListLiteral):
        return
    if not isinstance(text.value, str):
        return
    wanted = _check_clauses(text.value, arguments.elements, version)
    if len(arguments.elements) > wanted:
        raise _Mismatch(
            "too many arguments supplied to string.format"
            f" (expected {wanted}, got {len(arguments.elements)})"
        )


def _check_clauses(text: str, arguments: list[Node], version: int) -> int:
    """Hold each clause against its argument; return how many arguments they want."""
    wanted = 0
    position = text.find("%")
    while position != -1:
        position += 1
        if text[position : position + 1] == "%":
            position += 1
        else:
            if position >= len(text):
                raise _Mismatch("unexpected end of string")
            if wanted >= len(arguments):
                raise _Mismatch(f"index {wanted} out of range")
            clause, position = _read_clause(text, position, version)
            _check_argument(clause, arguments[wanted])
            wanted += 1
        position = text.find("%", position)
    return wanted


def _read_clause(text: str, position: int, version: int) -> tuple[_Clause, int]:
    """Read what follows a `%`; return the clause and where it ends."""
    if text[position] == ".":
        position = _skip_precision(text, position + 1, version)
    clauses = _CLAUSES if version >= 4 else _CLAUSES_BEFORE_4
    letter = text[position]
    if letter not in clauses:
        # cel-go reads bytes: of a longer character it sees, and names, only the first one.
        shown = chr(letter.encode(errors="replace")[0])
        raise _Mismatch(
            f'could not parse formatting clause: unrecognized formatting clause "{shown}"'
        )
    return clauses[letter], position + 1


def _skip_precision(text: str, start: int, version: int) -> int:
    end = start
    while text[end : end + 1].isdecimal() and text[end].isascii():
        end += 1
    complaint = _precision_complaint(text[start:end], version)
    if end >= len(text):
        complaint = "could not find end of precision specifier"
    if complaint:
        raise _Mismatch(
            f"could not parse formatting clause: error while parsing precision: {complaint}"
        )
    return end


def _precision_complaint(digits: str, version: int) -> str:
    conversion = f'error while converting precision to integer: strconv.Atoi: parsing "{digits}"'
    if not digits:
        return f"{conversion}: invalid syntax"
    if len(digits.lstrip("0")) > len(str(_MAX_INT)) or int(digits) > _MAX_INT:
        return f"{conversion}: value out of range"
    if version >= 5 and int(digits) > _MAX_PRECISION:
        return f"precision {int(digits)} exceeds maximum allowed precision {_MAX_PRECISION}"
    return ""


def _check_argument(clause: _Clause, argument: Node) -> None:
    stack = [argument]
    while stack:
        node = stack.pop()
        if node.type is not None and not _takes(clause, node.type):
            shown = node.type.name or node.type.kind
            raise _Mismatch(f"error during formatting: {clause.complaint}, was given {shown}", node)
        if clause.checks_elements:
            stack.extend(reversed(_parts(node)))


def _takes(clause: _Clause, given: Type) -> bool:
    return given.kind == "dyn" or given.kind in clause.kinds


def _parts(node: Node) -> list[Node]:
    if isinstance(node, ListLiteral):
        return node.elements
    if isinstance(node, MapLiteral):
        return [part for entry in node.entries for part in (entry.key, entry.value)]
    return []
