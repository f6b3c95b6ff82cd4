"""
Expressions of the plain language: what every implementation of CEL should agree on.

Typed, so that most of them evaluate; a division by zero or a missing key may still happen. Each
kind of value has leaves and a few ways to make it of others, to a small depth.
"""

from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

Texts = SearchStrategy[str]

_INTS = st.one_of(st.integers(-5, 20), st.sampled_from((2**63 - 1, -(2**63), 2**31, 10**9))).map(
    lambda number: f"({number})" if number < 0 else str(number)
)
_DOUBLES = st.sampled_from(("0.0", "1.0", "(-2.5)", "3.25", "1e10", "0.1"))
_STRINGS = st.sampled_from(("''", "'a'", "'abc'", "'é😀'", "'A b'", "'10'", "'a,b'"))
_BOOLS = st.sampled_from(("true", "false"))


def filled(form: str, *holes: Texts) -> Texts:
    """Fill the `{}` of a form, in order."""
    return st.tuples(*holes).map(lambda parts: form.format(*parts))


@cache
def _ints(depth: int) -> Texts:
    if depth == 0:
        return _INTS
    inner, words, numbers = _ints(depth - 1), _strings(depth - 1), _int_lists(depth - 1)
    operators = st.sampled_from("+-*/%")
    return st.one_of(
        _INTS,
        filled("({} {} {})", inner, operators, inner),
        filled("({} ? {} : {})", _bools(depth - 1), inner, inner),
        filled("size({})", st.one_of(words, numbers)),
        filled("{}[{}]", numbers, st.sampled_from("012")),
        filled("int({})", st.one_of(_STRINGS, inner)),
        filled("{{'a': {}, 'b': {}}}.{}", inner, inner, st.sampled_from("abc")),
        filled("timestamp('2024-02-29T12:30:45Z').{}()", st.sampled_from(_TIME_PARTS)),
        filled("duration('{}s').getSeconds()", st.integers(0, 10**6).map(str)),
    )


_TIME_PARTS = ("getFullYear", "getMonth", "getDate", "getDayOfYear", "getHours", "getMinutes")


@cache
def _doubles(depth: int) -> Texts:
    if depth == 0:
        return _DOUBLES
    inner = _doubles(depth - 1)
    return st.one_of(
        _DOUBLES, filled("({} {} {})", inner, st.sampled_from("+-*"), inner), filled("(-{})", inner)
    )


@cache
def _strings(depth: int) -> Texts:
    if depth == 0:
        return _STRINGS
    inner = _strings(depth - 1)
    return st.one_of(
        _STRINGS,
        filled("({} + {})", inner, inner),
        filled("string({})", _ints(depth - 1)),
        filled("({} ? {} : {})", _bools(depth - 1), inner, inner),
    )


@cache
def _int_lists(depth: int) -> Texts:
    literal = st.lists(_INTS, max_size=3).map(lambda parts: f"[{', '.join(parts)}]")
    if depth == 0:
        return literal
    inner, number, decision = _int_lists(depth - 1), _ints(depth - 1), _bools(depth - 1)
    return st.one_of(
        literal,
        filled("({} + {})", inner, inner),
        filled("[{}, {}]", number, number),
        filled("{}.map(x, x {} {})", inner, st.sampled_from("+-*/%"), number),
        filled("{}.filter(x, x > {} || {})", inner, number, decision),
    )


@cache
def _bools(depth: int) -> Texts:
    if depth == 0:
        return _BOOLS
    inner, number, words = _bools(depth - 1), _ints(depth - 1), _strings(depth - 1)
    order = st.sampled_from(("==", "!=", "<", "<=", ">", ">="))
    test = st.sampled_from(("startsWith", "endsWith", "contains"))
    loop = st.sampled_from(("all", "exists", "exists_one"))
    return st.one_of(
        filled("({} {} {})", inner, st.sampled_from(("&&", "||")), inner),
        filled("(!{})", inner),
        filled("({} {} {})", number, order, number),
        filled("({} {} {})", words, order, words),
        filled("({} {} {})", _doubles(depth - 1), order, _doubles(depth - 1)),
        filled("({} == {})", _int_lists(depth - 1), _int_lists(depth - 1)),
        filled("({} in {})", number, _int_lists(depth - 1)),
        filled("{}.{}({})", words, test, words),
        filled("{}.{}(x, x < {})", _int_lists(depth - 1), loop, number),
        filled("has({{'a': {}}}.{})", number, st.sampled_from("ab")),
    )


def expressions(depth: int) -> Texts:
    """Make expressions of all kinds, nested up to `depth`."""
    return st.one_of(
        *(kind(depth) for kind in (_ints, _doubles, _strings, _bools, _int_lists)),
        filled("{{'k': {}, 'l': {}}}", _ints(depth - 1), _strings(depth - 1)),
    )
