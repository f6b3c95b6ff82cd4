"""The tables in docs/reference/simpleschema.md say what the compiler does."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kro_gitops.engine.simpleschema.markers import MARKERS
from kro_gitops.engine.simpleschema.openapi import build_schema

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "simpleschema.md"
TYPES = {"Port": {"name": "string | required=true"}}

_CELL = re.compile(r"(?<!\\)\|")
_CODE = re.compile(r"`([^`]+)`")


def rows(subject: str) -> Iterator[list[str]]:
    """Give the cells of the tables that are marked as checked for a subject."""
    for table in PAGE.read_text(encoding="utf-8").split(f"<!-- checked: {subject} -->\n")[1:]:
        for line in table.split("\n\n")[0].splitlines()[2:]:
            yield [cell.strip().replace(r"\|", "|") for cell in _CELL.split(line)[1:-1]]


def code(cell: str) -> str:
    found = _CODE.search(cell)
    assert found, f"no code in {cell!r}"
    return found[1]


def field_rows() -> Iterator[Any]:
    for cells in rows("fields"):
        definition, schema = code(cells[-2]), code(cells[-1])
        yield pytest.param(definition, schema, id=definition)


@pytest.mark.parametrize(("definition", "schema"), list(field_rows()))
def test_a_field_has_the_schema_its_row_shows(definition: str, schema: str) -> None:
    built = build_schema({"field": definition}, TYPES)
    assert built.schema is not None, built.problems
    assert built.schema["properties"]["field"] == yaml.safe_load(schema)


@pytest.mark.parametrize("cells", [pytest.param(c, id=code(c[0])) for c in rows("mistakes")])
def test_a_mistake_has_the_code_and_the_hint_its_row_shows(cells: list[str]) -> None:
    problems = build_schema({"field": code(cells[0])}, TYPES).problems
    assert [problem.code for problem in problems] == [code(cells[1])]
    assert problems[0].hint == cells[2]


def test_every_marker_has_its_row() -> None:
    named = {word for cells in rows("fields") for word in re.findall(r"`(\w+)=[A-Z]+`", cells[0])}
    assert named == set(MARKERS)
