"""
Run a case of the specification through our engine and say what is wrong with the outcome.
"""

import math
from dataclasses import replace
from typing import Any

from cel_testing.cases import FAILS, UNSTATED, Case

from kube_cel.checker import check
from kube_cel.environment import Environment, Library
from kube_cel.errors import ExpressionError
from kube_cel.parser import parse
from kube_cel.program import compile_program
from kube_cel.syntax_tree import Ident, Node, children
from kube_cel.types import DYN
from kube_cel.values import EvaluationError, is_list, is_map, kind_of


def verdict(case: Case) -> str | None:
    """Run a case; return what differs from the expected outcome, None if nothing does."""
    try:
        return _differing_type(case) or (_differing_value(case) if case.is_run else None)
    except ExpressionError as error:
        return f"cannot be compiled: {error}"


def _differing_type(case: Case) -> str | None:
    if case.deduced is None:
        return None
    found = check(parse(case.expression), _environment(case), case.expression)
    return None if found == case.deduced else f"has type {found}, expected {case.deduced}"


def _differing_value(case: Case) -> str | None:
    expected = case.expected
    environment = _environment(case)
    tree = parse(case.expression)
    if case.is_checked:
        check(tree, environment, case.expression)
    else:
        environment = _with_undeclared_names(environment, tree)
    program = compile_program(tree, environment, case.expression)
    try:
        found = program.value(case.data)
    except EvaluationError as error:
        return None if expected is FAILS else f"fails with {error}, expected {expected!r}"
    if expected is FAILS:
        return f"gives {found!r}, expected an error"
    if expected is UNSTATED or same(found, expected):
        return None
    return f"gives {found!r}, expected {expected!r}"


def _environment(case: Case) -> Environment:
    environment = Environment.kro().extend(types=case.variables)
    if not case.functions:
        return environment
    profile = environment.profile
    library = Library({**profile.library.functions, **case.functions})
    profile = replace(profile, library=library, library_after_macro=library)
    return Environment(profile, environment.variables, {})


def _with_undeclared_names(environment: Environment, tree: Node) -> Environment:
    """Take names for variables that only the checker would have refused."""
    waiting, names = [tree], set[str]()
    while waiting:
        node = waiting.pop()
        waiting.extend(children(node))
        if isinstance(node, Ident):
            names.add(node.name)
    names -= environment.profile.type_names.keys() | environment.variables.keys()
    return environment.extend(types=dict.fromkeys(names, DYN))


def same(left: Any, right: Any) -> bool:
    """Compare values more strictly than CEL does: kinds must agree, and NaN is itself."""
    if kind_of(left) != kind_of(right):
        return False
    if is_list(left):
        return len(left) == len(right) and all(map(same, left, right))
    if is_map(left):
        return len(left) == len(right) and all(
            any(same(key, other) and same(value, right[other]) for other in right)
            for key, value in left.items()
        )
    if isinstance(left, float) and math.isnan(left):
        return math.isnan(right)
    return bool(left == right)
