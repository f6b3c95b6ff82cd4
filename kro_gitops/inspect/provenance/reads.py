"""
The fields that an expression reads, as paths: `schema.spec.?env`, `list[0].name`, `labels["app"]`.

The graph needs to know only the nodes that an expression depends on; to find the line of a value,
the field is needed. So optional selections and constant indices are followed here, too. Names that
the expression binds itself are not references.
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
    A field that an expression reads, and the position of that text in the template value.

    `is_whole` if the value of the field is the value of the expression, so that a path below the
    one is a path below the other.
    """

    path: Path
    start: int
    end: int
    is_whole: bool = False


def scanned(text: object) -> Template | None:
    """Parse a value of a template; `None` if it has no expression."""
    if not isinstance(text, str):
        return None
    try:
        found = scan(text)
    except NestedExpression:
        return None
    return None if found.is_literal else found


def reads(template: Template, known: Container[str]) -> tuple[Read, ...]:
    """Return the fields of known names that the expressions of a value read, each once."""
    found: dict[Path, Read] = {}
    for piece in template.expressions:
        try:
            tree = parse(piece.text)
        except ParseError:
            continue
        # Look through `.orValue(…)`: mostly, the value is that of the field.
        whole = tree
        while isinstance(whole, Call) and whole.function in _FALLBACK and whole.target is not None:
            whole = whole.target
        for node, root, path in _chains(tree, known):
            start, end = piece.start + root.start, piece.start + node.end
            is_whole = node is whole and template.is_standalone
            found.setdefault(path, Read(path, start, end, is_whole))
    return tuple(found.values())


def _chains(tree: Node, known: Container[str]) -> Iterator[tuple[Node, Node, Path]]:
    """Yield every chain of selections on a known name: the outermost node, the name, the path."""
    no_names: frozenset[str] = frozenset()
    waiting = [(tree, no_names)]
    while waiting:
        node, bound = waiting.pop()
        if isinstance(node, Macro):
            inner = bound.union(node.variables)
            waiting += [(body, inner) for body in reversed(node.bodies)]
            waiting.append((node.operand, bound))
            continue
        root, steps = node, list[str | int]()
        while (step := _step(root)) is not None:
            root, key = step
            steps.append(key)
        if not isinstance(root, Ident) or root.absolute:
            waiting += [(child, bound) for child in reversed(children(node))]
        elif root.name in known and root.name not in bound:
            yield node, root, (root.name, *reversed(steps))


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
