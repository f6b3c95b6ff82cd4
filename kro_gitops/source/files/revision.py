"""
A commit's files → the objects that git has, file by file.

A file that has been read is kept by its name and the id of its content, so a commit that changes
one file costs one file. What is no longer in the latest commit is dropped. If a file changes but
has the same objects, the others are not even combined again.
"""

import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Protocol

import orjson

from kro_gitops.engine.plan.children import digest
from kro_gitops.source.files.budget import Amount
from kro_gitops.source.files.manifests import (
    DEFAULT_SOURCE_LIMITS,
    Manifest,
    SourceLimits,
    combine,
    read_file,
)
from kro_gitops.source.files.selection import FileChooser, replaced
from kube_objects.documents import Document
from kube_objects.positions import SourceText
from kube_objects.problems import WHOLE, Finding, Origin, Path, Problem, Severity, Spot
from kube_objects.refs import Kind, KubeObject, ObjectRef
from kube_objects.yaml_parser import Part

_COMPRESSION_LEVEL = 1  # most files are small, and read once
# Also in what cannot be read as YAML.
_SECRET = re.compile(rb"""kind["']?[ \t]*:[ \t]*["']?Secret\b""")


class Blob(Protocol):
    """A file in a tree."""

    @property
    def path(self) -> str:
        """Return its name."""

    @property
    def id(self) -> str:
        """Return the id of its content."""


class SourceFile:
    """The text of a file, compressed: it is needed again only to find positions in it."""

    __slots__ = ("_packed", "_source", "name")

    def __init__(self, name: str, content: bytes) -> None:
        self.name = name
        self._packed = zlib.compress(content, _COMPRESSION_LEVEL)
        self._source: SourceText | None = None

    def document(self, start: int, length: int) -> Document:
        """Return the document at an offset, to find positions in it; it has no value."""
        source = self._source
        if source is None:
            text = zlib.decompress(self._packed).decode(errors="replace").removeprefix("\ufeff")
            source = self._source = SourceText(text)
        return Document(
            self.name, 0, None, source, Part(start, source.text[start : start + length])
        )

    def release(self) -> None:
        """Drop the text that was unpacked."""
        self._source = None


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """
    An object that git has, and a hash of its content.

    There may be many thousands, and of most nothing is needed until they change. So the object is
    kept as JSON, and the document that it is in as an offset.
    """

    file: SourceFile
    ref: ObjectRef  # as it is written: without a namespace where the file names none
    digest: str
    _packed: bytes
    _start: int  # of the document, in characters
    _length: int
    _prefix: Path = ()  # of the object in its document, if it is in a list

    @classmethod
    def of(cls, manifest: Manifest, file: SourceFile) -> "Item":
        """Return the item of a manifest in a file."""
        part = manifest.document.part
        start, length = part.start, len(part.text)
        ref = replace(manifest.ref, kind=_shared(manifest.ref.kind))
        # A copy: what orjson returns keeps a buffer of at least a page.
        packed = memoryview(orjson.dumps(manifest.object)).tobytes()
        return cls(file, ref, digest(manifest.object), packed, start, length, manifest.prefix)

    @property
    def object(self) -> KubeObject:
        """Return the object; a new one each time."""
        found: KubeObject = orjson.loads(self._packed)
        return found

    @property
    def manifest(self) -> Manifest:
        """Return the manifest that it was made of."""
        document = self.file.document(self._start, self._length)
        return Manifest(self.object, document, self._prefix)

    @property
    def path(self) -> str:
        """Return the file it stands in."""
        return self.file.name

    def origin(self, spot: Spot = WHOLE) -> Origin:
        """Return where a spot of the object is written."""
        document = self.file.document(self._start, self._length)
        return document.origin(spot.below(self._prefix))

    def finding(self, problem: Problem) -> Finding:
        """Give a problem of the object its place and its subject."""
        document = self.file.document(self._start, self._length)
        return document.finding(problem.below(self._prefix), str(self.ref))


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """The objects of one commit."""

    commit: str
    items: tuple[Item, ...] = ()
    findings: tuple[Finding, ...] = ()
    pinned: Mapping[Item, str] = field(default_factory=dict)  # items of other commits
    kept: frozenset[Item] = frozenset()  # those of them that this commit does not have

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Return the findings that are errors, not warnings."""
        return tuple(f for f in self.findings if f.problem.severity is Severity.ERROR)


@dataclass(frozen=True, slots=True)
class _Read:
    """One file that was read."""

    file: SourceFile
    size: int
    documents: int
    manifests: tuple[Item, ...]
    findings: tuple[Finding, ...]

    @property
    def name(self) -> str:
        """Return the path of the file."""
        return self.file.name


@dataclass(frozen=True, slots=True, eq=False)
class _Whole:
    """All files of a source put together."""

    files: Sequence[Blob] = ()
    items: tuple[Item, ...] = ()
    findings: tuple[Finding, ...] = ()
    size: int = 0
    documents: int = 0
    is_plain: bool = False  # every object of every file is among the items

    def fits(self, limits: SourceLimits) -> bool:
        """Return True if it is within the limits of a source."""
        return (
            len(self.files) <= limits.files
            and self.size <= limits.total_bytes
            and self.documents <= limits.documents
        )

    def with_files(self, files: Sequence[Blob], changes: Sequence[tuple[_Read, _Read]]) -> "_Whole":
        """Put other files of the same objects in the place of some."""
        swapped = {
            id(old): new
            for before, after in changes
            for old, new in zip(before.manifests, after.manifests, strict=True)
        }
        return replace(
            self,
            files=files,
            items=tuple(swapped.get(id(item), item) for item in self.items),
            size=self.size + sum(new.size - old.size for old, new in changes),
            documents=self.documents + sum(new.documents - old.documents for old, new in changes),
        )


@dataclass(slots=True)
class Library:
    """The files of one source, as they were last read."""

    limits: SourceLimits = DEFAULT_SOURCE_LIMITS
    reserve: Callable[[Amount], None] | None = None  # raises RefusedError if that is too much
    chooser: FileChooser = field(default_factory=FileChooser)
    _read: dict[tuple[str, str], _Read] = field(default_factory=dict)
    _whole: _Whole = field(default_factory=_Whole)

    def unread(self, files: Iterable[Blob]) -> set[str]:
        """Return the ids of the contents that must be read for these files."""
        return {file.id for file in files if _key(file) not in self._read}

    def snapshot(
        self,
        commit: str,
        files: Sequence[Blob],
        contents: Mapping[str, bytes],
        findings: Iterable[Finding] = (),
    ) -> Snapshot:
        """
        Return the objects of a commit; `contents` are the files that had not been read.

        Raise RefusedError, before anything is parsed, if that is more than the budget allows.
        """
        reserved = Amount()
        for file in files:
            read = self._read.get(_key(file))
            if read is not None:
                reserved += Amount(read.documents, read.size)
            else:
                content = contents[file.id]
                reserved += Amount(content.count(b"\n---") + 1, len(content))
        if self.reserve is not None:
            self.reserve(reserved)
        self._whole = self._changed(files, contents) or self._combined(files, contents)
        ordered = sorted((*findings, *self._whole.findings), key=lambda finding: finding.order)
        return Snapshot(commit, self._whole.items, tuple(ordered))

    def _combined(self, files: Sequence[Blob], contents: Mapping[str, bytes]) -> _Whole:
        """Put all files together."""
        self._read = {_key(file): self._parse(file, contents) for file in files}
        read = self._read.values()
        items, findings = combine(read, self.limits)
        whole = _Whole(
            files,
            items,
            findings,
            sum(each.size for each in read),
            sum(each.documents for each in read),
        )
        is_all = len(items) == sum(len(each.manifests) for each in read)
        return replace(whole, is_plain=is_all and whole.fits(self.limits))

    def _changed(self, files: Sequence[Blob], contents: Mapping[str, bytes]) -> _Whole | None:
        """Put files in the place of others if they hold the same objects; `None` if not."""
        whole = self._whole
        changed = replaced(whole.files, files) if whole.is_plain else None
        if changed is None or any(old.path != new.path for old, new in changed):
            return None
        changes = [(self._read[_key(old)], self._parse(new, contents)) for old, new in changed]
        for before, after in changes:
            has_findings = bool(before.findings or after.findings)
            names = [_name(item) for item in before.manifests]
            has_secrets = any(item.ref.kind.kind == "Secret" for item in before.manifests)
            if has_findings or has_secrets or names != [_name(item) for item in after.manifests]:
                return None
        found = whole.with_files(files, changes)
        if not found.fits(self.limits):
            return None
        for old, new in changed:
            if _key(old) != _key(new):
                del self._read[_key(old)]
        return found

    def _parse(self, file: Blob, contents: Mapping[str, bytes]) -> _Read:
        """Read a file unless it has been read; it stays until all are put together."""
        read = self._read.get(_key(file))
        if read is not None:
            return read
        content = contents[file.id]
        parsed = read_file(file.path, content, self.limits)
        # What cannot be trusted is reported, and not applied: of a duplicate key, which is meant?
        manifests = tuple(each for each in parsed.manifests if each.document.is_valid)
        findings = parsed.findings
        if _SECRET.search(content):
            # A finding may quote a Secret: only its code and place stay.
            text = "what is wrong here is not quoted, because the file holds a Secret"
            findings = tuple(
                replace(
                    each,
                    problem=replace(
                        each.problem,
                        summary=text,
                        message=text,
                        hint=f"look for '{each.problem.code}'",
                    ),
                )
                for each in findings
            )
        source = SourceFile(file.path, content)
        items = tuple(Item.of(each, source) for each in manifests)
        read = _Read(source, parsed.size, parsed.documents, items, findings)
        self._read[_key(file)] = read
        return read

    def emptied(self) -> "Library":
        """Return a library of the same source that has read nothing."""
        return Library(self.limits, self.reserve)

    def release(self) -> None:
        """Drop texts of files that were needed to find positions."""
        for each in self._read.values():
            each.file.release()


def _key(file: Blob) -> tuple[str, str]:
    return file.path, file.id


def _name(item: Item) -> tuple[str, str, str, str]:
    ref = item.ref
    return ref.kind.group, ref.kind.kind, ref.namespace, ref.name


@lru_cache(maxsize=4096)
def _shared(kind: Kind) -> Kind:
    """Return one and the same value for equal kinds: thousands of objects are of a few."""
    return kind
