import pytest

from kube_cel.checker import check
from kube_cel.environment import Environment
from kube_cel.issues import CheckError
from kube_cel.parser import parse
from kube_cel.types import DYN

OBJECT = {"type": "object", "properties": {"a": {"type": "string"}}}
KRO = Environment.kro().extend({"x": OBJECT}, {"any": DYN})
RULES = Environment.rules().extend({"x": OBJECT}, {"any": DYN})

TEXTS = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types,"
    " durations, and timestamps, was given"
)


def messages_of(expression: str, env: Environment = KRO) -> list[str]:
    try:
        check(parse(expression), env, expression)
    except CheckError as problem:
        return [f"{issue.offset + 1}: {issue.message}" for issue in problem.issues]
    return []


@pytest.mark.parametrize(
    "expression",
    [
        "'%s %d %f %e %b %o %x %X %%'.format(['a', 1, 1.5, 1.5, true, 8, 'a', b'a'])",
        "'%d'.format([1.5])",
        "'%f'.format([1])",
        "'%.3f'.format([1.5])",
        "'%.100e'.format([1.5])",
        "'%s'.format([[1, {'a': null, 'b': timestamp('x')}]])",
        "'%s'.format([type(1)])",
        "'%s'.format([any])",
        "'%d'.format([any])",
        "'%s'.format([[any]])",
        "'%d'.format(any)",
        "('%d' + '').format(['a'])",
        "'no clause'.format([])",
        "'%s'.format(['%'])",
    ],
)
def test_clauses_that_take_their_arguments_pass(expression: str) -> None:
    assert messages_of(expression) == []


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (
            "'%d'.format(['x'])",
            "14: error during formatting: decimal clause can only be used on ints, uints, and"
            " doubles, was given string",
        ),
        (
            "'%f'.format(['x'])",
            "14: error during formatting: fixed-point clause can only be used on ints, uints, and"
            " doubles, was given string",
        ),
        (
            "'%e'.format([null])",
            "14: error during formatting: scientific clause can only be used on ints, uints, and"
            " doubles, was given null_type",
        ),
        (
            "'%b'.format([1.5])",
            "14: error during formatting: only ints, uints, and bools can be formatted as binary,"
            " was given double",
        ),
        (
            "'%o'.format([duration('1s')])",
            "22: error during formatting: octal clause can only be used on ints and uints, was"
            " given google.protobuf.Duration",
        ),
        (
            "'%X'.format([[1]])",
            "14: error during formatting: only ints, uints, bytes, and strings can be formatted"
            " as hex, was given list",
        ),
        ("'%s'.format([x])", f"14: error during formatting: {TEXTS} __type_x"),
        (
            "'%s'.format([optional.of(1)])",
            f"25: error during formatting: {TEXTS} optional_type",
        ),
        ("'%s'.format([{'z': [x]}])", f"21: error during formatting: {TEXTS} __type_x"),
        (
            "'%s'.format([quantity('1')])",
            f"22: error during formatting: {TEXTS} kubernetes.Quantity",
        ),
        ("'%s %s'.format(['a'])", "15: index 1 out of range"),
        ("'%s'.format([])", "12: index 0 out of range"),
        (
            "'%s'.format(['a', 'b'])",
            "12: too many arguments supplied to string.format (expected 1, got 2)",
        ),
        ("'100%'.format([])", "14: unexpected end of string"),
        (
            "'%q'.format([1])",
            '12: could not parse formatting clause: unrecognized formatting clause "q"',
        ),
        (
            "'%5d'.format([1])",
            '13: could not parse formatting clause: unrecognized formatting clause "5"',
        ),
        (
            "'%é'.format([1])",
            '12: could not parse formatting clause: unrecognized formatting clause "Ã"',
        ),
        (
            "'%.2'.format([1])",
            "13: could not parse formatting clause: error while parsing precision: could not find"
            " end of precision specifier",
        ),
        (
            "'%.f'.format([1])",
            "13: could not parse formatting clause: error while parsing precision: error while"
            ' converting precision to integer: strconv.Atoi: parsing "": invalid syntax',
        ),
        (
            "'%.101f'.format([1])",
            "16: could not parse formatting clause: error while parsing precision: precision 101"
            " exceeds maximum allowed precision 100",
        ),
        (
            "'%.99999999999999999999f'.format([1])",
            "33: could not parse formatting clause: error while parsing precision: error while"
            " converting precision to integer: strconv.Atoi: parsing"
            ' "99999999999999999999": value out of range',
        ),
    ],
)
def test_clauses_that_cannot_work_are_reported(expression: str, expected: str) -> None:
    assert messages_of(expression) == [expected]


def test_all_format_calls_are_looked_at() -> None:
    assert len(messages_of("'%d'.format(['a']) + ['b'].map(x, '%d'.format([x]))[0]")) == 2


def test_types_are_checked_before_formats() -> None:
    [message] = messages_of("'%d'.format(['a']) + 1")
    assert "found no matching overload" in message


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (
            "'%d'.format([1.5])",
            "14: error during formatting: decimal clause can only be used on integers, was given"
            " double",
        ),
        (
            "'%f'.format([1])",
            "14: error during formatting: fixed-point clause can only be used on doubles, was"
            " given int",
        ),
        (
            "'%x'.format([true])",
            "14: error during formatting: only integers, byte buffers, and strings can be"
            " formatted as hex, was given bool",
        ),
        (
            "'%b'.format(['a'])",
            "14: error during formatting: only integers and bools can be formatted as binary, was"
            " given string",
        ),
        (
            "'%o'.format(['a'])",
            "14: error during formatting: octal clause can only be used on integers, was given"
            " string",
        ),
    ],
)
def test_validation_rules_go_by_the_older_clauses(expression: str, expected: str) -> None:
    assert messages_of(expression, RULES) == [expected]


def test_validation_rules_know_no_limit_of_precision() -> None:
    assert messages_of("'%.1000f'.format([1.5])", RULES) == []
