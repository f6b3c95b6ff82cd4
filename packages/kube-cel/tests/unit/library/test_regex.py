from typing import Any

import pytest

from kube_cel.library.regex import GLOBALS, MEMBERS, compile_pattern
from kube_cel.library.standard import ANY
from kube_cel.values import EvaluationError


def call(name: str, *arguments: Any) -> Any:
    found = MEMBERS.get((name, "string")) or MEMBERS[name, ANY]
    return found(*arguments)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        pytest.param("matches", ("abc", "b"), True, id="matches anywhere"),
        pytest.param("matches", ("abc", "^b"), False, id="matches with an anchor"),
        pytest.param("matches", ("über", "^\\pL+$"), True, id="matches letters of any script"),
        pytest.param("find", ("abc 123", "[0-9]+"), "123", id="find"),
        pytest.param("find", ("abc", "xyz"), "", id="find nothing"),
        pytest.param("find", ("über", "b.."), "ber", id="find beyond ASCII"),
        pytest.param("find", ("ab", "(a)(b)"), "ab", id="find returns the whole match"),
        pytest.param("findAll", ("1 22 333", "[0-9]+"), ["1", "22", "333"], id="findAll"),
        pytest.param("findAll", ("1 22 333", "[0-9]+", 2), ["1", "22"], id="findAll, two"),
        pytest.param("findAll", ("1 22", "[0-9]+", 0), [], id="findAll, none"),
        pytest.param("findAll", ("1 22", "[0-9]+", -1), ["1", "22"], id="findAll, negative"),
        pytest.param("findAll", ("abc", "x"), [], id="findAll finds nothing"),
        pytest.param("findAll", ("baac", "a*"), ["", "aa", ""], id="findAll of empty matches"),
        pytest.param("findAll", ("ü😀", ""), ["", "", ""], id="findAll between characters"),
        pytest.param("findAll", ("üaü", "a|$"), ["a", ""], id="findAll to the end"),
    ],
)
def test_patterns_are_found(name: str, arguments: tuple[Any, ...], expected: Any) -> None:
    assert call(name, *arguments) == expected


def test_matches_is_a_function_too() -> None:
    assert GLOBALS["matches"]("abc", "c$") is True


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [
        ("a(", "missing closing ): `a(`"),
        ("a)", "unexpected ): `a)`"),
        ("a[b", "missing closing ]: `[b`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        ("\\8", "invalid escape sequence: `\\8`"),
        ("\\C", "invalid escape sequence: `\\C`"),
        ("(?z)", "invalid or unsupported Perl syntax: `(?z`"),
        ("a(?=b)", "invalid or unsupported Perl syntax: `(?=`"),
        ("x(?<=a)b", "invalid named capture: `(?<=a)b`"),
        ("(?<!a>)", "invalid named capture: `(?<!a>`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
    ],
)
def test_a_bad_pattern_is_refused_in_the_words_of_go(pattern: str, complaint: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        call("matches", "a", pattern)
    assert caught.value.message == f"error parsing regexp: {complaint}"
    with pytest.raises(EvaluationError) as caught:
        call("findAll", "a", pattern, 1)
    assert caught.value.message == f"Illegal regex: error parsing regexp: {complaint}"


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("matches", (None, "a"), "no such overload: matches"),
        ("matches", ([], "a"), "no such overload: matches"),
        ("matches", ("a", 1), "no such overload"),
        ("find", (None, "a"), "no such overload"),
        ("findAll", ({}, "a"), "no such overload"),
        ("find", ("a", 1), "no such overload: find(string, int)"),
    ],
)
def test_only_texts_are_searched(name: str, arguments: tuple[Any, ...], message: str) -> None:
    receiver = "string" if isinstance(arguments[0], str) else ANY
    function = MEMBERS.get((name, receiver)) or MEMBERS[name, ANY]
    with pytest.raises(EvaluationError) as caught:
        function(*arguments)
    assert caught.value.message == message


def test_an_escaped_backslash_before_a_letter_is_no_escape() -> None:
    assert call("find", "a\\Cb", "\\\\C") == "\\C"


def test_a_pattern_that_would_grow_too_large_is_refused() -> None:
    with pytest.raises(EvaluationError, match=r"^error parsing regexp: expression too large: "):
        compile_pattern("(\\pL{1000})")


def test_a_pattern_that_hangs_others_ends_at_once() -> None:
    assert not call("matches", "a" * 5_000 + "!", "^(a+)+$")


def test_half_a_surrogate_pair_harms_nobody() -> None:
    assert call("find", "a\ud800b", ".b") == "\ufffdb"
    assert not call("matches", "a", "\ud800")
