"""
Selects the implementation of a call by the types of its arguments at run time.

A family lists its functions by signature: `"indexOf(string, string, int)": index_of`. Kinds are
named as by `kind_of`, element types of containers do not matter, and `dyn` accepts anything. The
checker has verified the types, but data may contradict its schema, so every call is dispatched at
run time; implementations can then rely on their arguments.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kube_cel.values import EvaluationError, kind_of, no_such_overload

Function = Callable[..., Any]
_Kinds = tuple[str, ...]


def global_functions(signatures: Mapping[str, Function]) -> dict[str, Function]:
    """Make a `GLOBALS` table."""
    families: dict[str, dict[_Kinds, Function]] = {}
    for signature, function in signatures.items():
        name, kinds = _parse(signature)
        families.setdefault(name, {})[kinds] = function
    return {name: _dispatch(name, overloads) for name, overloads in families.items()}


def member_functions(signatures: Mapping[str, Function]) -> dict[tuple[str, str], Function]:
    """Make a `MEMBERS` table; the first parameter is the receiver."""
    families: dict[tuple[str, str], dict[_Kinds, Function]] = {}
    for signature, function in signatures.items():
        name, kinds = _parse(signature)
        families.setdefault((name, kinds[0]), {})[kinds] = function
    return {key: _dispatch(key[0], overloads) for key, overloads in families.items()}


def accepts(parse: Function) -> Callable[..., bool]:
    """Return a function that tests whether `parse` accepts its arguments."""

    def is_accepted(*arguments: Any) -> bool:
        # For functions that return whether another one would raise, such as isURL().
        try:
            parse(*arguments)
        except EvaluationError:
            return False
        return True

    return is_accepted


def _parse(signature: str) -> tuple[str, _Kinds]:
    name, _, parameters = signature.removesuffix(")").partition("(")
    return name, tuple(parameters.split(", ")) if parameters else ()


def _dispatch(name: str, overloads: Mapping[_Kinds, Function]) -> Function:
    # Python's types decide the kinds, and there are few of them: remember each decision.
    chosen: dict[tuple[type, ...], Function] = {}

    def call(*arguments: Any) -> Any:
        # The choice is cached by type: most calls have the same types every time.
        types = tuple(map(type, arguments))
        function = chosen.get(types)
        if function is None:
            function = chosen[types] = _choose(name, overloads, arguments)
        return function(*arguments)

    return call


def _choose(
    name: str, overloads: Mapping[_Kinds, Function], arguments: tuple[Any, ...]
) -> Function:
    kinds = tuple(map(kind_of, arguments))
    for parameters, function in overloads.items():
        if len(parameters) == len(kinds) and all(
            wanted in ("dyn", given) for wanted, given in zip(parameters, kinds, strict=True)
        ):
            return function
    raise no_such_overload(name, *arguments)
