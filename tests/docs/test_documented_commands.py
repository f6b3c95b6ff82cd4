"""
Every `kro-gitops` command in the documentation prints what its page shows.

A page is a story: its fenced blocks are carried out from top to bottom in an empty folder. A
comment on the line before a block says what it is:

    <!-- file: rgds/webapp.yaml -->            the block is that file
    <!-- change: rgds/webapp.yaml -->          the block is a diff of that file
    <!-- in: examples/repo, with a as b -->    the commands run in a copy, with one mistake made

In a `console` block a line `$ kro-gitops …` is a command (`> FILE` at its end works, a backslash
continues it), and the lines below are what it prints. A line `…` stands for any lines, a line that
ends with `…` for any line with that beginning. A command that is shown without output must succeed.
`$ echo $?` shows the exit code of the command before. Other commands are not run.

Nor are those that need a cluster, of which only the form is checked: what they print is tested in
tests/e2e.
"""

import contextlib
import io
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kro_gitops.cli.main import main
from kro_gitops.cli.verbs import build_parser

ROOT = Path(__file__).parents[2]
PROGRAM = "kro-gitops"
CLUSTER_VERBS = (
    *("run", "snapshot", "get", "tree", "explain", "why"),
    *("sync", "suspend", "resume", "history", "rollback"),
)
ANY_LINES = "…"

_FENCE = "```"
_DIRECTIVE = re.compile(r"<!-- (file|change|in): ([^\s,]+)(?:, with (\S+) as (\S+))? -->")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its lines, its place, and the comment before it."""

    language: str
    lines: tuple[str, ...]
    line: int
    directive: re.Match[str] | None


@dataclass(frozen=True, slots=True)
class Command:
    """A command line and what the page says it prints."""

    text: str
    shown: tuple[str, ...]
    line: int


def blocks(page: str) -> Iterator[Block]:
    """Give the fenced blocks of a page."""
    lines = page.splitlines()
    end = -1
    for start, line in enumerate(lines):
        if start <= end or not line.startswith(_FENCE):
            continue
        end = lines.index(_FENCE, start + 1)
        directive = _DIRECTIVE.fullmatch(lines[start - 1]) if start else None
        inside = tuple(lines[start + 1 : end])
        yield Block(line.removeprefix(_FENCE).strip(), inside, start + 2, directive)


def commands(block: Block) -> Iterator[Command]:
    """Give the commands of a console block."""
    starts = [index for index, line in enumerate(block.lines) if line.startswith("$ ")]
    for start, end in zip(starts, [*starts[1:], len(block.lines)], strict=True):
        text, last = block.lines[start][2:], start
        while text.endswith("\\"):
            last += 1
            text = text[:-1] + block.lines[last].strip()
        shown = [line.rstrip() for line in block.lines[last + 1 : end]]
        while shown and not shown[-1]:
            shown.pop()
        yield Command(text, tuple(shown), block.line + start)


def matches(shown: tuple[str, ...], printed: tuple[str, ...]) -> bool:
    """Say whether lines are what a page shows, `…` standing for what it leaves out."""
    if not shown:
        return not printed
    if shown[0].strip() == ANY_LINES:
        rest = shown[1:]
        return any(matches(rest, printed[skipped:]) for skipped in range(len(printed) + 1))
    return bool(printed) and _same_line(shown[0], printed[0]) and matches(shown[1:], printed[1:])


def _same_line(shown: str, printed: str) -> bool:
    if shown.endswith(ANY_LINES):
        return printed.startswith(shown.removesuffix(ANY_LINES))
    return shown == printed


def change(text: str, difference: tuple[str, ...]) -> str:
    """Apply a diff without line numbers: what it takes away must stand in the text exactly once."""
    old = "".join(f"{line[1:]}\n" for line in difference if not line.startswith("+"))
    new = "".join(f"{line[1:]}\n" for line in difference if not line.startswith("-"))
    assert text.count(old) == 1, f"stands {text.count(old)} times in the file:\n{old}"
    return text.replace(old, new)


class Reader:
    """Somebody who follows a page in a folder of their own."""

    def __init__(self, name: str, folder: Path) -> None:
        self._name = name
        self._folder = folder
        self._code = 0

    def follow(self, page: str) -> None:
        """Do what the page says, block by block."""
        for block in blocks(page):
            if block.directive is not None:
                self._prepare(block, *block.directive.groups())
            if block.language == "console":
                for command in commands(block):
                    self._try(command)

    def _prepare(self, block: Block, what: str, path: str, old: str | None, new: str) -> None:
        target = self._folder / path
        if what == "in":
            shutil.copytree(ROOT / path, self._folder, dirs_exist_ok=True)
            if old is not None:
                _replace_everywhere(self._folder, old, new)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        if what == "file":
            target.write_text("\n".join((*block.lines, "")), encoding="utf-8")
        else:
            text = target.read_text(encoding="utf-8")
            target.write_text(change(text, block.lines), encoding="utf-8")

    def _try(self, command: Command) -> None:
        place = f"{self._name}:{command.line}: $ {command.text}"
        words = shlex.split(command.text, comments=True)
        if command.text == "echo $?":
            assert command.shown == (str(self._code),), f"{place}\nprints {self._code}"
        elif words[0] == PROGRAM and words[1] in CLUSTER_VERBS:
            build_parser(words[1]).parse_args(words[1:])
        elif words[0] == PROGRAM:
            printed, self._code = self._run(words[1:])
            lines = tuple(line.rstrip() for line in printed.rstrip("\n").split("\n"))
            if not command.shown:
                assert self._code == 0, f"{place}\nfails:\n{printed}"
            elif not matches(command.shown, lines):
                pytest.fail(f"{place}\nprints:\n{printed}")

    def _run(self, words: list[str]) -> tuple[str, int]:
        if any(word.startswith("examples/") for word in words):
            link = self._folder / "examples"
            if not link.exists():
                link.symlink_to(ROOT / "examples")
        target = None
        if words[-2:-1] == [">"]:
            target, words = self._folder / words[-1], words[:-2]
        screen = io.StringIO()
        data = io.StringIO() if target else screen
        with contextlib.redirect_stdout(data), contextlib.redirect_stderr(screen):
            code = _exit_code(lambda: main(words))
        if target:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(data.getvalue(), encoding="utf-8")
        return screen.getvalue(), code


def _exit_code(run: Callable[[], int]) -> int:
    try:
        return run()
    except SystemExit as end:
        return int(end.code or 0)


def _replace_everywhere(folder: Path, old: str, new: str) -> None:
    holding = [p for p in folder.rglob("*.yaml") if old in p.read_text(encoding="utf-8")]
    assert holding, f"no file has {old!r}"
    for path in holding:
        path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


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
