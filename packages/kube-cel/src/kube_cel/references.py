"""
Which names, fields and functions an expression uses.

Uses the syntax tree alone, before types are known: a graph of dependencies can be built from it,
and a misspelt name is reported with its position. Names bound by the expression itself (loop
variables, `cel.bind`) are not references; the range of a loop is outside its scope.

Trees may be deeper than Python's stack, so no function here recurses.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field

from kube_cel.syntax_tree import (
    Call,
    Has,
    Ident,
    Literal,
    Macro,
    MapLiteral,
    Node,
    Select,
    children,
    dotted,
)

TYPE_NAMES = frozenset(
    (
        *("bool", "bytes", "double", "dyn", "int", "list", "map", "null_type", "string", "type"),
        *("uint", "optional_type", "google.protobuf.Duration", "google.protobuf.Timestamp"),
        *("kubernetes.Quantity", "kubernetes.Semver", "kubernetes.URL", "net.CIDR", "net.IP"),
        *("kro.run.Condition", "kro.run.Runtime"),
    )
)
"""Names that stand for types, as in `type(x) == int`."""

_OMIT = "omit"


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the expression's text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class References:
    """
    What an expression uses, everything in order of appearance and only once.

    `paths` are what is read of the known identifiers, as far as it is written with dots:
    `deployment.status.replicas`; a path ends before an index, an optional field or a call.
    `spans` tell where an identifier, known or not, is used first; `function_spans` the same
    of unknown functions and of `omit`.
    """

    identifiers: tuple[str, ...]
    unknown: tuple[str, ...]
    unknown_functions: tuple[str, ...]
    paths: tuple[str, ...]
    uses_omit: bool
    spans: Mapping[str, Span]
    function_spans: Mapping[str, Span]


def find_references(tree: Node, known: Container[str], functions: Container[str]) -> References:
    """
    Find what a tree refers to, given the known identifiers and the declared functions.

    A known name is a reference even if a type is called so, too. `hash.sha256(x)` uses no name
    `hash` if that function is declared. Unknown methods are left to the checker: whether
    there is such a method depends on the type before the dot.
    """
    return _Search(known, functions).run(tree)


@dataclass(slots=True)
class _Search:
    """The findings so far; the dicts are ordered sets that remember the first place."""

    known: Container[str]
    functions: Container[str]
    found: dict[str, Span] = field(default_factory=dict)
    unknown: dict[str, Span] = field(default_factory=dict)
    unknown_functions: dict[str, Span] = field(default_factory=dict)
    omits: dict[str, Span] = field(default_factory=dict)
    paths: dict[str, None] = field(default_factory=dict)

    def run(self, tree: Node) -> References:
        no_names: frozenset[str] = frozenset()
        waiting = [(tree, no_names)]
        while waiting:
            node, scope = waiting.pop()
            if isinstance(node, Macro):
                inner = scope.union(node.variables)
                waiting += [(body, inner) for body in reversed(node.bodies)]
                waiting.append((node.operand, scope))
            else:
                below = self._visit(node, scope)
                waiting += [(child, scope) for child in reversed(below)]
        return References(
            identifiers=tuple(self.found),
            unknown=tuple(self.unknown),
            unknown_functions=tuple(self.unknown_functions),
            paths=tuple(self.paths),
            uses_omit=bool(self.omits),
            spans={**self.found, **self.unknown},
            function_spans={**self.unknown_functions, **self.omits},
        )

    def _visit(self, node: Node, scope: frozenset[str]) -> list[Node]:
        """Note what a node itself uses, and return the nodes below that are still to visit."""
        if isinstance(node, Call):
            if node.target is not None:
                # The receiver may be a part of the function's name: `hash.sha256`.
                namespace = dotted(node.target)
                is_namespaced = (
                    namespace is not None
                    and f"{namespace}.{node.function}" in self.functions
                    and namespace.partition(".")[0] not in scope
                )
                return node.arguments if is_namespaced else children(node)
            if node.function.removeprefix(".").isidentifier():
                called = Span(node.start, node.end)
                if node.function == _OMIT:
                    self.omits.setdefault(_OMIT, called)
                if node.function not in self.functions:
                    self.unknown_functions.setdefault(node.function, called)
            return node.arguments
        # Follow `a.b.c` down to `a`.
        root: Node = node
        fields: list[str] = []
        while isinstance(root, Select | Has):
            fields.append(root.name)
            root = root.operand
        if isinstance(root, Ident):
            path = ".".join((root.name, *reversed(fields)))
            span = Span(root.start, root.end)
            if root.name not in scope or root.absolute:
                if root.name in self.known and not root.absolute:
                    self.found.setdefault(root.name, span)
                    self.paths.setdefault(path)
                elif root.name not in TYPE_NAMES and path not in TYPE_NAMES:
                    # A leading dot is not looked up: with one, even a known name is unknown.
                    self.unknown.setdefault(f".{root.name}" if root.absolute else root.name, span)
            return []
        return children(node) if root is node else [root]


@dataclass(frozen=True, slots=True)
class LiteralText:
    """A string written out in the expression, and where."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class DeclaredCondition:
    """`runtime.newCondition({…})`: its type and status, as far as they are literals."""

    type: LiteralText | None
    status: LiteralText | None
    span: Span


@dataclass(frozen=True, slots=True)
class ConditionLookup:
    """`runtime.condition(object, type)`: whose condition is read, and which if it is a literal."""

    object_name: str | None  # None if computed
    type: LiteralText | None
    span: Span


ConditionUse = DeclaredCondition | ConditionLookup


def condition_literals(tree: Node) -> tuple[ConditionUse, ...]:
    """Find the conditions an expression declares and looks up, outermost and leftmost first."""
    uses: list[ConditionUse] = []
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        waiting += reversed(children(node))
        use = _condition_use(node)
        if use is not None:
            uses.append(use)
    return tuple(uses)


def _condition_use(node: Node) -> ConditionUse | None:
    if not isinstance(node, Call) or not isinstance(node.target, Ident):
        return None
    if node.target.name != "runtime" or node.target.absolute:
        return None
    span = Span(node.start, node.end)
    match node.function, node.arguments:
        case "newCondition", [MapLiteral() as fields]:
            values: dict[str, LiteralText] = {}
            for entry in fields.entries:
                key, value = _literal_text(entry.key), _literal_text(entry.value)
                if key and value:
                    values.setdefault(key.text, value)
            return DeclaredCondition(values.get("type"), values.get("status"), span)
        case "condition", [subject, wanted]:
            return ConditionLookup(dotted(subject), _literal_text(wanted), span)
        case _:
            return None


def _literal_text(node: Node) -> LiteralText | None:
    if isinstance(node, Literal) and isinstance(node.value, str):
        return LiteralText(node.value, Span(node.start, node.end))
    return None
