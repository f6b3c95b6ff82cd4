"""Whatever is written, compiling and evaluating answer: a value, or an error with its place."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from objects_testing.budgets import examples

from kube_cel.budget import Budget
from kube_cel.environment import Environment
from kube_cel.errors import ExpressionError
from kube_cel.issues import NO_OFFSET, CheckError, ParseError
from kube_cel.program import compile_text

GOLDEN = Path(__file__).parents[1] / "golden" / "cel.jsonl"
LINES = [json.loads(line) for line in GOLDEN.read_text("utf-8").splitlines()]
SETS = {line["set"]: line for line in LINES if "schemas" in line}
TEXTS = [(line["set"], line["expr"]) for line in LINES if "expr" in line]
ENVIRONMENTS = {
    name: Environment.kro().extend(schemas=line["schemas"]) for name, line in SETS.items()
}
SMALL = Budget(iterations=20_000, elements=20_000, characters=200_000)
PIECES = (
    *(".", "(", ")", "[", "]", "{", "}", "?", ":", ",", "+", "-", "%", "!", "&&", "==", "in", "."),
    *("schema", "x", "s", "spec", "null", "''", "0", "1u", "2.5", "b'q'", "has(", ".map(e, e)"),
    *(
        ".orValue(",
        ".?a",
        "[?0]",
        "dyn(",
        "type(",
        ".size()",
        ".format([1])",
        "-9223372036854775808",
    ),
)


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, str]:
    """Take an expression kro was asked about, and change it in a few places."""
    name, text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        cut = draw(st.integers(0, 6))
        text = text[:at] + draw(st.sampled_from(PIECES)) + text[at + cut :]
    return name, text


@settings(max_examples=examples(300))
@given(mutated())
def test_every_expression_gets_an_answer(sample: tuple[str, str]) -> None:
    name, text = sample
    data: dict[str, Any] = SETS[name]["data"]
    before = json.dumps(data)
    error = _failure(name, text, data)
    assert json.dumps(data) == before
    if isinstance(error, ParseError | CheckError):
        assert error.issues
        for issue in error.issues:
            assert NO_OFFSET <= issue.offset <= len(text)
            assert 0 <= issue.start <= issue.end <= len(text)
    elif error is not None:
        assert "internal error" not in error.message


def _failure(name: str, text: str, data: dict[str, Any]) -> ExpressionError | None:
    try:
        compile_text(text, ENVIRONMENTS[name]).evaluate(data, SMALL)
    except ExpressionError as error:
        return error
    return None
