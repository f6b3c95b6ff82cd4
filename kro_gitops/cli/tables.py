"""
Tables and trees as text, and objects as JSON, YAML or names.

A `Row` may have rows below it: then the table is a tree, drawn in its first column. A pipe or a
file gets plain text, the same on every machine, with each row on one line. A terminal gets rich's
tables (`cli.terminal_tables`), which fit its width; rich is imported only then, because it costs
20 ms, and about 0.4 ms for each row.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib import import_module

from kro_gitops.cli.messages import style_of
from kro_gitops.engine.applyset import GroupKind
from kro_gitops.inspect.views.instances import Branch, age, created, first_line
from kro_gitops.telemetry.printable import columns, printable, to_json
from kube_objects.refs import KubeObject, ObjectRef
from kube_objects.yaml_writer import to_yaml

TREE_HEADER = ("OBJECT", "HEALTH", "AGE", "MESSAGE")
GAP = 3  # blanks between two columns
_MAX_CELL = 240  # characters
_MAX_RICH_ROWS = 500  # more rows are printed plain on a terminal, too


@dataclass(frozen=True, slots=True)
class Row:
    """One row, and the rows below it in a tree; a dim row stands for something that is absent."""

    cells: tuple[str, ...]
    rows: tuple["Row", ...] = ()
    is_dim: bool = False


@dataclass(frozen=True, slots=True)
class Guides:
    """The characters that trees are drawn with."""

    fork: str
    last: str
    trunk: str
    gap: str


UNICODE = Guides("├── ", "└── ", "│   ", "    ")
ASCII = Guides("|-- ", "`-- ", "|   ", "    ")


def guides_for(encoding: str | None) -> Guides:
    """Return guides that a stream of some encoding can show."""
    is_unicode = encoding is None or encoding.lower().replace("-", "") == "utf8"
    return UNICODE if is_unicode else ASCII


def print_table(header: Sequence[str], rows: Sequence[Row], args: argparse.Namespace) -> None:
    """Print rows under a header to standard output."""
    lines = flatten(rows, guides_for(sys.stdout.encoding))
    is_on = style_of(args).is_on
    if is_on and len(lines) <= _MAX_RICH_ROWS:
        import_module("kro_gitops.cli.terminal_tables").print_table(header, lines)
    else:
        sys.stdout.write(format_table(header, lines))


def flatten(rows: Iterable[Row], guides: Guides) -> list[Row]:
    """Return all rows of a tree, top to bottom, the first cell of each indented by its guides."""

    def below(row: Row, indent: str) -> Iterator[Row]:
        for number, inner in enumerate(row.rows, 1):
            is_last = number == len(row.rows)
            head, rest = (guides.last, guides.gap) if is_last else (guides.fork, guides.trunk)
            label, *others = inner.cells
            yield Row((f"{indent}{head}{label}", *others), is_dim=inner.is_dim)
            yield from below(inner, indent + rest)

    return [line for row in rows for line in (replace(row, rows=()), *below(row, ""))]


def format_table(header: Sequence[str], lines: Sequence[Row]) -> str:
    """Format rows as plain text; columns without any value are left out."""
    names, shown = without_empty_columns(header, lines)
    table = [names, *(row.cells for row in shown)]
    widths = [max(map(columns, column)) for column in zip(*table, strict=True)]
    text = []
    for cells in table:
        padded = [
            cell + " " * (width - columns(cell)) for cell, width in zip(cells, widths, strict=True)
        ]
        text.append((" " * GAP).join(padded).rstrip() + "\n")
    return "".join(text)


def without_empty_columns(
    header: Sequence[str], lines: Sequence[Row]
) -> tuple[tuple[str, ...], list[Row]]:
    """Return header and rows with the columns that have values; cells are printable and short."""
    kept = [at for at in range(len(header)) if any(line.cells[at] for line in lines)]
    shown = []
    for line in lines:
        cells = [printable(line.cells[at]) for at in kept]
        cut = (c if len(c) <= _MAX_CELL else f"{c[: _MAX_CELL - 1]}…" for c in cells)
        shown.append(replace(line, cells=tuple(cut)))
    return tuple(header[at] for at in kept), shown


def format_names(objects: Iterable[KubeObject]) -> str:
    """Format names as `kubectl get -o name` does: `webapp.kro.run/front`."""
    refs = map(ObjectRef.of, objects)
    return "".join(f"{GroupKind.of(ref.kind)}".lower() + f"/{ref.name}\n" for ref in refs)


def format_objects(objects: Sequence[KubeObject], form: str, *, is_one: bool) -> str:
    """Format objects as YAML or JSON, several as a list; managedFields are left out."""
    items = []
    for obj in objects:
        metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
        items.append({**obj, "metadata": metadata})
    value = items[0] if is_one else {"apiVersion": "v1", "kind": "List", "items": items}
    return format_data(value, form)


def format_data(data: object, form: str) -> str:
    """Format data as JSON or YAML."""
    return to_json(data) if form == "json" else to_yaml(data)


def branch_row(branch: Branch, now: datetime, *, is_root: bool = True) -> Row:
    """Return the rows of an instance and its children."""
    ref, verdict = branch.ref, branch.verdict
    node = f"{branch.node}: " if branch.node else ""
    # A child is in the namespace of its instance, unless it says otherwise.
    place = f" in {ref.namespace}" if ref.namespace and is_root else ""
    said = "" if branch.is_healthy else first_line(verdict.message)
    message = " · ".join(text for text in (said, branch.note) if text)
    name = f"{node}{ref.kind.kind}/{ref.name}{place}"
    inner = [branch_row(child, now, is_root=False) for child in branch.branches]
    inner += [
        Row((f"{absent.node}: {absent.what}", "-", "-", absent.why), is_dim=True)
        for absent in branch.absent
    ]
    cells = (name, str(verdict.health), age(created(branch.object), now), message)
    return Row(cells, tuple(inner))
