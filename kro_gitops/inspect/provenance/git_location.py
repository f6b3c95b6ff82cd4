"""
Where in git a field is written: the file, the line, the commit.

A live object says which file of which source it was applied from, and at which commit. With the
text of that file the line is found by loading it as it was loaded then. Without it the answer is
the file and the commit, which is what the cluster alone can tell.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from kro_gitops.inspect.views.instances import Written, written
from kube_objects.documents import Document, load
from kube_objects.paths import MISSING, find, format_path
from kube_objects.problems import Path, Spot
from kube_objects.refs import KubeObject, ObjectRef


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, as far as people ask: who, when, what for. Times are RFC 3339."""

    id: str
    author: str = ""
    email: str = ""
    time: str = ""
    subject: str = ""

    def to_json(self) -> dict[str, str]:
        """Return it as data, without what is not known."""
        found = {
            "id": self.id,
            "author": self.author,
            "email": self.email,
            "time": self.time,
            "subject": self.subject,
        }
        return {key: value for key, value in found.items() if value}


class Repository(Protocol):
    """A git repository, as far as this question goes; what it does not have is `None`."""

    def read(self, path: str, revision: str) -> bytes | None:
        """Return a file at a commit."""

    def blame(self, revision: str, path: str, line: int) -> Commit | None:
        """Return the commit that last changed a line, seen from another."""

    def commit(self, id: str) -> Commit | None:
        """Return a commit."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, and what of it is meant; all count from 1."""

    number: int
    column: int
    width: int
    text: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is written: in which object of which file, and the line if it is known."""

    subject: str  # the object, as people name it: `WebApp shop/front`
    path: Path
    written: Written | None = None
    line: Line | None = None
    note: str = ""
    commit: Commit | None = None  # that last changed the line, or the object if there is none

    @property
    def file(self) -> str:
        """Return file, line and column, as editors take them."""
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
        """Return the source, the file and the commit, if the object says so."""
        return written(self.object)

    @property
    def name(self) -> str:
        """Name the object as people do."""
        return str(ObjectRef.of(self.object))

    def text_of(self) -> Any:
        """Return the object as the text has it, or `MISSING`."""
        return self.value_at(())

    def value_at(self, path: Path) -> Any:
        """Return what the text says at a path; `MISSING` if nothing, or if there is no text."""
        return MISSING if self.document is None else find(self.document.value, self.root + path)

    def place(self, spot: Spot, *, hidden: bool = False) -> Place:
        """Find a spot of the object in its text; `hidden` keeps the text itself back."""
        line, note = None, ""
        if self.document is not None:
            # Of a map or list, what people look for is its key, not its first part.
            is_part = bool(spot.path) and isinstance(self.value_at(spot.path), dict | list)
            spot = replace(spot, on_key=spot.on_key or is_part)
            line = _line(self.document, spot.below(self.root), hidden=hidden)
            note = self._note(spot.path)
        return Place(self.name, spot.path, self.written, line, note)

    def _note(self, path: Path) -> str:
        says = self.value_at(path)
        if says is MISSING:
            return "the file does not have this field; this is the nearest above it"
        live = find(self.object, path)
        is_other = not isinstance(says, dict | list) and live is not MISSING and says != live
        return "the file says something else here than the cluster" if is_other else ""


def _line(document: Document, spot: Spot, *, hidden: bool) -> Line:
    origin = document.origin(spot)
    text = "" if hidden else document.source_line(origin.line)
    return Line(origin.line, origin.column, document.width(spot), text)


def open_page(obj: KubeObject, text: bytes | None) -> Page:
    """Find an object in the text of its file."""
    found = written(obj)
    if text is None or found is None:
        return Page(obj)
    wanted = ObjectRef.of(obj)
    candidates = [
        (document, root)
        for document in load(text, found.path, revision=found.revision).documents
        for root, value in _objects(document.value)
        if _names(value, wanted)
    ]
    # One that says its namespace is meant rather than one that leaves it to the source.
    candidates.sort(key=lambda each: not _namespace(find(each[0].value, each[1])))
    if not candidates:
        return Page(obj)
    document, root = candidates[0]
    return Page(obj, document, root)


def _objects(value: Any) -> Iterator[tuple[Path, Any]]:
    """Give the objects of a document: itself, or the items of a list."""
    if not isinstance(value, dict):
        return
    items = value.get("items")
    if isinstance(items, list) and str(value.get("kind", "")).endswith("List"):
        yield from ((("items", index), item) for index, item in enumerate(items))
    else:
        yield (), value


def _names(value: Any, wanted: ObjectRef) -> bool:
    if not isinstance(value, dict):
        return False
    found = ObjectRef.of(value)
    is_kind = (found.kind.group, found.kind.kind) == (wanted.kind.group, wanted.kind.kind)
    is_place = found.namespace in ("", wanted.namespace)
    return is_kind and is_place and found.name == wanted.name


def _namespace(value: Any) -> str:
    return ObjectRef.of(value).namespace if isinstance(value, dict) else ""
