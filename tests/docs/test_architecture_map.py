"""The map in ARCHITECTURE.md is the tree."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.unit.test_architecture import PACKAGE, imports, is_shell, module_name

ROOT = Path(__file__).parents[2]
MAP = ROOT / "ARCHITECTURE.md"

_LINE = re.compile(r"(?P<indent> *)(?:(?P<mark>[·»]) )?(?P<name>[\w./]+)(?: {2,}\S.*)?")


def entries() -> Iterator[tuple[str, str]]:
    """Give the files of the map, by path below the package, with their marks."""
    text = MAP.read_text(encoding="utf-8")
    drawing = text[text.index(f"```\n{PACKAGE}/\n") :].split("```")[1]
    folders: list[str] = []
    for line in filter(None, drawing.splitlines()):
        matched = _LINE.fullmatch(line)
        assert matched, f"not a line of the map: {line!r}"
        depth = len(matched["indent"]) // 2
        del folders[depth:]
        if matched["name"].endswith("/"):
            folders.append(matched["name"].rstrip("/"))
        else:
            yield "/".join([*folders[1:], matched["name"]]), matched["mark"]


def test_every_file_is_in_the_map_once_and_every_entry_is_a_file() -> None:
    mapped = [path for path, _ in entries()]
    files = {file.relative_to(ROOT / PACKAGE).as_posix() for file in _files()}
    assert sorted(mapped) == sorted(files)


def test_marks_say_who_touches_the_world() -> None:
    wrong = [
        path
        for path, mark in entries()
        if (mark == "»") != is_shell(module_name(ROOT / PACKAGE / path))
    ]
    assert not wrong


def test_a_file_imports_only_files_above_it() -> None:
    above: set[str] = set()
    for path, _ in entries():
        needed = _imported(ROOT / PACKAGE / path)
        assert not needed - above, f"{path} stands above {', '.join(sorted(needed - above))}"
        above.add(path)


def _files() -> Iterator[Path]:
    """Give every module; of packages, only the first has a file of its own in the map."""
    for file in (ROOT / PACKAGE).rglob("*.py"):
        if file.name != "__init__.py" or file.parent.name == PACKAGE:
            yield file


def _imported(file: Path) -> set[str]:
    """Give the files of ours that a file imports."""
    found = set()
    for name in imports(ast.parse(file.read_text(encoding="utf-8"))):
        parts = name.split(".")
        if parts[0] != PACKAGE:
            continue
        # The last part may be a module, or something in one.
        for inner in (parts[1:], parts[1:-1], [*parts[1:-1], "__init__"]):
            path = "/".join(inner) + ".py"
            if (ROOT / PACKAGE / path).is_file():
                found.add(path)
                break
    return found - {file.relative_to(ROOT / PACKAGE).as_posix()}
