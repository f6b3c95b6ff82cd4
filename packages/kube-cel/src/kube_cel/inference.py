"""
The rules of typing: what a call returns, what a field is, what a literal's elements have in common.

One `Inference` serves one expression. It knows nothing of the tree but where to point when a
rule is broken; who walks the tree is `check`. A broken rule is noted once and yields the error
type, which goes with everything, so that one mistake is not reported twice.

Where kro's checker guesses, this one does not: if an argument is dyn, what the result says
about it stays dyn. (`x.slice(0, 1)` of an untyped `x` is a `list(dyn)`; cel-go takes its
elements for doubles once somebody negates one, and refuses whatever follows.) Elements of
empty literals, which have no value to be wrong about, follow cel-go.
"""

from kube_cel.environment import Environment
from kube_cel.hints import (
    hint_for_call,
    hint_for_field,
    hint_for_function,
    hint_for_name,
)
from kube_cel.issues import Issue
from kube_cel.syntax_tree import Node
from kube_cel.types import (
    BOOL,
    DYN,
    ERROR,
    OPAQUE_NAMES,
    Type,
    format_for_message,
    format_type,
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
            return self._no_overload(node, function, arguments, is_member)
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
            return self._unguessed(result, arguments)
        return result

    def _unguessed(self, result: Type, arguments: tuple[Type, ...]) -> Type:
        if any(is_dynamic(self.substitution.resolve(argument)) for argument in arguments):
            return self.substitution.close(result)
        return result

    def _no_overload(
        self, node: Node, function: str, arguments: tuple[Type, ...], is_member: bool
    ) -> Type:
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

    def undeclared_name(self, node: Node, name: str, in_scope: dict[str, Type]) -> Type:
        """Report a name that is no variable."""
        hint = hint_for_name((*in_scope, *self.environment.variables), name)
        return self._undeclared(node, name, hint)

    def no_message(self, node: Node, name: str) -> Type:
        """Report a message literal; kro has those of protobuf itself, which nobody needs."""
        hint = f"write a map, {{'field': value}}, instead of {name}{{field: value}}"
        if name.startswith("google.protobuf."):
            return self.report(node, "message literals are not supported", hint)
        return self._undeclared(node, name, hint)

    def _undeclared(self, node: Node, name: str, hint: str) -> Type:
        message = f"undeclared reference to '{name}' (in container '')"
        return self.report(node, message, hint, "undeclared-reference")

    def require_bool(self, node: Node, found: Type) -> bool:
        """Say whether something is a bool, and report it if not."""
        if found is BOOL or self.substitution.unify(found, BOOL):
            return True
        self.report(node, f"expected type 'bool' but found '{self.show(found)}'")
        return False

    def field(self, node: Node, owner: Type, name: str, *, is_optional: bool = False) -> Type:
        """Find the type of a field; below an optional, or when asked with `?`, an optional."""
        owner = self.substitution.resolve(owner)
        if owner.kind == "optional_type":
            return optional_of(self._field(node, owner.parameters[0], name))
        found = self._field(node, owner, name)
        return optional_of(found) if is_optional else found

    def _field(self, node: Node, owner: Type, name: str) -> Type:
        if owner.kind == "object" and owner.name not in OPAQUE_NAMES:
            return self._object_field(node, owner, name)
        if owner.kind == "map":
            return owner.parameters[1]
        if owner.kind == "var":
            self.substitution.unify(DYN, owner)
        elif not is_dynamic(owner):
            shown = self.show(owner)
            message = f"type '{shown}' does not support field selection"
            self.report(node, message, code="no-field-selection")
        return DYN

    def _object_field(self, node: Node, owner: Type, name: str) -> Type:
        declaration = self.environment.fields(owner)
        if declaration is None:
            return self.report(node, f"unexpected failed resolution of '{format_type(owner)}'")
        found = declaration.find(name)
        if found is not None:
            return found
        hint = hint_for_field(self.environment, owner, name)
        return self.report(node, f"undefined field '{name}'", hint, "undefined-field")

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
