"""
Tables and trees for terminals: columns that line up, colours for words that say how it is.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from kro_gitops.cli.output import Style
from kro_gitops.engine.applyset import GroupKind
from kro_gitops.inspect.views.instances import Absent, Branch, age, created, first_line
from kro_gitops.telemetry.printable import columns, printable, to_json
from kube_objects.refs import KubeObject, ObjectRef
from kube_objects.yaml_writer import to_yaml

_GAP = "   "
_DIM = "2"
_LONGEST = 240  # characters of one cell
_GREEN, _YELLOW, _RED, _BLUE = "32", "33", "31", "34"
_COLOURS = {
    **dict.fromkeys(("Healthy", "True", "Active", "ACTIVE"), _GREEN),
    **dict.fromkeys(("Progressing", "Unknown", "IN_PROGRESS", "DELETING"), _YELLOW),
    **dict.fromkeys(("Degraded", "Failed", "False", "Inactive", "ERROR"), _RED),
    "Suspended": _BLUE,
}


@dataclass(frozen=True, slots=True)
class Line:
    """One row; what is dimmed is there only for completeness."""

    cells: tuple[str, ...]
    is_dim: bool = False


def format_table(header: Sequence[str], lines: Sequence[Line], style: Style) -> str:
    """Print rows under a header; columns that hold nothing are left out."""
    kept = [at for at in range(len(header)) if any(line.cells[at] for line in lines)]
    names = [header[at] for at in kept]
    rows = [[_cell(line.cells[at]) for at in kept] for line in lines]
    widths = [max(columns(row[at]) for row in (names, *rows)) for at in range(len(kept))]
    text = [_joined(_padded(names, widths))]
    for line, row in zip(lines, rows, strict=True):
        padded = _padded(row, widths)
        if line.is_dim:
            text.append(style.paint(_joined(padded), _DIM))
        else:
            text.append(_joined(_painted(cell, style) for cell in padded))
    return "".join(f"{each}\n" for each in text)


def _cell(text: str) -> str:
    shown = printable(text)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def _padded(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Fill cells up to the width of their column, but for the last."""
    filled = [
        cell + " " * (width - columns(cell))
        for cell, width in zip(cells[:-1], widths[:-1], strict=True)
    ]
    return [*filled, *cells[-1:]]


def _joined(cells: Iterable[str]) -> str:
    return _GAP.join(cells).rstrip()


def _painted(cell: str, style: Style) -> str:
    word = cell.rstrip()
    colour = _COLOURS.get(word)
    return style.paint(word, colour) + cell[len(word) :] if colour else cell


def format_names(objects: Iterable[KubeObject]) -> str:
    """Print names as `kubectl get -o name` does: `webapp.kro.run/front`."""
    refs = map(ObjectRef.of, objects)
    return "".join(f"{GroupKind.of(ref.kind)}".lower() + f"/{ref.name}\n" for ref in refs)


def format_objects(objects: Sequence[KubeObject], form: str, *, is_one: bool) -> str:
    """Print objects as YAML or JSON, several as one list; who set which field is left out."""
    items = [_without_managers(each) for each in objects]
    value = items[0] if is_one else {"apiVersion": "v1", "kind": "List", "items": items}
    return to_json(value) if form == "json" else to_yaml(value)


def _without_managers(obj: KubeObject) -> KubeObject:
    metadata = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": metadata}


@dataclass(frozen=True, slots=True)
class Strokes:
    """What trees are drawn with."""

    fork: str
    last: str
    trunk: str
    gap: str


UNICODE = Strokes("├── ", "└── ", "│   ", "    ")
ASCII = Strokes("|-- ", "`-- ", "|   ", "    ")


def strokes_for(encoding: str | None) -> Strokes:
    """Return strokes that a terminal can show."""
    is_unicode = encoding is None or encoding.lower().replace("-", "") == "utf8"
    return UNICODE if is_unicode else ASCII


TREE_HEADER = ("OBJECT", "HEALTH", "AGE", "MESSAGE")


def tree_lines(tree: Branch, strokes: Strokes, now: datetime) -> Iterator[Line]:
    """Draw an instance and what it made, a row each."""
    yield _branch_line(tree, "", now)
    yield from _below(tree, strokes, now, "")


def _below(tree: Branch, strokes: Strokes, now: datetime, indent: str) -> Iterator[Line]:
    parts: list[Branch | Absent] = [*tree.branches, *tree.absent]
    for part in parts:
        is_last = part is parts[-1]
        head = indent + (strokes.last if is_last else strokes.fork)
        if isinstance(part, Absent):
            yield Line((f"{head}{part.node}: {part.what}", "-", "-", part.why), is_dim=True)
            continue
        yield _branch_line(part, head, now)
        yield from _below(part, strokes, now, indent + (strokes.gap if is_last else strokes.trunk))


def _branch_line(branch: Branch, head: str, now: datetime) -> Line:
    ref, verdict = branch.ref, branch.verdict
    node = f"{branch.node}: " if branch.node else ""
    # Below an instance the namespace goes without saying, if it is the instance's.
    place = f" in {ref.namespace}" if ref.namespace and not head else ""
    said = "" if branch.is_healthy else first_line(verdict.message)
    message = " · ".join(text for text in (said, branch.note) if text)
    name = f"{head}{node}{ref.kind.kind}/{ref.name}{place}"
    return Line((name, str(verdict.health), age(created(branch.object), now), message))
