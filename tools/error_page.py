"""
The examples of docs/reference/errors.md: what they show is what `kro-gitops validate` says.

A heading of the third level is a code. Below it, a `yaml` block is an example and the `text` block
after it what is printed about it. An example is a part of a file, told by its first key: of a
definition (`schema`, `resources`), of a ConfigMap in one (`data`), of an instance (`spec`), or a
whole file (anything else). A comment before it, `# --feature …`, adds words to the command.
"""

import contextlib
import io
import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Any

from kro_gitops.cli.main import main

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "errors.md"

_HEADING = re.compile(r"^### (\S+)$", re.MULTILINE)
_EXAMPLE = re.compile(r"```yaml\n([^`]*)```\n\n```text\n(.*?)```\n", re.DOTALL)
_BLOCK = re.compile(r"```yaml\n(schema:\n[^`]*)```\n")

_KIOSK = """\
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata:
  name: kiosk
spec:
"""
_SCHEMA_HEAD = "  apiVersion: v1alpha1\n  kind: Kiosk\n"
_INSTANCE = """\
apiVersion: kro.run/v1alpha1
kind: Kiosk
metadata:
  name: corner
  namespace: town
"""
_CONFIG_MAP = """\
resources:
  - id: settings
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: ${schema.metadata.name}
"""


@dataclass(frozen=True, slots=True)
class Example:
    """An example of a code, and what the page says is printed about it."""

    code: str
    text: str
    shown: str


def headings(page: str) -> list[str]:
    """List the codes that have a heading."""
    return _HEADING.findall(page)


def examples(page: str) -> Iterator[Example]:
    """Give every example of a page."""
    parts = _HEADING.split(page)
    for code, section in zip(parts[1::2], parts[2::2], strict=True):
        for text, shown in _EXAMPLE.findall(section):
            yield Example(code, text, shown)


def kiosk(page: str) -> str:
    """Return the schema that examples share; it is the first block of the page."""
    found = _BLOCK.search(page)
    assert found is not None
    return found[1]


def files_of(text: str, schema: str) -> dict[str, str]:
    """Make whole files of an example."""
    first = re.match(r"(?:#.*\n)*(\w+):", text)
    match first[1] if first else "":
        case "schema" | "resources":
            return {"rgd.yaml": _definition(text, schema)}
        case "data":
            return {"rgd.yaml": _definition(_CONFIG_MAP + indent(text, " " * 6), schema)}
        case "spec":
            return {"rgd.yaml": _definition("", schema), "instance.yaml": _INSTANCE + text}
        case _:
            return {"example.yaml": text}


def _definition(text: str, schema: str) -> str:
    given = text if re.search(r"^schema:", text, re.MULTILINE) else schema + text
    if "\n  kind:" not in given:
        given = given.replace("schema:\n", f"schema:\n{_SCHEMA_HEAD}", 1)
    if not re.search(r"^resources:", given, re.MULTILINE):
        given += "resources: []\n"
    return _KIOSK + indent(given, "  ")


def printed(text: str, schema: str) -> str:
    """Return what is said about an example: code, summary and hint of every finding."""
    words = re.match(r"# (--.*)\n", text)
    findings = validated(files_of(text, schema), words[1].split() if words else [])
    return "".join(_shown(finding) for finding in findings)


def _shown(finding: dict[str, Any]) -> str:
    summary = finding["summary"].replace("\n", " ")
    head = f"{finding['severity']}[{finding['code']}]: {summary}\n"
    return head + (f"  hint: {finding['hint']}\n" if finding["hint"] else "")


def validated(files: dict[str, str], words: list[str]) -> list[dict[str, Any]]:
    """Run `kro-gitops validate` on files."""
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        with (
            contextlib.chdir(folder),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            main(["validate", ".", "-o", "json", *words])
    found: list[dict[str, Any]] = json.loads(out.getvalue())
    return found


def refreshed(page: str) -> str:
    """Return the page with what its examples print written anew."""
    schema = kiosk(page)

    def replace(match: re.Match[str]) -> str:
        said = printed(match[1], schema)
        return f"```yaml\n{match[1]}```\n\n```text\n{said}```\n"

    return _EXAMPLE.sub(replace, page)
