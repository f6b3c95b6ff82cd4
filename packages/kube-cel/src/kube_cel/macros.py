"""
Calls that are more than calls.

A macro is known by its name, the number of its arguments and whether it has a receiver. It
may bind names (`list.map(x, x + 1)`), look at the shape of its argument (`has(a.b)`) or check
and rewrite it (`runtime.newCondition({type: 'T', …})`). Which ones there are, and their error
texts, is defined by cel-go and by the kro library; the table below follows them.

`expand` turns a call into the node it means, returns the call unchanged if it is no macro,
and an `Issue` if it is one used wrongly.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kube_cel.issues import Issue
from kube_cel.syntax_tree import (
    Call,
    Entry,
    Has,
    Ident,
    ListLiteral,
    Literal,
    Macro,
    MapLiteral,
    Node,
    Select,
)

_ACCUMULATOR = "__result__"  # cel-go's name for the result of a loop, which may not be hidden
_CONDITION_KEYS = ("type", "status", "reason", "message")
_REQUIRED_CONDITION_KEYS = ("type", "status")
_SORTABLE = (ListLiteral, Select, Has, Ident, Macro, Call)

Expansion = Node | Issue
_Expander = Callable[[Call], Expansion]


@dataclass(frozen=True, slots=True)
class _Loop:
    """A macro that binds its first arguments as variables, for the others to use."""

    variables: int = 1
    complaint: str = "argument must be a simple name"
    keeps_accumulator: bool = True
    takes_dot: bool = True  # `.x` is a name, too, but one that cannot be read

    def __call__(self, call: Call) -> Expansion:
        if call.target is None:
            return call
        names: list[str] = []
        for written in call.arguments[: self.variables]:
            if not isinstance(written, Ident) or (written.absolute and not self.takes_dot):
                return _issue(written, self.complaint)
            names.append(f".{written.name}" if written.absolute else written.name)
        if len(set(names)) < len(names):
            repeated = call.arguments[len(names) - 1]
            return _issue(repeated, f"duplicate variable name: {names[-1]}")
        if self.keeps_accumulator and _ACCUMULATOR in names:
            culprit = call.arguments[names.index(_ACCUMULATOR)]
            return _issue(culprit, "iteration variable overwrites accumulator variable")
        return Macro(
            call.offset,
            call.start,
            call.end,
            call.function,
            call.target,
            names,
            call.arguments[self.variables :],
        )


_QUANTIFIER = _Loop()
_MAPPING = _Loop(complaint="argument is not an identifier")
_FILTER = _Loop(complaint="argument is not an identifier", takes_dot=False)
_PAIRS = _Loop(variables=2)


def _optional(name: str) -> _Loop:
    complaint = f"{name}() variable name must be a simple identifier"
    return _Loop(complaint=complaint, keeps_accumulator=False, takes_dot=False)


# (name, number of arguments, has a receiver)
_MACROS: dict[tuple[str, int, bool], _Expander] = {
    ("all", 2, True): _QUANTIFIER,
    ("exists", 2, True): _QUANTIFIER,
    ("exists_one", 2, True): _QUANTIFIER,
    ("map", 2, True): _MAPPING,
    ("map", 3, True): _MAPPING,
    ("filter", 2, True): _FILTER,
    ("all", 3, True): _PAIRS,
    ("exists", 3, True): _PAIRS,
    ("existsOne", 3, True): _PAIRS,
    ("exists_one", 3, True): _PAIRS,
    ("transformList", 3, True): _PAIRS,
    ("transformList", 4, True): _PAIRS,
    ("transformMap", 3, True): _PAIRS,
    ("transformMap", 4, True): _PAIRS,
    ("transformMapEntry", 3, True): _PAIRS,
    ("transformMapEntry", 4, True): _PAIRS,
    ("optMap", 2, True): _optional("optMap"),
    ("optFlatMap", 2, True): _optional("optFlatMap"),
}


def _expands(
    name: str, arguments: int, *, has_receiver: bool = True
) -> Callable[[_Expander], _Expander]:
    """Register a function as the macro of this name and number of arguments."""

    def register(macro: _Expander) -> _Expander:
        _MACROS[name, arguments, has_receiver] = macro
        return macro

    return register


def expand(call: Call) -> Expansion:
    """Return the expansion of a macro, the call itself if it is none, or an error."""
    macro = _MACROS.get((call.function, len(call.arguments), call.target is not None))
    return macro(call) if macro else call


@_expands("has", 1, has_receiver=False)
def _has(call: Call) -> Expansion:
    """Expand `has(e.f)` into a presence test; anything but a selection is an error."""
    argument = call.arguments[0]
    # A presence test is a selection, too: has(has(a.b)) is has(a.b).
    if isinstance(argument, Select | Has):
        return Has(call.offset, argument.start, argument.end, argument.operand, argument.name)
    return _issue(argument, "invalid argument to has() macro")


@_expands("sortBy", 2)
def _sort_by(call: Call) -> Expansion:
    if call.target is not None and not isinstance(call.target, _SORTABLE):
        return _issue(
            call.target,
            "sortBy can only be applied to a list, identifier, comprehension, call or select"
            " expression",
        )
    return _MAPPING(call)


@_expands("bind", 3)
def _bind(call: Call) -> Expansion:
    if not _is_name(call.target, "cel"):
        return call
    variable, value, body = call.arguments
    if not isinstance(variable, Ident) or variable.absolute:
        return _issue(variable, "cel.bind() variable names must be simple identifiers")
    return Macro(call.offset, call.start, call.end, "cel.bind", value, [variable.name], [body])


@_expands("newCondition", 1)
def _new_condition(call: Call) -> Expansion:
    if not _is_name(call.target, "runtime"):
        return call
    fields = call.arguments[0]
    if not isinstance(fields, MapLiteral):
        return _issue(fields, "runtime.newCondition: argument must be a map literal")
    entries: dict[str, Entry] = {}
    for entry in fields.entries:
        mistake = _condition_key_mistake(entry.key, entries)
        if mistake:
            return _issue(entry.key, f"runtime.newCondition: {mistake}")
        if isinstance(entry.key, Ident):
            entries[entry.key.name] = Entry(
                Literal(call.offset, entry.key.start, entry.key.end, "string", entry.key.name),
                entry.value,
            )
    for key in _REQUIRED_CONDITION_KEYS:
        if key not in entries:
            return _issue(fields, f"runtime.newCondition: '{key}' is required")
    quoted = MapLiteral(call.offset, fields.start, fields.end, list(entries.values()))
    return Call(call.offset, call.start, call.end, call.target, call.function, [quoted])


def _condition_key_mistake(key: Node, seen: dict[str, Entry]) -> str:
    allowed = ", ".join(_CONDITION_KEYS)
    if not isinstance(key, Ident):
        return f"keys must be bare identifiers ({allowed}); quoted or computed keys are not allowed"
    written = f".{key.name}" if key.absolute else key.name
    if written not in _CONDITION_KEYS:
        return f'unknown key "{written}" (allowed: {allowed})'
    return f'duplicate key "{written}"' if written in seen else ""


def _is_name(node: Node | None, name: str) -> bool:
    return isinstance(node, Ident) and node.name == name and not node.absolute


def _issue(node: Node, message: str) -> Issue:
    return Issue(message, node.offset, node.start, node.end)
