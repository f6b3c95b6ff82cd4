"""
The syntax tree of an expression.

Macros (`all`, `map`, `cel.bind`, …) stay nodes of their own instead of being expanded into
loops: error messages then name the macro, and the compiler can optimize it.

Every node has two positions. `offset` is where cel-go would point (the operator, the dot of
a selection, the parenthesis of a call); it decides the line, column and caret of error
texts. `start` and `end` span what a person would underline: the field's name, not its dot.
Both count code points in the expression's text.

`type` is filled in by the checker; until then it is None.
"""

from dataclasses import dataclass, field

from kube_cel.types import Type


@dataclass(slots=True, eq=False)
class Node:
    """What all nodes have."""

    offset: int
    start: int
    end: int
    type: Type | None = field(default=None, init=False)


@dataclass(slots=True, eq=False)
class Literal(Node):
    """A constant. `kind` is a CEL type name: bool, int, uint, double, string, bytes, null_type."""

    kind: str
    value: bool | int | float | str | bytes | None


@dataclass(slots=True, eq=False)
class Ident(Node):
    """A name; `absolute` when written with a leading dot."""

    name: str
    absolute: bool = False


@dataclass(slots=True, eq=False)
class Select(Node):
    """`operand.name`."""

    operand: Node
    name: str


@dataclass(slots=True, eq=False)
class Has(Node):
    """`has(operand.name)`."""

    operand: Node
    name: str


@dataclass(slots=True, eq=False)
class Call(Node):
    """
    A function, method or operator.

    Operators carry cel-go's names: `_+_`, `_?_:_`, `!_`, `-_`, `@in`, `_[_]`, `_[?_]`, and `_?._`
    for optional selection, whose second argument is a string literal. `target` is the receiver
    of a method; the checker moves a namespace (`hash` in `hash.sha256`) into the name.
    """

    target: Node | None
    function: str
    arguments: list[Node]


@dataclass(slots=True, eq=False)
class ListLiteral(Node):
    """`[a, ?b]`; `optional` holds the indices marked with `?`."""

    elements: list[Node]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class Entry:
    """One `key: value` of a map literal, `optional` when marked with `?`."""

    key: Node
    value: Node
    optional: bool = False


@dataclass(slots=True, eq=False)
class MapLiteral(Node):
    """`{k: v, ?k: v}`."""

    entries: list[Entry]


@dataclass(slots=True, eq=False)
class Message(Node):
    """`name{field: value}`, which is grammar and nothing else: there are no such types."""

    name: str
    values: list[Node]


@dataclass(slots=True, eq=False)
class Macro(Node):
    """
    A macro that binds names: a comprehension, `cel.bind`, `optMap`, `optFlatMap`, `sortBy`.

    `operand` is evaluated outside the scope of `variables`, `bodies` inside it. With a filter
    (`map` of three arguments) the filter is the first body.
    """

    name: str
    operand: Node
    variables: list[str]
    bodies: list[Node]


def children(node: Node) -> list[Node]:
    """List the nodes directly below, in the order they are written."""
    match node:
        case Select(operand=operand) | Has(operand=operand):
            return [operand]
        case Call(target=None, arguments=arguments):
            return arguments
        case Call(target=target, arguments=arguments) if target is not None:
            return [target, *arguments]
        case ListLiteral(elements=elements):
            return elements
        case MapLiteral(entries=entries):
            return [part for entry in entries for part in (entry.key, entry.value)]
        case Message(values=values):
            return values
        case Macro(operand=operand, bodies=bodies):
            return [operand, *bodies]
        case _:
            return []


def dotted(node: Node) -> str | None:
    """Return `a.b.c` for a chain of selections on a name, else None."""
    parts: list[str] = []
    while isinstance(node, Select):
        parts.append(node.name)
        node = node.operand
    if not isinstance(node, Ident) or node.absolute:
        return None
    parts.append(node.name)
    return ".".join(reversed(parts))


MAX_DEPTH = 250
TOO_NESTED = f"expression recursion limit exceeded: {MAX_DEPTH}"
TOO_DEEP = "max recursion depth exceeded"

# Operations that add no level: chains of && and || are balanced, the others do not repeat.
_FLAT = frozenset(("!_", "-_", "_&&_", "_||_"))


def depth(tree: Node) -> int:
    """
    Count the levels of selections, methods and operations, as cel-go does.

    cel-go limits two things to `MAX_DEPTH`. How deep brackets, operators and conditionals are
    nested is counted while parsing. How many levels the finished tree has is counted here: a long
    chain of selections or additions is not nested, but deep.
    """
    deepest = 0
    waiting = [(tree, 0)]
    while waiting:
        node, level = waiting.pop()
        if isinstance(node, Call) and node.target is None:
            is_operation = not node.function.removeprefix(".").isidentifier()
            adds_level = is_operation and node.function not in _FLAT
        else:
            adds_level = isinstance(node, Call | Select | Has | Macro)
        if adds_level:
            level += 1
        deepest = max(deepest, level)
        waiting += [(child, level) for child in children(node)]
    return deepest
