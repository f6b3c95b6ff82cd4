"""Every row of the threat model names tests that exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "threat-model.md"
ACTORS = (
    "Platform engineer",
    "Tenant with git only",
    "Tenant with kubectl in a namespace",
    "Hostile remote",
    "Hostile pull-request author",
    "Local user",
)

_ROW = re.compile(r"\| (can|cannot)(?:, [^|]+)? \| ([^|]+) \| ([^|]+) \|")
_TEST = re.compile(r"\[(test_\w+)\]\(([^)]+)\)")


def sections() -> dict[str, list[str]]:
    """Return the lines of tables, without their heads, by the heading above them."""
    found: dict[str, list[str]] = {}
    for part in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        heading, *lines = part.splitlines()
        tables = [line for line in lines if line.startswith("|")]
        found[heading] = [
            line for line in tables if line not in ("| | | proven by |", "|---|---|---|")
        ]
    return found


@cache
def functions_in(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, functions))


def test_every_actor_has_a_section_with_what_it_can_and_cannot_do() -> None:
    assert tuple(sections()) == ACTORS
    for actor, lines in sections().items():
        rows = [_ROW.fullmatch(line) for line in lines]
        assert all(rows), [line for line in lines if not _ROW.fullmatch(line)]
        assert {row[1] for row in rows if row} == {"can", "cannot"}, actor


@pytest.mark.parametrize("actor", ACTORS)
def test_every_row_names_tests_that_exist(actor: str) -> None:
    missing = []
    for line in sections()[actor]:
        named = _TEST.findall(line)
        assert named, f"no test: {line}"
        for name, link in named:
            path = (PAGE.parent / link).resolve()
            if not path.is_file() or name not in functions_in(path):
                missing.append(f"{path.relative_to(ROOT)}::{name}")
    assert missing == []
