"""
Type checking: writes the type of every node into the tree, or raises all issues found.

`check` walks the tree once, bottom up. The rules are in `inference`; what types cannot express
about literals is checked afterwards (`literal_checks`).

Python's stack is limited and an expression may be hundreds of levels deep. A level costs one frame
here (two on Python 3.11), a chain of selections costs none.
"""

from collections.abc import Callable
from typing import Any

from kube_cel.environment import Environment
from kube_cel.inference import Inference, bind_variables, result_type
from kube_cel.issues import CheckError, Issue
from kube_cel.literal_checks import check_format_calls, check_literals
from kube_cel.syntax_tree import (
    Call,
    Has,
    Ident,
    ListLiteral,
    Literal,
    Macro,
    MapLiteral,
    Message,
    Node,
    Select,
    dotted,
)
from kube_cel.types import (
    BOOL,
    ERROR,
    PRIMITIVES,
    STRING,
    Type,
    TypeTooLarge,
    list_of,
    map_of,
    type_of,
)


def check(tree: Node, env: Environment, text: str) -> Type:
    """
    Type a tree in place and return the type of the whole.

    A function in a namespace is rewritten on the way: `hash.sha256(x)` is parsed as a method
    of `hash`, and becomes a call of the function `hash.sha256`.
    """
    checker = _Checker(env)
    try:
        issues = checker.check(tree)
    except RecursionError:
        issues = [Issue("max recursion depth exceeded", tree.offset, tree.start, tree.end)]
    except TypeTooLarge as error:
        issues = [Issue(str(error), tree.offset, tree.start, tree.end)]
    if issues:
        raise CheckError(text, issues)
    return tree.type or ERROR


class _Checker:
    """The walk over one tree."""

    __slots__ = ("_functions", "_open", "_scope", "env", "format_calls", "inference")

    def __init__(self, env: Environment) -> None:
        self.env = env
        self.inference = Inference(env)
        self.format_calls: list[Call] = []
        self._functions = env.functions
        self._scope: dict[str, Type] = {}  # what macros bind, innermost wins
        self._open: list[Node] = []  # nodes whose type still depends on type variables

    def check(self, tree: Node) -> list[Issue]:
        """Type a tree and return the issues; literals are checked only if all types are right."""
        _VISITS[tree.__class__](self, tree)
        if self.inference.issues:
            return self.inference.issues
        # Write what type variables have come to mean into the nodes that depend on them.
        for node in self._open:
            if node.type is not None:
                node.type = self.inference.substitution.close(node.type)
        return [*check_format_calls(self.format_calls, self.env), *check_literals(tree, self.env)]

    def _typed(self, node: Node, found: Type) -> Type:
        node.type = found
        if found.is_open:
            self._open.append(node)
        return found

    def literal(self, node: Literal) -> Type:
        """A constant carries its type."""
        found = node.type = PRIMITIVES[node.kind]
        return found

    def ident(self, node: Ident) -> Type:
        """A name is bound by a macro, or a variable, or names a type."""
        name = node.name
        found = None if node.absolute else self._scope.get(name)
        if found is None:
            found = self.env.variables.get(name) or self._type_name(name)
        if found is None:
            shown = f".{name}" if node.absolute else name
            found = self.inference.undeclared_name(node, shown, self._scope)
        return self._typed(node, found)

    def _type_name(self, name: str) -> Type | None:
        described = self.env.type_names.get(name)
        return None if described is None else type_of(described)

    def select(self, node: Select) -> Type:
        """A chain of selections is typed from its root on; or it is a type's dotted name."""
        chain = [node]
        operand = node.operand
        while isinstance(operand, Select):
            chain.append(operand)
            operand = operand.operand
        found: Type | None = None
        if (
            isinstance(operand, Ident)
            and operand.name not in self.env.variables
            and operand.name not in self._scope
        ):
            # The chain, outermost selection first, may begin with the dotted name of a type.
            for place, selection in enumerate(chain):
                found = self._type_name(dotted(selection) or "")
                if found is not None:
                    del chain[place:]
                    self._typed(selection, found)
                    break
        if found is None:
            found = _VISITS[operand.__class__](self, operand)
        for selection in reversed(chain):
            found = self._typed(selection, self.inference.field(selection, found, selection.name))
        return found

    def has(self, node: Has) -> Type:
        """A presence test requires that the type has the field, too."""
        owner = _VISITS[node.operand.__class__](self, node.operand)
        self.inference.field(node, owner, node.name)
        node.type = BOOL
        return BOOL

    def call(self, node: Call) -> Type:
        """The type of a call is the result of the overload that accepts its arguments."""
        function = node.function
        if function == "_?._":
            return self._optional_select(node)
        arguments = [_VISITS[argument.__class__](self, argument) for argument in node.arguments]
        if function in _LOGICAL:
            logical = BOOL
            for argument, given in zip(node.arguments, arguments, strict=True):
                if not self.inference.require_bool(argument, given):
                    logical = ERROR
            node.type = logical
            return logical
        target = node.target
        if isinstance(target, Ident) and f"{target.name}.{function}" in self._functions:
            # A namespace wins over a variable of that name. All namespaces are one word long.
            function = node.function = f"{target.name}.{function}"
            target = node.target = None
        elif function[0] == "." and function[1:] in self._functions:
            function = node.function = function[1:]
        if target is not None:
            arguments.insert(0, _VISITS[target.__class__](self, target))
            if function == "format":
                self.format_calls.append(node)
        found = self.inference.call(node, function, tuple(arguments), is_member=target is not None)
        return self._typed(node, found)

    def _optional_select(self, node: Call) -> Type:
        operand, name = node.arguments
        owner = _VISITS[operand.__class__](self, operand)
        name.type = STRING
        text = name.value if isinstance(name, Literal) and isinstance(name.value, str) else ""
        found = self.inference.field(node, owner, text, is_optional=True)
        return self._typed(node, found)

    def list_literal(self, node: ListLiteral) -> Type:
        """A list's elements are of one type, or of any."""
        element: Type | None = None
        for index, written in enumerate(node.elements):
            found = _VISITS[written.__class__](self, written)
            if index in node.optional:
                found = self.inference.unwrap_optional(written, found)
            element = self.inference.join(element, found)
        return self._typed(node, list_of(element or self.inference.substitution.fresh()))

    def map_literal(self, node: MapLiteral) -> Type:
        """A map's keys are of one type, or of any; so are its values."""
        key: Type | None = None
        value: Type | None = None
        for entry in node.entries:
            key = self.inference.join(key, _VISITS[entry.key.__class__](self, entry.key))
            found = _VISITS[entry.value.__class__](self, entry.value)
            if entry.optional:
                found = self.inference.unwrap_optional(entry.value, found)
            value = self.inference.join(value, found)
        fresh = self.inference.substitution.fresh
        return self._typed(node, map_of(key or fresh(), value or fresh()))

    def message(self, node: Message) -> Type:
        """A message literal has no known type."""
        return self._typed(node, self.inference.no_message(node, node.name))

    def macro(self, node: Macro) -> Type:
        """A macro's bodies see the names it binds; its operand does not."""
        if node.name == "cel.bind" and not self.env.profile.has_bindings:
            return self._typed(node, self.inference.undeclared_name(node, "bind", {}))
        operand = _VISITS[node.operand.__class__](self, node.operand)
        bound = bind_variables(self.inference, node, operand)
        outside, self._scope = self._scope, {**self._scope, **bound}
        self.inference.enter_macro()
        bodies = [_VISITS[body.__class__](self, body) for body in node.bodies]
        self._scope = outside
        return self._typed(node, result_type(self.inference, node, operand, bound, bodies))


_LOGICAL = frozenset({"_&&_", "_||_"})

_VISITS: dict[type[Node], Callable[[_Checker, Any], Type]] = {
    Literal: _Checker.literal,
    Ident: _Checker.ident,
    Select: _Checker.select,
    Has: _Checker.has,
    Call: _Checker.call,
    ListLiteral: _Checker.list_literal,
    MapLiteral: _Checker.map_literal,
    Message: _Checker.message,
    Macro: _Checker.macro,
}
