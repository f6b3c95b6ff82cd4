"""
What kro and an API server made of the same definitions.

`kro-outcomes.jsonl` holds, for definitions put together at random, what kro 0.9.4 answered:
the schema, its error, or, if it accepted what the validation of a Kubernetes 1.35 API server
then refused, the server's.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from kro_gitops.engine.simpleschema.openapi import build_schema

LINES = Path(__file__).with_name("kro-outcomes.jsonl").read_text(encoding="utf-8").split("\n")
CASES: list[dict[str, Any]] = [json.loads(line) for line in LINES if line]


def described(case: dict[str, Any]) -> str:
    return json.dumps({key: case[key] for key in ("spec", "types") if key in case})


def selected(outcome: str) -> list[Any]:
    return [pytest.param(case, id=described(case)) for case in CASES if outcome in case]


@pytest.mark.parametrize("case", selected("schema"))
def test_the_schema_is_the_one_kro_makes(case: dict[str, Any]) -> None:
    result = build_schema(case["spec"], case.get("types", {}))
    assert result.problems == ()
    assert result.schema == case["schema"]


@pytest.mark.parametrize("case", selected("kro"))
def test_the_error_of_kro_is_among_the_problems_word_for_word(case: dict[str, Any]) -> None:
    result = build_schema(case["spec"], case.get("types", {}))
    assert case["kro"] in [problem.message for problem in result.problems]


@pytest.mark.parametrize("case", selected("server"))
def test_what_a_server_refuses_is_a_problem(case: dict[str, Any]) -> None:
    assert build_schema(case["spec"], case.get("types", {})).schema is None
