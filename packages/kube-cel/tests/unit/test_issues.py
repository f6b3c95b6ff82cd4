from kube_cel.errors import ExpressionError
from kube_cel.issues import (
    MAX_ISSUES,
    NO_OFFSET,
    CheckError,
    Issue,
    ParseError,
    format_issues,
)


def at(offset: int, message: str = "wrong") -> Issue:
    return Issue(message, offset, offset, offset + 1)


def test_an_issue_is_printed_with_line_column_and_caret() -> None:
    assert format_issues("schema.spec.replcas", [at(11, "undefined field 'replcas'")]) == (
        "ERROR: <input>:1:12: undefined field 'replcas'\n | schema.spec.replcas\n | ...........^"
    )


def test_only_the_line_with_the_issue_is_shown() -> None:
    assert format_issues("a +\n  b +\nc", [at(8)]) == (
        "ERROR: <input>:2:5: wrong\n |   b +\n | ....^"
    )


def test_the_end_of_the_text_has_a_position_of_its_own() -> None:
    assert format_issues("a +", [at(3)]) == "ERROR: <input>:1:4: wrong\n | a +\n | ...^"


def test_an_issue_behind_a_final_newline_is_on_the_next_line() -> None:
    assert format_issues("a +\n", [at(4)]) == "ERROR: <input>:2:1: wrong\n | \n | ^"


def test_wide_characters_get_wide_dots() -> None:
    assert format_issues("'é' + x", [at(6)]).endswith("\n | .．....^")


def test_a_wide_character_gets_a_wide_caret() -> None:
    assert format_issues("a.é", [at(2)]).endswith("\n | ..＾")


def test_tabs_are_shown_as_blanks_so_that_the_caret_stays_below_its_place() -> None:
    assert format_issues("\ta", [at(1)]) == "ERROR: <input>:1:2: wrong\n |  a\n | .^"


def test_an_issue_of_the_whole_text_has_no_picture() -> None:
    issue = Issue("too long", NO_OFFSET, 0, 3)
    assert format_issues("abc", [issue]) == "ERROR: <input>:-1:0: too long"


def test_an_empty_text_has_no_picture() -> None:
    assert format_issues("", [at(0)]) == "ERROR: <input>:1:0: wrong"


def test_a_very_long_line_is_not_repeated() -> None:
    assert format_issues("a" * 16385, [at(7)]) == "ERROR: <input>:1:8: wrong"


def test_issues_are_printed_in_the_order_of_the_text() -> None:
    shown = format_issues("a b", [at(2, "second"), at(0, "first"), at(2, "third")])
    messages = [line for line in shown.split("\n") if line.startswith("ERROR")]
    assert messages == [
        "ERROR: <input>:1:1: first",
        "ERROR: <input>:1:3: second",
        "ERROR: <input>:1:3: third",
    ]


def test_no_more_than_a_hundred_issues_are_printed() -> None:
    shown = format_issues("a", [at(0)] * (MAX_ISSUES + 7))
    assert shown.count("ERROR:") == MAX_ISSUES
    assert shown.endswith("\n7 more errors were truncated")


def test_problems_are_expression_errors_that_print_and_keep_their_issues() -> None:
    issues = [at(2, "second"), at(0, "first")]
    for problem in (ParseError("a b", issues), CheckError("a b", issues)):
        assert isinstance(problem, ExpressionError)
        assert str(problem) == problem.message == format_issues("a b", issues)
        assert problem.text == "a b"
        assert [issue.message for issue in problem.issues] == ["first", "second"]


def test_syntax_and_types_have_different_codes() -> None:
    assert ParseError("", [at(0)]).code == "expression-syntax"
    assert CheckError("", [at(0)]).code == "expression-type"


def test_a_problem_gives_the_first_hint_of_its_issues() -> None:
    issues = [Issue("b", 2, 2, 3, "second"), Issue("a", 1, 1, 2, "first"), at(0)]
    assert ParseError("abc", issues).hint == "first"
    assert ParseError("abc", [at(0)]).hint == ""
