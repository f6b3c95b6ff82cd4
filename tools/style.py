"""
Print how the code is cut: `python -m tools.style`, or `make style`.

Figures with a goal fail the command when they miss it; the others are printed for orientation, and
nothing is gained by padding them.
"""

import ast
import io
import statistics
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("kro_gitops", *(f"packages/kube-{name}/src" for name in ("objects", "cel", "sandbox")))
TESTS = ("tests", *(f"packages/kube-{name}/tests" for name in ("objects", "cel", "sandbox")))

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True)
class Figures:
    """What was counted in the source files."""

    file_lengths: list[int] = field(default_factory=list)
    function_lengths: list[int] = field(default_factory=list)
    used_once: list[str] = field(default_factory=list)  # private functions with one use
    registered: int = 0  # private functions that only a decorator uses
    local_imports: list[str] = field(default_factory=list)
    wide: list[str] = field(default_factory=list)  # functions with more than eight parameters
    docstrings: int = 0
    multi_line_docstrings: int = 0
    prose_lines: int = 0  # comments and docstrings
    test_lines: int = 0


def main() -> int:
    """Print the figures; return 1 if one of them misses its goal."""
    figures = Figures()
    for path in _files(SOURCES):
        _count(path, figures)
    figures.test_lines = sum(len(_text(path).splitlines()) for path in _files(TESTS))
    functions, files = len(figures.function_lengths), figures.file_lengths
    once = 100 * len(figures.used_once) / functions
    rows: list[tuple[str, float, str, bool]] = [
        ("private functions used once in their file, %", once, "≤ 12", once <= 12),
        *_lengths("function length", figures.function_lengths, (7, 10), 95, 50),
        *_lengths("file length", files, (100, 250), 90, 450),
        _none("function-level imports", figures.local_imports),
        _none("functions with more than 8 parameters", figures.wide),
    ]
    for name, value, goal, is_met in rows:
        print(f"{name:<46} {value:8.1f}   goal {goal:<10} {'' if is_met else 'MISSED'}".rstrip())
    lines = sum(files)
    prose = 100 * figures.prose_lines / lines
    print(f"{'prose (comments and docstrings), % of lines':<46} {prose:8.1f}")
    registered = 100 * figures.registered / functions
    print(f"{'private functions registered by decorators, %':<46} {registered:8.1f}")
    several = 100 * figures.multi_line_docstrings / max(1, figures.docstrings)
    print(f"{'docstrings of several lines, %':<46} {several:8.1f}")
    print(f"{'lines of tests per line of source':<46} {figures.test_lines / lines:8.2f}")
    print(f"{functions} functions in {len(files)} files with {lines} lines")
    if "--list" in sys.argv[1:]:
        print("\n".join((*figures.used_once, *figures.local_imports, *figures.wide)))
    return 0 if all(is_met for *_, is_met in rows) else 1


def _lengths(
    name: str, lengths: list[int], median: tuple[int, int], percentile: int, limit: int
) -> Iterator[tuple[str, float, str, bool]]:
    middle = statistics.median(lengths)
    at = statistics.quantiles(lengths, n=100)[percentile - 1]
    low, high = median
    yield f"{name}, median", middle, f"{low}–{high}", low <= middle <= high
    yield f"{name}, p{percentile}", at, f"< {limit}", at < limit


def _none(name: str, found: list[str]) -> tuple[str, float, str, bool]:
    return name, len(found), "0", not found


def _count(path: Path, figures: Figures) -> None:
    text = _text(path)
    tree = ast.parse(text)
    figures.file_lengths.append(len(text.splitlines()))
    figures.prose_lines += sum(
        1
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    )
    uses: Counter[str] = Counter()
    functions: list[Function] = []
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                uses[name] += 1
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                functions.append(node)
            case _:
                pass
        if isinstance(node, ast.Module | ast.ClassDef | Function):
            docstring = ast.get_docstring(node, clean=False)
            if docstring is not None:
                figures.docstrings += 1
                figures.multi_line_docstrings += "\n" in docstring
                figures.prose_lines += len(docstring.splitlines())
    for function in functions:
        _count_function(function, uses, f"{path.relative_to(ROOT)}:{function.lineno}", figures)


def _count_function(function: Function, uses: Counter[str], place: str, figures: Figures) -> None:
    where = f"{place} {function.name}"
    figures.function_lengths.append((function.end_lineno or function.lineno) - function.lineno + 1)
    is_private = function.name.startswith("_") and not function.name.startswith("__")
    if is_private and uses[function.name] == 1:
        figures.used_once.append(where)
    figures.registered += is_private and uses[function.name] == 0
    if any(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.walk(function)):
        figures.local_imports.append(where)
    if len(function.args.args) + len(function.args.kwonlyargs) > 8:
        figures.wide.append(where)


def _files(folders: tuple[str, ...]) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
