"""
A commit's files → what the source wants, file by file.

A file that has been read is kept by its name and the id of its content, so a commit that changes
one file costs one file. What no longer stands in the latest commit is dropped. Where a file says
something else of the same objects, not even the others are put together again.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from kro_gitops.engine.plan.children import digest
from kro_gitops.source.files.manifests import (
    DEFAULT_SOURCE_LIMITS,
    FileManifests,
    Manifest,
    SourceLimits,
    combine,
    read_file,
)
from kro_gitops.source.files.selection import FileChooser, replaced
from kube_objects.problems import Finding, Severity
from kube_objects.refs import ObjectRef

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


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """An object that git wants, and a hash of what it says."""

    manifest: Manifest
    ref: ObjectRef  # as it is written: without a namespace where the file names none
    digest: str

    @property
    def path(self) -> str:
        """Return the file it stands in."""
        return self.manifest.document.file


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """What one commit wants."""

    commit: str
    items: tuple[Item, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Return what is wrong, without what is only doubtful."""
        return tuple(f for f in self.findings if f.problem.severity is Severity.ERROR)

    @property
    def is_sound(self) -> bool:
        """Say whether everything could be read: only then is what is missing meant to be."""
        return not self.errors


@dataclass(slots=True)
class _Read:
    file: FileManifests
    items: tuple[Item, ...]


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
        """Say whether it is within the limits of a source."""
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
            for old, new in zip(before.items, after.items, strict=True)
        }
        return replace(
            self,
            files=files,
            items=tuple(swapped.get(id(item), item) for item in self.items),
            size=self.size + sum(new.file.size - old.file.size for old, new in changes),
            documents=self.documents
            + sum(new.file.documents - old.file.documents for old, new in changes),
        )


@dataclass(slots=True)
class Library:
    """The files of one source, as they were last read."""

    limits: SourceLimits = DEFAULT_SOURCE_LIMITS
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
        """Return what a commit wants, by its files and the contents that had not been read."""
        self._whole = self._changed(files, contents) or self._combined(files, contents)
        ordered = sorted((*findings, *self._whole.findings), key=lambda finding: finding.order)
        return Snapshot(commit, self._whole.items, tuple(ordered))

    def _combined(self, files: Sequence[Blob], contents: Mapping[str, bytes]) -> _Whole:
        """Put all files together."""
        self._read = {_key(file): self._parse(file, contents) for file in files}
        read = self._read.values()
        combined = combine((each.file for each in read), self.limits)
        kept = {id(manifest) for manifest in combined.manifests}
        items = tuple(item for each in read for item in each.items if id(item.manifest) in kept)
        whole = _Whole(
            files,
            items,
            combined.findings,
            sum(each.file.size for each in read),
            sum(each.file.documents for each in read),
        )
        is_all = len(items) == sum(len(each.items) for each in read)
        return replace(whole, is_plain=is_all and whole.fits(self.limits))

    def _changed(self, files: Sequence[Blob], contents: Mapping[str, bytes]) -> _Whole | None:
        """Put files in the place of others if they hold the same objects; `None` if not."""
        whole = self._whole
        changed = replaced(whole.files, files) if whole.is_plain else None
        if changed is None or any(old.path != new.path for old, new in changed):
            return None
        changes = [(self._read[_key(old)], self._parse(new, contents)) for old, new in changed]
        found = whole.with_files(files, changes) if all(map(_is_alike, changes)) else None
        if found is None or not found.fits(self.limits):
            return None
        for old, new in changed:
            if _key(old) != _key(new):
                del self._read[_key(old)]
        return found

    def _parse(self, file: Blob, contents: Mapping[str, bytes]) -> _Read:
        """Read a file unless it has been read; it stays until all are put together."""
        read = self._read.get(_key(file))
        if read is None:
            read = self._read[_key(file)] = _parsed(file.path, contents[file.id], self.limits)
        return read


def _key(file: Blob) -> tuple[str, str]:
    return file.path, file.id


def _is_alike(change: tuple[_Read, _Read]) -> bool:
    """Say whether a file holds the objects that another held, and nothing is to be told of them."""
    old, new = change
    if old.file.findings or new.file.findings:
        return False
    names = [_name(item) for item in old.items]
    return names == [_name(item) for item in new.items] and not any(
        item.ref.kind.kind == "Secret" for item in old.items
    )


def _name(item: Item) -> tuple[str, str, str, str]:
    ref = item.ref
    return ref.kind.group, ref.kind.kind, ref.namespace, ref.name


def _discreet(finding: Finding) -> Finding:
    """Leave out the words of a finding that may quote a Secret; its code and place stay."""
    text = "what is wrong here is not quoted, because the file holds a Secret"
    problem = finding.problem
    told = replace(problem, summary=text, message=text, hint=f"look for '{problem.code}'")
    return replace(finding, problem=told)


def _parsed(name: str, content: bytes, limits: SourceLimits) -> _Read:
    file = read_file(name, content, limits)
    # What cannot be trusted is told, and not applied: of a key given twice, which is meant?
    file = replace(file, manifests=tuple(e for e in file.manifests if e.document.is_valid))
    if _SECRET.search(content):
        file = replace(file, findings=tuple(map(_discreet, file.findings)))
    return _Read(file, tuple(Item(each, each.ref, digest(each.object)) for each in file.manifests))
