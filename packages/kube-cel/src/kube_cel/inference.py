"""
Type inference: the types of calls, fields, literals and macros.

One `Inference` serves one expression. `checker` walks the tree; this module sees nodes only to
report their position. A broken rule is reported once and yields the error type, which is accepted
everywhere, so that one mistake is not reported twice.

Where cel-go guesses, this module does not: if an argument is dyn, the result stays dyn where it
depends on it. (`x.slice(0, 1)` of an untyped `x` is a `list(dyn)`; cel-go takes its elements for
doubles once one of them is negated, and rejects whatever follows.) Elements of empty literals,
which have no value to be wrong about, follow cel-go.

cel-go expands macros into loops and types those; its messages therefore mention `_?_:_` where an
author wrote a filter. The messages and positions here are the same, without the loops.
"""

from kube_cel.environment import Environment
from kube_cel.hints import (
    hint_for_call,
    hint_for_field,
    hint_for_function,
    hint_for_name,
)
from kube_cel.issues import Issue
from kube_cel.syntax_tree import Macro, Node
from kube_cel.types import (
    BOOL,
    DYN,
    ERROR,
    INT,
    OPAQUE_NAMES,
    Type,
    format_for_message,
    format_type,
    list_of,
    map_of,
    optional_of,
)
from kube_cel.unification import Substitution, is_dynamic, may_match, most_general


class Inference:
    """What is known of one expression: its environment, its variables' types, its mistakes."""

    __slots__ = ("_library", "environment", "issues", "substitution")

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.substitution = Substitution()
        self.issues: list[Issue] = []
        self._library = environment.profile.library

    def enter_macro(self) -> None:
        """Go by what cel-go allows in a macro and ever after."""
        self._library = self.environment.profile.library_after_macro

    def report(self, node: Node, message: str, hint: str = "", code: str = "") -> Type:
        """Note a mistake; return the error type."""
        self.issues.append(Issue(message, node.offset, node.start, node.end, hint, code))
        return ERROR

    def show(self, shown: Type) -> str:
        """Print a type for a message."""
        return format_for_message(self.substitution.close(shown))

    def call(
        self, node: Node, function: str, arguments: tuple[Type, ...], *, is_member: bool
    ) -> Type:
        """Find what a call returns; the receiver of a member is the first argument."""
        call = (function, is_member, arguments)
        known = self._library.results.get(call)
        if known is not None:
            return known
        if function not in self._library.functions:
            hint = hint_for_function(self._library.functions, function)
            return self._undeclared(node, function, hint)
        result = self._resolve(function, arguments, is_member)
        if result is None:
            closed = tuple(map(self.substitution.close, arguments))
            shown = [format_for_message(argument) for argument in closed]
            receiver = f"{shown.pop(0)}." if is_member else ""
            return self.report(
                node,
                f"found no matching overload for '{function}' applied to"
                f" '{receiver}({', '.join(shown)})'",
                hint_for_call(self.environment, function, closed),
                "no-matching-overload",
            )
        self._library.remember(call, result)
        return result

    def _resolve(self, function: str, arguments: tuple[Type, ...], is_member: bool) -> Type | None:
        """Try all overloads; what they return is dyn if they disagree."""
        substitution = self.substitution
        result: Type | None = None
        for overload in self._library.candidates(function, is_member, len(arguments)):
            if not may_match(arguments, overload.parameters):
                continue
            parameters, declared = substitution.instantiate(overload)
            if not substitution.unify_all(arguments, parameters):
                continue
            returned = substitution.resolve(declared)
            result = returned if result is None or result == returned else DYN
        if result is not None and result.is_open:
            if any(is_dynamic(self.substitution.resolve(argument)) for argument in arguments):
                return self.substitution.close(result)
            return result
        return result

    def undeclared_name(self, node: Node, name: str, in_scope: dict[str, Type]) -> Type:
        """Report a name that is no variable."""
        hint = hint_for_name((*in_scope, *self.environment.variables), name)
        return self._undeclared(node, name, hint)

    def no_message(self, node: Node, name: str) -> Type:
        """Report a message literal; protobuf's own messages are not supported."""
        hint = f"write a map, {{'field': value}}, instead of {name}{{field: value}}"
        if name.startswith("google.protobuf."):
            return self.report(node, "message literals are not supported", hint)
        return self._undeclared(node, name, hint)

    def _undeclared(self, node: Node, name: str, hint: str) -> Type:
        message = f"undeclared reference to '{name}' (in container '')"
        return self.report(node, message, hint, "undeclared-reference")

    def require_bool(self, node: Node, found: Type) -> bool:
        """Return whether something is a bool, and report it if not."""
        if found is BOOL or self.substitution.unify(found, BOOL):
            return True
        self.report(node, f"expected type 'bool' but found '{self.show(found)}'")
        return False

    def field(self, node: Node, owner: Type, name: str, *, is_optional: bool = False) -> Type:
        """Return the type of a field; of an optional, or with `is_optional`, an optional."""
        owner = self.substitution.resolve(owner)
        if owner.kind == "optional_type":
            return optional_of(self._field(node, owner.parameters[0], name))
        found = self._field(node, owner, name)
        return optional_of(found) if is_optional else found

    def _field(self, node: Node, owner: Type, name: str) -> Type:
        if owner.kind == "object" and owner.name not in OPAQUE_NAMES:
            declaration = self.environment.fields(owner)
            if declaration is None:
                return self.report(node, f"unexpected failed resolution of '{format_type(owner)}'")
            found = declaration.find(name)
            if found is not None:
                return found
            hint = hint_for_field(self.environment, owner, name)
            return self.report(node, f"undefined field '{name}'", hint, "undefined-field")
        if owner.kind == "map":
            return owner.parameters[1]
        if owner.kind == "var":
            self.substitution.unify(DYN, owner)
        elif not is_dynamic(owner):
            shown = self.show(owner)
            message = f"type '{shown}' does not support field selection"
            self.report(node, message, code="no-field-selection")
        return DYN

    def join(self, previous: Type | None, current: Type) -> Type:
        """Find what the elements of a literal have in common so far."""
        if previous is None or previous is current:
            return current
        if self.substitution.unify(previous, current):
            return most_general(previous, current)
        return DYN

    def unwrap_optional(self, node: Node, found: Type) -> Type:
        """Return what is in an element or value marked with `?`."""
        found = self.substitution.resolve(found)
        if found.kind == "optional_type":
            return found.parameters[0]
        if not is_dynamic(found):
            expected = self.show(optional_of(found))
            self.report(node, f"expected type '{expected}' but found '{self.show(found)}'")
        return found


Scope = dict[str, Type]


def bind_variables(inference: Inference, node: Macro, operand: Type) -> Scope:
    """Return the types of the variables a macro binds."""
    if node.name == "cel.bind":
        return {node.variables[0]: operand}
    if node.name in ("optMap", "optFlatMap"):
        found = inference.call(node, "hasValue", (operand,), is_member=True)
        if found != ERROR:  # `value` would only fail for the same reason
            found = inference.call(node, "value", (operand,), is_member=True)
        return {node.variables[0]: found}
    # A loop runs over elements or keys; with two variables, also over their indices or values.
    has_two = len(node.variables) == 2
    ranged = inference.substitution.resolve(operand)
    if ranged.kind == "list":
        types = [INT, ranged.parameters[0]] if has_two else [ranged.parameters[0]]
    elif ranged.kind == "map":
        types = list(ranged.parameters if has_two else ranged.parameters[:1])
    else:
        variable = DYN
        if ranged.kind == "var":
            inference.substitution.unify(DYN, ranged)
        elif not is_dynamic(ranged):
            variable = inference.report(
                node if node.name == "sortBy" else node.operand,
                f"expression of type '{inference.show(ranged)}' cannot be range of a comprehension"
                " (must be list, map, or dynamic)",
                code="not-iterable",
            )
        types = [variable, variable] if has_two else [variable]
    return dict(zip(node.variables, types, strict=True))


def result_type(
    inference: Inference, node: Macro, operand: Type, scope: Scope, bodies: list[Type]
) -> Type:
    """Return the type of a macro whose operand, variables (`scope`) and bodies are typed."""
    match node.name:
        case "sortBy":
            keys = list_of(bodies[0])
            return inference.call(node, "@sortByAssociatedKeys", (operand, keys), is_member=True)
        case "cel.bind":
            return bodies[0]
        case "optMap":
            return optional_of(bodies[0])
        case "optFlatMap":
            if scope[node.variables[0]] == ERROR:
                return ERROR
            none = optional_of(inference.substitution.fresh())
            return inference.call(node, "_?_:_", (BOOL, bodies[0], none), is_member=False)
        case "all" | "exists":
            inference.require_bool(node.bodies[0], bodies[0])
            return BOOL
        case "exists_one" | "existsOne":
            _require_test(inference, node, bodies[0], (INT, INT))
            return BOOL
        case "transformMapEntry":
            empty = map_of(inference.substitution.fresh(), inference.substitution.fresh())
            filled = inference.call(node, "cel.@mapInsert", (empty, bodies[-1]), is_member=False)
            if len(bodies) == 2:
                _require_test(inference, node, bodies[0], (filled, empty))
            return empty if filled == ERROR else filled
        case "filter":
            result = list_of(scope[node.variables[0]])
        case "transformMap":
            result = map_of(scope[node.variables[0]], bodies[-1])
        case _:  # map, transformList
            result = list_of(bodies[-1])
    if node.name == "filter" or len(bodies) == 2:
        _require_test(inference, node, bodies[0], (result, result))
    return result


def _require_test(
    inference: Inference, node: Macro, test: Type, branches: tuple[Type, Type]
) -> None:
    """Require that the test of a filter is a bool; report it as for the macro's expansion."""
    if test is not BOOL:
        inference.call(node, "_?_:_", (test, *branches), is_member=False)
