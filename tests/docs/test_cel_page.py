"""The functions in docs/reference/cel.md are the engine's, with the values it computes."""

import pytest

from kube_cel.environment import Environment
from tools.update_cel_docs import BEGIN, END, EXAMPLES, MACROS, PAGE, read_examples, updated


def test_the_page_is_current() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == updated(page), "run: python -m tools.update_cel_docs"


def test_the_page_shows_each_function_that_can_be_called_by_name() -> None:
    text = PAGE.read_text(encoding="utf-8")
    tables = text[text.index(BEGIN) : text.index(END)]
    named = {name for name in Environment.kro().functions if name[0].isalpha() and "@" not in name}
    assert {name for name in named if f"{name}(" not in tables} == set()


def test_an_example_that_has_no_form_is_refused() -> None:
    with pytest.raises(SystemExit, match="not an example: charAt"):
        read_examples("[Strings]\ncharAt without a description\n")


def test_macros_are_shown_as_they_are_written() -> None:
    macros = read_examples(EXAMPLES.read_text(encoding="utf-8"))[MACROS]
    assert "has(e.f)" in {one.name for one in macros}
    assert all(one.name.endswith(")") for one in macros)
