import io

import pytest

from kro_gitops.cli.screen import Screen, cut, fitted

GREEN, PLAIN = "\x1b[32m", "\x1b[0m"


@pytest.mark.parametrize(
    ("line", "width", "expected"),
    [
        ("short", 10, "short"),
        ("exactly ten", 11, "exactly ten"),
        ("much too long", 6, "much …"),
        (f"a {GREEN}Healthy{PLAIN} b", 11, f"a {GREEN}Healthy{PLAIN} b"),
        (f"a {GREEN}Healthy{PLAIN} b", 5, f"a {GREEN}He…{PLAIN}"),
        ("日本語", 4, "日…"),
    ],
)
def test_a_line_is_cut_by_what_is_seen_of_it(line: str, width: int, expected: str) -> None:
    assert cut(line, width) == expected


def test_what_does_not_fit_is_counted() -> None:
    assert fitted(["1", "2", "3", "4"], 20, 3) == ["1", "2", "… and 2 more lines"]
    assert fitted(["1", "2", "3"], 20, 3) == ["1", "2", "3"]


def test_records_are_written_above_the_picture() -> None:
    terminal = io.StringIO()
    screen = Screen(terminal)
    screen.draw(["one", "two"])
    screen.write("a record\n")
    screen.draw(())
    assert terminal.getvalue() == ("one\ntwo\n\r\x1b[2A\x1b[Ja record\none\ntwo\n\r\x1b[2A\x1b[J")
