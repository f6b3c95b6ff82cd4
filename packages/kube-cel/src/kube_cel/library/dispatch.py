"""
Which implementation a call means, decided by the values it is given.

A family lists its functions by signature: `"indexOf(string, string, int)": index_of`. Kinds are
named as `kind_of` names them, a container's elements do not count, and `dyn` takes anything.
The checker promised fitting types, but data may disagree with its schema, so every call is
dispatched here anew; implementations can then trust their arguments.
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
    """Make a function that says whether another one takes its arguments for what it reads."""

    def is_accepted(*arguments: Any) -> bool:
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
