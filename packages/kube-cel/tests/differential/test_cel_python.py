"""
A second opinion: cel-python, an implementation of CEL by other people.

It has no checker and knows the plain language only. What must agree is the value, or that
there is none; where it does not, differences.toml says who is right.
"""

import os
import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import celpy
import pytest
from cel_testing.normal import Normal, normal_map, normal_scalar
from cel_testing.opinions import (
    Disagreement,
    Explanation,
    Opinion,
    our_opinion,
    read_explanations,
    read_expressions,
)
from cel_testing.strategies import expressions
from celpy import celtypes
from celpy.celparser import CELParseError
from celpy.evaluation import CELEvalError
from hypothesis import given, settings

ENGINE = "cel-python"
SUBJECT = f"tally: {ENGINE}, expressions"
EXPLANATIONS = read_explanations(ENGINE)
GENERATED = 3000 if os.environ.get("KRO_GITOPS_TESTS") == "full" else 200

Record = Callable[[str, object], None]


def _make_environment() -> celpy.Environment:
    # It raises Python's recursion limit for everybody, tests of ours included.
    limit = sys.getrecursionlimit()
    try:
        return celpy.Environment()
    finally:
        sys.setrecursionlimit(limit)


ENVIRONMENT = _make_environment()


def their_opinion(expression: str) -> Opinion:
    try:
        program = ENVIRONMENT.program(ENVIRONMENT.compile(expression))
        return Opinion("ok", value=normal_form(program.evaluate({})))
    except CELParseError as error:
        return Opinion("parse", error=str(error))
    except CELEvalError as error:
        return Opinion("eval", error=str(error.args[0]))
    except Exception as error:  # it lets much of Python's own through
        return Opinion("eval", error=f"{type(error).__name__}: {error}")


_SCALARS: dict[type, str] = {
    celtypes.BoolType: "bool",
    celtypes.IntType: "int",
    celtypes.UintType: "uint",
    celtypes.DoubleType: "double",
    celtypes.StringType: "string",
    celtypes.BytesType: "bytes",
    # Its operators often give Python's own.
    **{bool: "bool", int: "int", float: "double", str: "string", bytes: "bytes"},
    type(None): "null_type",
}
_TYPES: dict[type, str] = {
    **_SCALARS,
    celtypes.ListType: "list",
    celtypes.MapType: "map",
    celtypes.TimestampType: "google.protobuf.Timestamp",
    celtypes.DurationType: "google.protobuf.Duration",
    celtypes.TypeType: "type",
}
_EPOCH = celtypes.TimestampType("1970-01-01T00:00:00Z")


def normal_form(value: Any) -> Normal:
    """Bring one of their values into the common form."""
    kind = _TYPES.get(type(value), type(value).__name__)
    if isinstance(value, CELEvalError):  # lists and maps may hold errors
        raise value
    if isinstance(value, list):
        return ["list", [normal_form(element) for element in value]]
    if isinstance(value, dict):
        return normal_map((normal_form(key), normal_form(value[key])) for key in value)
    if isinstance(value, celtypes.TimestampType):
        return [kind, _nanoseconds(value - _EPOCH)]
    if isinstance(value, timedelta):
        return ["google.protobuf.Duration", _nanoseconds(value)]
    if isinstance(value, type):
        return ["type", _TYPES.get(value, value.__name__)]
    if kind == "bool":
        return [kind, bool(value)]
    return normal_scalar(kind, str(value) if kind == "string" else value)


def _nanoseconds(span: timedelta) -> int:
    return (span.days * 86_400 + span.seconds) * 1_000_000_000 + span.microseconds * 1_000


def find_disagreement(expression: str) -> Disagreement | None:
    ours, theirs = our_opinion(expression), their_opinion(expression)
    if ours.stage != "ok" and theirs.stage != "ok":
        return None
    return None if ours.value == theirs.value else Disagreement(expression, ours, theirs)


def test_the_known_expressions_agree_or_differ_for_a_reason(record_property: Record) -> None:
    known = read_expressions()
    found = [one for one in map(find_disagreement, known) if one is not None]
    unexplained = [one for one in found if one.reason(EXPLANATIONS) is None]
    assert not unexplained, "\n" + "\n".join(map(str, unexplained))
    record_property(SUBJECT, ["agree", len(known) - len(found)])
    for one in found:
        record_property(SUBJECT, f"differ: {one.reason(EXPLANATIONS)}")


@settings(max_examples=GENERATED, derandomize=True)
@given(expression=expressions(depth=3))
def test_generated_expressions_agree_or_differ_for_a_reason(expression: str) -> None:
    found = find_disagreement(expression)
    assert found is None or found.reason(EXPLANATIONS) is not None, f"\n{found}"


@pytest.mark.parametrize("explanation", EXPLANATIONS, ids=lambda one: one.reason)
def test_what_is_explained_still_differs(explanation: Explanation) -> None:
    for example in explanation.examples:
        found = find_disagreement(example)
        assert found is not None, f"{example} no longer differs"
        assert found.reason([explanation]), f"{explanation} does not explain\n{found}"
