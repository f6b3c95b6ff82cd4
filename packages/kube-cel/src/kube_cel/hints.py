"""
Hints: what an author probably meant.

Messages are cel-go's. A hint adds the remedy where it can be guessed: the nearest name, the missing
conversion, the spelling of a field whose name is not an identifier. No hint is better than a wrong
one.
"""

from collections.abc import Iterable, Mapping

from kube_cel.environment import Environment, ObjectDeclaration
from kube_cel.escaping import escape
from kube_cel.types import DOUBLE, INT, STRING, UINT, Type, format_type

_MAX_EDITS = 2  # edits between what was written and what was meant

_MACRO_USES: Mapping[str, str] = {
    "all": "list.all(x, condition)",
    "exists": "list.exists(x, condition)",
    "exists_one": "list.exists_one(x, condition)",
    "existsOne": "list.existsOne(index, x, condition), or exists_one with one variable",
    "filter": "list.filter(x, condition)",
    "map": "list.map(x, value) or list.map(x, condition, value)",
    "sortBy": "list.sortBy(x, key)",
    "optMap": "optional.optMap(x, value)",
    "optFlatMap": "optional.optFlatMap(x, optional)",
    "transformList": "map.transformList(key, value, element)",
    "transformMap": "map.transformMap(key, value, new value)",
    "transformMapEntry": "map.transformMapEntry(key, value, {new key: new value})",
    "has": "has(object.field)",
    "bind": "cel.bind(name, value, expression)",
}

_OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%")
_OPERATOR_SYMBOLS: Mapping[str, str] = {f"_{operator}_": operator for operator in _OPERATORS}
_NUMBERS = (INT, UINT, DOUBLE)


def suggest_name(names: Iterable[str], name: str) -> str | None:
    """Return the name nearest to a misspelt one, or None if nothing is near."""
    allowed = min(_MAX_EDITS, len(name) // 2)
    near = [(_edits(name, candidate, allowed), candidate) for candidate in names]
    distance, found = min(near, default=(allowed + 1, ""))
    return found if distance <= allowed else None


def hint_for_name(names: Iterable[str], name: str) -> str:
    """Suggest a variable for a name that is not declared."""
    return _did_you_mean(suggest_name(names, name))


def hint_for_field(env: Environment, owner: Type, name: str) -> str:
    """Return what to write instead of a field that does not exist."""
    declaration = _declaration(env, owner)
    if declaration is None:
        return ""
    if name in declaration.properties:
        escaped = escape(name)
        if escaped is not None and escaped != name:
            return f"write .{escaped} to read {name!r}"
        return f"{name!r} has no type in the schema, so expressions cannot read it"
    return _did_you_mean(suggest_name(declaration.fields, name))


def hint_for_function(functions: Iterable[str], name: str) -> str:
    """Return what to write instead of a function that does not exist."""
    if name in _MACRO_USES:
        return f"used as {_MACRO_USES[name]}"
    writable = [one for one in functions if one.replace(".", "").isidentifier()]
    return _did_you_mean(suggest_name((*writable, *_MACRO_USES), name))


def hint_for_call(env: Environment, function: str, arguments: tuple[Type, ...]) -> str:
    """Return what to change in a call no overload accepts, for the mistakes people make."""
    if function == "_[_]" and _declaration(env, arguments[0]) is not None:
        return "fields of an object are selected with a dot; only maps and lists take [ ]"
    if function not in _OPERATOR_SYMBOLS:
        return ""
    left, right = arguments
    if function == "_+_" and STRING in arguments:
        other = right if left == STRING else left
        return (
            f"convert the {format_type(other)} with string(…)"
            if (not other.parameters and other.kind not in ("object", "null_type", "type"))
            else ""
        )
    if left in _NUMBERS and right in _NUMBERS:
        return (
            f"{_OPERATOR_SYMBOLS[function]} takes numbers of one type; convert one with {left}(…)"
        )
    if "optional_type" in (left.kind, right.kind):
        return "take the value out of the optional first, with .orValue(…)"
    return ""


def _did_you_mean(found: str | None) -> str:
    return f"did you mean {found!r}?" if found else ""


def _declaration(env: Environment, owner: Type) -> ObjectDeclaration | None:
    return env.fields(owner.parameters[0] if owner.kind == "optional_type" else owner)


def _edits(written: str, meant: str, allowed: int) -> int:
    """Count insertions, deletions, replacements and swaps of neighbours between two strings."""
    if abs(len(written) - len(meant)) > allowed:
        return allowed + 1
    above: list[int] = []
    row = list(range(len(meant) + 1))
    for i, left in enumerate(written):
        above, before, row = row, above, [i + 1]
        for j, right in enumerate(meant):
            best = min(row[j] + 1, above[j + 1] + 1, above[j] + (left != right))
            if i and j and left == meant[j - 1] and written[i - 1] == right:
                best = min(best, before[j - 1] + 1)
            row.append(best)
    return row[-1]
