"""
Follows a page of the documentation: prepares its files, runs its commands, compares the output.

The fenced blocks of a page are executed from top to bottom in an empty folder. A comment on the
line before a block says what it is:

    <!-- file: rgds/webapp.yaml -->            the block is that file
    <!-- change: rgds/webapp.yaml -->          the block is a diff of that file
    <!-- in: examples/repo, with a as b -->    the commands run in a copy, with one mistake made

In a `console` block a line `$ kro-gitops …` is a command (`> FILE` at its end works, a backslash
continues it), and the lines below are what it prints. A line `…` stands for any lines, a line that
ends with `…` for any line with that beginning. A command that is shown without output must succeed.
`$ echo $?` shows the exit code of the command before.

A `Reader` runs our own verbs in this process, and no other command. Of verbs that need a cluster
it checks only the form: what they print is tested in tests/e2e. A `ShellReader` runs everything.
"""

import contextlib
import io
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from kro_gitops.cli.main import main
from kro_gitops.cli.verbs import build_parser

ROOT = Path(__file__).parents[2]
PROGRAM = "kro-gitops"
CLUSTER_VERBS = (
    *("run", "snapshot", "get", "tree", "explain", "timeline", "why"),
    *("sync", "suspend", "resume", "history", "rollback", "approve"),
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


class ShellReader(Reader):
    """Runs every command of a page in a shell."""

    def __init__(self, name: str, folder: Path, environment: Mapping[str, str]) -> None:
        super().__init__(name, folder)
        self._environment = environment

    def _try(self, command: Command) -> None:
        place = f"{self._name}:{command.line}: $ {command.text}"
        if command.text == "echo $?":
            super()._try(command)
            return
        done = subprocess.run(
            ["bash", "-c", command.text],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=120,
        )
        self._code = done.returncode
        lines = tuple(line.rstrip() for line in done.stdout.rstrip("\n").split("\n"))
        if not command.shown:
            assert self._code == 0, f"{place}\nfails:\n{done.stdout}"
        elif not matches(command.shown, lines):
            pytest.fail(f"{place}\nprints:\n{done.stdout}")
