"""
Aliases: values repeated by name, within a budget.

A few hundred bytes of aliases to aliases are worth billions of nodes once somebody copies or
prints them. So the size of a named value is counted when it is complete, and repeating it is
paid for before it is copied.
"""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from kube_objects.problems import Problem
from kube_objects.yaml_limits import Limits


class AliasError(Exception):
    """An alias that is not repeated, and why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.summary)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class _Anchor:
    value: Any
    nodes: int
    depth: int


class Aliases:
    """The named values of one document."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._named: dict[str, _Anchor] = {}
        self._repeated = 0
        self._nodes = 0

    def name(self, name: str, value: Any) -> None:
        """Remember a complete value."""
        if self._limits.aliases:
            self._named[name] = _Anchor(value, *_size(value))

    def repeat(self, name: str, depth: int) -> Any:
        """Return a copy of what `name` stands for, to be put `depth` levels deep."""
        limits = self._limits
        if not limits.aliases:
            raise _refusal("alias", f"'*{name}' is an alias, and aliases are not supported")
        self._repeated += 1
        if self._repeated > limits.aliases:
            raise _refusal(
                "alias", f"'*{name}' is one alias more than the {limits.aliases} allowed"
            )
        named = self._named.get(name)
        if named is None:
            raise _refusal(
                "alias", f"'*{name}' refers to an anchor that is incomplete or undefined"
            )
        self._nodes += named.nodes
        if self._nodes > limits.expanded_nodes:
            most = f"{limits.expanded_nodes:,}"
            raise _refusal("alias-bomb", f"'*{name}' brings the document beyond {most} nodes")
        if depth + named.depth > limits.depth:
            raise _refusal("too-deep", f"'*{name}' nests deeper than {limits.depth} levels")
        return deepcopy(named.value)


def _refusal(code: str, summary: str) -> AliasError:
    return AliasError(Problem(code, summary, hint="write the value out"))


def _size(value: Any) -> tuple[int, int]:
    """Count the nodes of a value and its levels of nesting."""
    if isinstance(value, dict):
        parts = [_size(part) for part in value.values()]
    elif isinstance(value, list):
        parts = [_size(part) for part in value]
    else:
        return 1, 0
    nodes = 1 + sum(nodes for nodes, _ in parts)
    return nodes, 1 + max((depth for _, depth in parts), default=0)
