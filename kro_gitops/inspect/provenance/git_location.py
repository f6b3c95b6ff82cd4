"""
Where in git a field is written: the file, the line, the commit.

The annotations of a live object name the source, the file and the commit it was applied from. With
the text of that file the line is found by parsing it again. Without it the answer is only the file
and the commit, because the cluster knows no more.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from kro_gitops.inspect.views.instances import Written, written
from kube_objects.documents import Document, load
from kube_objects.paths import MISSING, find, format_path
from kube_objects.problems import Path, Spot
from kube_objects.refs import KubeObject, ObjectRef


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: author, time (RFC 3339) and subject."""

    id: str
    author: str = ""
    email: str = ""
    time: str = ""
    subject: str = ""

    def to_json(self) -> dict[str, str]:
        """Return it as data, without unknown fields."""
        found = {
            "id": self.id,
            "author": self.author,
            "email": self.email,
            "time": self.time,
            "subject": self.subject,
        }
        return {key: value for key, value in found.items() if value}


class Repository(Protocol):
    """The part of a git repository that is needed here; what it does not have is `None`."""

    def read(self, path: str, revision: str) -> bytes | None:
        """Return a file at a commit."""

    def blame(self, revision: str, path: str, line: int) -> Commit | None:
        """Return the commit that last changed a line, as of a revision."""

    def commit(self, id: str) -> Commit | None:
        """Return a commit."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, and the part of it that is meant; all count from 1."""

    number: int
    column: int
    width: int
    text: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is written: the object, the file, and the line if it is known."""

    subject: str  # the object: `WebApp shop/front`
    path: Path
    written: Written | None = None
    line: Line | None = None
    note: str = ""
    commit: Commit | None = None  # that last changed the line, or the object if there is none

    @property
    def file(self) -> str:
        """Return file:line:column."""
        if self.written is None or not self.written.path:
            return ""
        if self.line is None:
            return self.written.path
        return f"{self.written.path}:{self.line.number}:{self.line.column}"

    def to_json(self) -> dict[str, Any]:
        """Return it as data."""
        found: dict[str, Any] = {"object": self.subject, "field": format_path(self.path)}
        if self.written is not None:
            found["source"] = self.written.source
            found["file"] = self.written.path
            found["revision"] = self.written.revision
        if self.line is not None:
            found |= {"line": self.line.number, "column": self.line.column}
            if self.line.text:
                found["text"] = self.line.text
        if self.commit is not None:
            found["commit"] = self.commit.to_json()
        return {**found, "note": self.note} if self.note else found


@dataclass(frozen=True, slots=True)
class Page:
    """An object's own text: where it is written, and the document if it could be read."""

    object: KubeObject = field(repr=False)
    document: Document | None = field(default=None, repr=False)
    root: Path = ()  # where in the document the object stands, if that is a list of objects

    @property
    def written(self) -> Written | None:
        """Return the source, the file and the commit, if the object names them."""
        return written(self.object)

    @property
    def name(self) -> str:
        """Return the object as kind, namespace and name."""
        return str(ObjectRef.of(self.object))

    def text_of(self) -> Any:
        """Return the object as the text has it, or `MISSING`."""
        return self.value_at(())

    def value_at(self, path: Path) -> Any:
        """Return the value in the text; `MISSING` if there is none, or no text."""
        return MISSING if self.document is None else find(self.document.value, self.root + path)

    def place(self, spot: Spot, *, hidden: bool = False) -> Place:
        """Return the line of a spot of the object; `hidden` leaves out the text of the line."""
        if self.document is None:
            return Place(self.name, spot.path, self.written)
        # Of a map or list, the interesting line is that of its key, not of its first part.
        text, live = self.value_at(spot.path), find(self.object, spot.path)
        is_part = bool(spot.path) and isinstance(text, dict | list)
        spot = replace(spot, on_key=spot.on_key or is_part)
        in_document = spot.below(self.root)
        origin = self.document.origin(in_document)
        source_line = "" if hidden else self.document.source_line(origin.line)
        line = Line(origin.line, origin.column, self.document.width(in_document), source_line)
        note = ""
        if text is MISSING:
            note = "the file does not have this field; this is the nearest above it"
        elif not isinstance(text, dict | list) and live is not MISSING and text != live:
            note = "the file says something else here than the cluster"
        return Place(self.name, spot.path, self.written, line, note)


def open_page(obj: KubeObject, text: bytes | None) -> Page:
    """Find an object in the text of its file."""
    found = written(obj)
    if text is None or found is None:
        return Page(obj)
    ref = ObjectRef.of(obj)
    candidates = []
    for document in load(text, found.path, revision=found.revision).documents:
        value = document.value
        parts: list[tuple[Path, Any]] = [((), value)]
        if isinstance(value, dict) and str(value.get("kind", "")).endswith("List"):
            items = value.get("items")
            if isinstance(items, list):
                parts = [(("items", index), item) for index, item in enumerate(items)]
        for root, part in parts:
            if not isinstance(part, dict):
                continue
            listed = ObjectRef.of(part)
            is_kind = (listed.kind.group, listed.kind.kind) == (ref.kind.group, ref.kind.kind)
            if is_kind and listed.name == ref.name and listed.namespace in ("", ref.namespace):
                candidates.append((not listed.namespace, document, root))
    if not candidates:
        return Page(obj)
    # One with a namespace is meant rather than one that leaves it to the source.
    _, document, root = min(candidates, key=lambda candidate: candidate[0])
    return Page(obj, document, root)
