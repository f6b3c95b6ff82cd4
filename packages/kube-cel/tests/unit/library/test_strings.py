from typing import Any

import pytest

from kube_cel.library.strings import GLOBALS, MEMBERS
from kube_cel.values import OMIT, EvaluationError, ListView, kind_of

BIG = 2**63 - 1


def call(name: str, *arguments: Any) -> Any:
    return MEMBERS[name, kind_of(arguments[0])](*arguments)


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        pytest.param("charAt", ("tacocat", 3), "o", id="charAt"),
        pytest.param("charAt", ("tacocat", 7), "", id="charAt just behind the end"),
        pytest.param("charAt", ("©αT", 1), "α", id="charAt counts code points"),
        pytest.param("indexOf", ("tacocat", "ac"), 1, id="indexOf"),
        pytest.param("indexOf", ("tacocat", "none"), -1, id="indexOf finds nothing"),
        pytest.param("indexOf", ("tacocat", ""), 0, id="indexOf of nothing"),
        pytest.param("indexOf", ("tacocat", "a", 3), 5, id="indexOf from an offset"),
        pytest.param("indexOf", ("tacocat", "a", BIG), -1, id="indexOf from far away"),
        pytest.param("indexOf", ("abc", "", 2), 2, id="indexOf of nothing from an offset"),
        pytest.param("indexOf", ("abc", "", 9), 3, id="indexOf of nothing from far away"),
        pytest.param("lastIndexOf", ("tacocat", "at"), 5, id="lastIndexOf"),
        pytest.param("lastIndexOf", ("tacocat", ""), 7, id="lastIndexOf of nothing"),
        pytest.param("lastIndexOf", ("ab", "abc"), -1, id="lastIndexOf of something longer"),
        pytest.param("lastIndexOf", ("tacocat", "a", 4), 1, id="lastIndexOf up to an offset"),
        pytest.param("lastIndexOf", ("abab", "ab", 2), 2, id="lastIndexOf may begin there"),
        pytest.param("lastIndexOf", ("abab", "ab", 9), -1, id="lastIndexOf from far away"),
        pytest.param("lastIndexOf", ("abc", "", 2), 2, id="lastIndexOf of nothing, offset"),
        pytest.param("lastIndexOf", ("abc", "", 9), 3, id="lastIndexOf of nothing, far away"),
        pytest.param("lowerAscii", ("TacoCÆt",), "tacocÆt", id="lowerAscii"),
        pytest.param("upperAscii", ("tacoCæt",), "TACOCæT", id="upperAscii"),
        pytest.param("replace", ("hello hello", "he", "we"), "wello wello", id="replace"),
        pytest.param("replace", ("hello hello", "he", "we", 1), "wello hello", id="replace one"),
        pytest.param("replace", ("hello hello", "he", "we", 0), "hello hello", id="replace none"),
        pytest.param("replace", ("hello", "l", "", -5), "heo", id="replace, negative limit"),
        pytest.param("replace", ("ab", "", "_"), "_a_b_", id="replace nothing"),
        pytest.param("replace", ("ab", "", "_", 2), "_a_b", id="replace nothing, twice"),
        pytest.param("reverse", ("gum😀",), "😀mug", id="reverse"),
        pytest.param("split", ("a,b,,c", ","), ["a", "b", "", "c"], id="split"),
        pytest.param("split", ("", ","), [""], id="split an empty text"),
        pytest.param("split", ("üb", ""), ["ü", "b"], id="split into characters"),
        pytest.param("split", ("", ""), [], id="split nothing into characters"),
        pytest.param("split", ("a,b,c", ",", 0), [], id="split, limit 0"),
        pytest.param("split", ("a,b,c", ",", 1), ["a,b,c"], id="split, limit 1"),
        pytest.param("split", ("a,b,c", ",", 2), ["a", "b,c"], id="split, limit 2"),
        pytest.param("split", ("a,b,c", ",", -1), ["a", "b", "c"], id="split, negative limit"),
        pytest.param("split", ("abc", "", 2), ["a", "bc"], id="split characters, limit 2"),
        pytest.param("split", ("abc", "", 9), ["a", "b", "c"], id="split characters, limit 9"),
        pytest.param("substring", ("tacocat", 4), "cat", id="substring to the end"),
        pytest.param("substring", ("tacocat", 0, 4), "taco", id="substring"),
        pytest.param("substring", ("ta©o©αT", 2, 6), "©o©α", id="substring counts code points"),
        pytest.param("trim", (" \f\v\t a \u2003\u3000\x85\n",), "a", id="trim"),
        pytest.param("trim", ("\x1f\u200ba\u180e",), "\x1f\u200ba\u180e", id="trim, no blanks"),
        pytest.param("lastIndexOf", ("ab" * 40, "ba" * 20), 39, id="lastIndexOf a long text"),
        pytest.param("lastIndexOf", ("ab" * 40, "ba" * 20, 38), 37, id="the same, from the left"),
        pytest.param("lastIndexOf", ("ab" * 40, "bb" * 20), -1, id="a long text that is not there"),
        pytest.param("join", (["a", "b"],), "ab", id="join"),
        pytest.param("join", (["a", "b"], "-"), "a-b", id="join with a separator"),
        pytest.param("join", ([], "-"), "", id="join nothing"),
    ],
)
def test_functions_of_strings(name: str, arguments: tuple[Any, ...], expected: Any) -> None:
    assert call(name, *arguments) == expected


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        pytest.param("charAt", ("ab", 3), "index out of range: 3", id="charAt beyond"),
        pytest.param("charAt", ("ab", -1), "index out of range: -1", id="charAt before"),
        pytest.param("indexOf", ("ab", "a", -1), "index out of range: -1", id="indexOf"),
        pytest.param("lastIndexOf", ("ab", "", -1), "index out of range: -1", id="lastIndexOf"),
        pytest.param("substring", ("ab", 3), "index out of range: 3", id="substring beyond"),
        pytest.param("substring", ("ab", -1, 1), "index out of range: -1", id="substring start"),
        pytest.param("substring", ("ab", 0, 3), "index out of range: 3", id="substring end"),
        pytest.param(
            "substring",
            ("ab", 2, 1),
            "invalid substring range. start: 2, end: 1",
            id="substring backwards",
        ),
        pytest.param("charAt", ("a", "b"), "no such overload: charAt(string, string)", id="kind"),
        pytest.param("join", ([1, "a"],), "no such overload: join(list)", id="join of ints"),
        pytest.param(
            "join", ([1], ","), "no such overload: join(list, string)", id="join of ints, comma"
        ),
        pytest.param("join", ([1], ""), "no such overload: join(list, string)", id="join, empty"),
        pytest.param(
            "join", (["a", 1e-7],), "join: invalid input: 1e-07", id="join meets a double"
        ),
        pytest.param("join", (["a", b"ab"],), "join: invalid input: [97 98]", id="join, bytes"),
        pytest.param("join", (["a", OMIT],), "join: invalid input: kro.omit", id="join, omit"),
        pytest.param(
            "join", (["a", [1, "b"]],), "join: invalid input: [1, b]", id="join meets a list"
        ),
    ],
)
def test_what_is_out_of_range_or_of_the_wrong_kind_is_refused(
    name: str, arguments: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(EvaluationError) as caught:
        call(name, *arguments)
    assert caught.value.message == message


def test_a_list_seen_through_a_schema_is_joined_by_its_converted_elements() -> None:
    view = ListView(["A", "B"], str.lower)
    assert call("join", view, "/") == "a/b"


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        pytest.param('first\n"second"', r'"first\n\"second\""', id="escapes"),
        pytest.param("bell\a tab\t slash\\", r'"bell\a tab\t slash\\"', id="more escapes"),
        pytest.param("ü\x00\x7f", '"ü\x00\x7f"', id="others stay as they are"),
        pytest.param("\udc00", '"\ufffd"', id="half a pair"),
    ],
)
def test_quote_makes_a_literal(text: str, quoted: str) -> None:
    assert GLOBALS["strings.quote"](text) == quoted


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param("replace", ("a" * 10_000, "", "b" * 10_000), id="replace nothing"),
        pytest.param("replace", ("a" * 10_000, "a", "b" * 10_000, BIG), id="replace, limited"),
        pytest.param("join", (["a" * 10_000] * 10_000,), id="join long texts"),
        pytest.param("join", ([""] * 10_000, "a" * 10_000), id="join with a long separator"),
    ],
)
def test_nothing_too_long_is_built(name: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(EvaluationError, match="are allowed"):
        call(name, *arguments)


def test_a_long_text_is_not_searched_for_in_quadratic_time() -> None:
    text = "a" * 2_000_000
    assert call("lastIndexOf", text, "a" * 500_000 + "b" + "a" * 500_000) == -1
