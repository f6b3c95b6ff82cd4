"""Every `kro-gitops` command in the documentation prints what its page shows."""

from pathlib import Path

import pytest

from tests.docs.reader import PROGRAM, ROOT, Reader, matches


def _pages() -> list[str]:
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    with_commands = [p for p in paths if f"$ {PROGRAM} " in p.read_text(encoding="utf-8")]
    return [path.relative_to(ROOT).as_posix() for path in with_commands]


@pytest.mark.parametrize("page", _pages())
def test_commands_print_what_their_page_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    Reader(page, tmp_path).follow((ROOT / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("shown", "is_same"),
    [
        pytest.param(("a", "b", "c"), True, id="the very lines"),
        pytest.param(("a", "c"), False, id="a line too few"),
        pytest.param(("a", "b", "c", "d"), False, id="a line too many"),
        pytest.param(("…", "c"), True, id="the beginning left out"),
        pytest.param(("a", "…"), True, id="the end left out"),
        pytest.param(("a", "…", "c"), True, id="the middle left out"),
        pytest.param(("…", "b"), False, id="a last line that is not the last"),
        pytest.param(("a", "…", "d"), False, id="a line that is never printed"),
    ],
)
def test_dots_stand_for_lines_left_out(shown: tuple[str, ...], is_same: bool) -> None:
    assert matches(shown, ("a", "b", "c")) is is_same


def test_dots_at_the_end_stand_for_the_rest_of_a_line() -> None:
    assert matches(("kro: failed …",), ("kro: failed to build",))
    assert not matches(("kro: failed …",), ("kro: succeeded",))


PAGE = """\
<!-- file: data.yaml -->
```yaml
size: 3
```

<!-- change: data.yaml -->
```diff
-size: 3
+size: 4
```

```console
$ kro-gitops eval 'size * 2' \\
    --data data.yaml
type:  int
value: 8
$ kro-gitops eval 'size +' --data data.yaml > result.txt
ERROR: …
…
$ echo $?
1
$ no-such-program
```
"""


def test_a_page_is_followed_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Reader("page", tmp_path).follow(PAGE)
    assert (tmp_path / "result.txt").read_text(encoding="utf-8") == ""


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(("value: 8", "value: 9"), id="another value"),
        pytest.param(("\n1\n", "\n0\n"), id="another exit code"),
        pytest.param(("-size: 3", "-size: 5"), id="a change of what is not there"),
        pytest.param(("\nERROR: …\n…\n", "\n"), id="a failure that is not shown"),
        pytest.param(("$ no-such-program", "$ kro-gitops tree --no-such-option"), id="no option"),
    ],
)
def test_a_page_that_tells_a_story_of_its_own_is_found_out(
    wrong: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((AssertionError, pytest.fail.Exception, SystemExit)):
        Reader("page", tmp_path).follow(PAGE.replace(*wrong))
