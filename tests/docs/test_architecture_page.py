"""ARCHITECTURE.md is short, and its table of packages is what import-linter enforces."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "ARCHITECTURE.md"
TEXT = PAGE.read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LARGEST = 10 * 1024  # bytes

_ROW = re.compile(r"^\| `(\w+)` \| [^|]+ \| (?:`(\w+)` and below|–) \| [^|]+ \|$", re.MULTILINE)
_PATH = re.compile(
    r"`((?:packages/[\w-]+|tools|tests|deploy|docs"
    r"|(?:cli|app|local|server|inspect|preview|source|engine|tracking|control|kube|settings|telemetry)"
    r"/[\w/]*\w)(?:/|\.py)?)`"
)


def layers() -> list[list[str]]:
    """Return the layers of the contract in pyproject.toml, from top to bottom."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "importlinter"
    ]["contracts"]
    [layered] = [one for one in contracts if one.get("containers") == ["kro_gitops"]]
    return [[name.strip() for name in layer.split("|")] for layer in layered["layers"]]


def test_the_page_is_at_most_ten_kilobytes() -> None:
    assert len(TEXT.encode()) <= LARGEST


def test_the_table_says_which_package_may_import_which() -> None:
    rows = dict(_ROW.findall(TEXT))
    contract = layers()
    allowed = {
        name: contract[level + 1] if level + 1 < len(contract) else [""]
        for level, layer in enumerate(contract)
        for name in layer
    }
    assert set(rows) == set(allowed)
    assert {name: rows[name] for name in rows if rows[name] not in allowed[name]} == {}


def test_the_diagram_shows_the_same_layers() -> None:
    drawn = re.search(r"```text\ncli\n(.*?)```", TEXT, re.DOTALL)
    assert drawn is not None
    assert [["cli"], *(line.split() for line in drawn[1].splitlines())] == layers()


def test_paths_that_are_named_exist() -> None:
    named = {path.rstrip("/") for path in _PATH.findall(TEXT + CONTRIBUTING)}
    missing = [
        path
        for path in sorted(named)
        if not any((base / path).exists() for base in (ROOT, ROOT / "kro_gitops"))
    ]
    assert missing == []
