"""
What an expression reads, as paths: `schema.spec.?env`, `list[0].name`, `labels["app"]`.

The graph needs to know only which nodes an expression needs; whoever looks for the line behind a
value needs the field. So optional selections and constant indices are followed here, too. Names
that the expression binds itself are no references.
"""

from collections.abc import Container, Iterator
from dataclasses import dataclass

from kube_cel.interpolation import NestedExpression, Template, scan
from kube_cel.issues import ParseError
from kube_cel.parser import parse
from kube_cel.syntax_tree import Call, Has, Ident, Literal, Macro, Node, Select, children
from kube_objects.problems import Path

_INDEX = frozenset(("_[_]", "_[?_]", "_?._"))
_FALLBACK = frozenset(("orValue", "value"))


@dataclass(frozen=True, slots=True)
class Read:
    """
    A field that an expression reads, and where it says so in the value it stands in.

    `is_whole` when the value of the field is the value of the expression, so that what lies below
    the one lies below the other.
    """

    path: Path
    start: int
    end: int
    is_whole: bool = False


def scanned(text: object) -> Template | None:
    """Take a value of a template apart; `None` if there is no expression in it."""
    if not isinstance(text, str):
        return None
    try:
        found = scan(text)
    except NestedExpression:
        return None
    return None if found.is_literal else found


def reads(template: Template, known: Container[str]) -> tuple[Read, ...]:
    """Return what the expressions of a value read of known names, each field once."""
    found: dict[Path, Read] = {}
    for piece in template.expressions:
        try:
            tree = parse(piece.text)
        except ParseError:
            continue
        whole = _without_fallback(tree) if template.is_standalone else None
        for node, path in _chains(tree, known):
            root = _root(node)
            start, end = piece.start + root.start, piece.start + node.end
            found.setdefault(path, Read(path, start, end, node is whole))
    return tuple(found.values())


def _without_fallback(tree: Node) -> Node:
    """Look through `.orValue(…)`: mostly, the value is that of the field."""
    while isinstance(tree, Call) and tree.function in _FALLBACK and tree.target is not None:
        tree = tree.target
    return tree


def _chains(tree: Node, known: Container[str]) -> Iterator[tuple[Node, Path]]:
    """Give every chain of selections on a known name, the outermost of each."""
    no_names: frozenset[str] = frozenset()
    waiting = [(tree, no_names)]
    while waiting:
        node, bound = waiting.pop()
        if isinstance(node, Macro):
            inner = bound.union(node.variables)
            waiting += [(body, inner) for body in reversed(node.bodies)]
            waiting.append((node.operand, bound))
            continue
        path = _path(node)
        if path is None:
            waiting += [(child, bound) for child in reversed(children(node))]
        elif path[0] in known and path[0] not in bound:
            yield node, path


def _path(node: Node) -> Path | None:
    """Return `a.b[0].c` as steps, or `None` if a node is something else."""
    steps: list[str | int] = []
    while not isinstance(node, Ident):
        step = _step(node)
        if step is None:
            return None
        node, key = step
        steps.append(key)
    if node.absolute:
        return None
    return (node.name, *reversed(steps))


def _step(node: Node) -> tuple[Node, str | int] | None:
    """Return what a selection selects from, and its key."""
    match node:
        case Select(operand=operand, name=name) | Has(operand=operand, name=name):
            return operand, name
        case Call(target=None, function=function, arguments=[operand, Literal(value=key)]):
            if function not in _INDEX or not isinstance(key, str | int):
                return None
            return None if isinstance(key, bool) else (operand, key)
        case _:
            return None


def _root(node: Node) -> Node:
    while (step := _step(node)) is not None:
        node = step[0]
    return node
