import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.update_deploy import CHART, PAGE, ROOT, documented, page, values_table

VALUES = """\
# About the file.

# A.
a: 1
b: 2
# All of C.
c:
  # D, and
  # more of it.
  d:
    x: y
  e: []
"""


def leaves(data: dict[str, Any], path: str = "") -> Iterator[str]:
    for key, value in data.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}"


def test_the_table_of_values_is_what_the_chart_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tools.update_deploy"


def test_every_value_of_the_chart_is_in_the_table() -> None:
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    shown = [value.path for value in documented(text)]
    for leaf in leaves(yaml.safe_load(text)):
        assert any(f"{leaf}.".startswith(f"{path}.") for path in shown), leaf


def test_comments_above_values_become_rows() -> None:
    rows = {value.path: (value.default, value.text) for value in documented(VALUES)}
    assert rows == {"a": (1, "A."), "c.d": ({"x": "y"}, "D, and more of it.")}


def test_defaults_are_shown_as_json() -> None:
    assert '| `rbac.mode` | `"aggregation"` | Permissions of the controller.' in values_table()


# Values of kro's chart that the page says are not there.
GONE = {
    "image.ko",
    "deployment.containerPort",
    "config.development",
    "config.dynamicControllerDefaultResyncPeriod",
}
PAGES = (PAGE, PAGE.parents[1] / "guides" / "installing.md")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_files_and_values_that_are_named_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    files = set(re.findall(r"\bdeploy/[\w./-]*\w", text))
    assert [name for name in files if not (ROOT / name).exists()] == []
    known = {".".join(parts[:end]) for parts in _paths() for end in range(1, len(parts) + 1)}
    sections = "|".join(yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8")))
    named = set(re.findall(rf"[`\s]((?:{sections})\.[A-Za-z.]+\w)", text))
    labels = {"rbac.kro.run", "rbac.authorization.k8"}
    assert named - known <= GONE | labels


def _paths() -> list[list[str]]:
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    return [value.path.split(".") for value in documented(text)]
