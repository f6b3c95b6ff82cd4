"""
Which type is accepted where another is expected, and what type variables come to mean.

The rules are cel-go's, so that what it accepts and what it then calls the result agree:
`dyn` (and the error type, which has been reported already) goes with everything, null with
objects, opaque values and times, and a variable takes the first type it meets; when it
meets another, the more general of the two stays.

A failed attempt leaves no trace: bindings made on the way are taken back.
"""

from collections.abc import Sequence

from kube_cel.signatures import Overload
from kube_cel.types import DYN, Type

_NULLABLE = frozenset(
    {
        *("object", "optional_type", "null_type"),
        *("google.protobuf.Timestamp", "google.protobuf.Duration"),
    }
)

# Kinds that match other kinds, too, so that comparing the kinds decides nothing.
_MAY_BE_ANYTHING = frozenset({"dyn", "error", "var", "param", "null_type"})


def is_dynamic(examined: Type) -> bool:
    """Return whether a type fits every type: dyn, or an error that is already reported."""
    return examined.kind == "dyn" or examined.kind == "error"


def most_general(left: Type, right: Type) -> Type:
    """Choose the less specific of two types that go together."""
    return left if _is_as_general(left, right) else right


def _is_as_general(left: Type, right: Type) -> bool:
    if left.kind in ("dyn", "var"):
        return True
    if right.kind in ("dyn", "var") or left.kind != right.kind or left.name != right.name:
        return False
    if left.kind == "type":
        return True
    return len(left.parameters) == len(right.parameters) and all(
        _is_as_general(*pair) for pair in zip(left.parameters, right.parameters, strict=True)
    )


def may_match(arguments: Sequence[Type], parameters: Sequence[Type]) -> bool:
    """Return False if arguments certainly do not match; True is not certain."""
    for argument, parameter in zip(arguments, parameters, strict=True):
        kind = argument.kind
        if kind != parameter.kind and not (
            kind in _MAY_BE_ANYTHING or parameter.kind in _MAY_BE_ANYTHING
        ):
            return False
    return True


class Substitution:
    """The type variables of one expression and what they are bound to."""

    __slots__ = ("_bound", "_made", "_undo")

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}
        self._undo: list[tuple[Type, Type | None]] = []
        self._made = 0

    def fresh(self) -> Type:
        """Return a new type variable."""
        self._made += 1
        return Type("var", (), str(self._made))

    def instantiate(self, overload: Overload) -> tuple[tuple[Type, ...], Type]:
        """Give an overload's type parameters fresh variables; return parameters and result."""
        if not overload.type_parameters:
            return overload.parameters, overload.result
        variables = {name: self.fresh() for name in overload.type_parameters}
        parameters = tuple(_instantiate(one, variables) for one in overload.parameters)
        return parameters, _instantiate(overload.result, variables)

    def unify(self, source: Type, target: Type) -> bool:
        """Return whether the types go together, and bind variables so that they do."""
        return self.unify_all((source,), (target,))

    def unify_all(self, sources: Sequence[Type], targets: Sequence[Type]) -> bool:
        """Do the same for several pairs: all of them or none."""
        self._undo.clear()
        if self._match_all(sources, targets):
            return True
        for variable, before in reversed(self._undo):
            if before is None:
                del self._bound[variable]
            else:
                self._bound[variable] = before
        return False

    def resolve(self, examined: Type) -> Type:
        """Replace bound variables by what they mean; free ones stay."""
        return self._replace(examined, None) if examined.is_open else examined

    def close(self, examined: Type) -> Type:
        """Replace bound variables by what they mean and free ones by dyn."""
        return self._replace(examined, DYN) if examined.is_open else examined

    def _replace(self, examined: Type, free: Type | None) -> Type:
        if examined.kind == "var":
            meaning = self._bound.get(examined)
            if meaning is None:
                return free or examined
            return self._replace(meaning, free) if meaning.is_open else meaning
        replaced = tuple(
            self._replace(one, free) if one.is_open else one for one in examined.parameters
        )
        return Type(examined.kind, replaced, examined.name)

    def _match_all(self, sources: Sequence[Type], targets: Sequence[Type]) -> bool:
        if len(sources) != len(targets):
            return False
        for source, target in zip(sources, targets, strict=True):
            if not self._match(source, target):
                return False
        return True

    def _match(self, source: Type, target: Type) -> bool:
        if source is target:
            return True
        if target.kind == "var":
            fits, was_bound = self._bind(target, source)
            if fits or was_bound:
                return fits
        if source.kind == "var":
            return self._bind(source, target)[0]
        if is_dynamic(source) or is_dynamic(target):
            return True
        if source.kind == "null_type":
            return target.kind in _NULLABLE
        if target.kind == "null_type":
            return source.kind in _NULLABLE
        if source.kind != target.kind or source.name != target.name:
            return False
        # All types of types go together, whatever they describe: type(x) == int.
        return source.kind == "type" or self._match_all(source.parameters, target.parameters)

    def _bind(self, variable: Type, other: Type) -> tuple[bool, bool]:
        """Bind `variable` to `other`; return whether it may, and whether it was bound before."""
        if variable == other:
            return True, True
        bound = self._bound.get(variable)
        if bound is None:
            if self._occurs(variable, other):
                return False, False
            self._set(variable, other)
            return True, False
        if bound == other:
            return True, True
        if not self._match(other, bound):
            return False, True
        wider = most_general(other, bound)
        if not self._occurs(variable, wider):
            self._set(variable, wider)
        return True, True

    def _set(self, variable: Type, meaning: Type) -> None:
        self._undo.append((variable, self._bound.get(variable)))
        self._bound[variable] = meaning

    def _occurs(self, variable: Type, examined: Type) -> bool:
        """Return whether a type contains the variable, so that binding would never end."""
        if not examined.is_open:
            return False
        if examined.kind == "var":
            if examined == variable:
                return True
            meaning = self._bound.get(examined)
            return meaning is not None and self._occurs(variable, meaning)
        return any(self._occurs(variable, one) for one in examined.parameters)


def _instantiate(examined: Type, variables: dict[str, Type]) -> Type:
    if not examined.is_open:
        return examined
    if examined.kind == "param":
        return variables[examined.name]
    replaced = tuple(_instantiate(one, variables) for one in examined.parameters)
    return Type(examined.kind, replaced, examined.name)
