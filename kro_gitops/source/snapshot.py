"""
A commit's files → what the source wants, file by file.

A file that has been read is kept by its name and the id of its content, so a commit that changes
one file costs one file. What no longer stands in the latest commit is dropped.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from kro_gitops.engine.plan.children import digest
from kro_gitops.errors import Finding, Severity
from kro_gitops.objects.refs import ObjectRef
from kro_gitops.source.manifests import (
    DEFAULT_SOURCE_LIMITS,
    FileManifests,
    Manifest,
    SourceLimits,
    combine,
    read_file,
)

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


@dataclass(slots=True)
class Library:
    """The files of one source, as they were last read."""

    limits: SourceLimits = DEFAULT_SOURCE_LIMITS
    _read: dict[tuple[str, str], _Read] = field(default_factory=dict)

    def unread(self, files: Iterable[Blob]) -> set[str]:
        """Return the ids of the contents that must be read for these files."""
        return {file.id for file in files if (file.path, file.id) not in self._read}

    def snapshot(
        self,
        commit: str,
        files: Sequence[Blob],
        contents: Mapping[str, bytes],
        findings: Iterable[Finding] = (),
    ) -> Snapshot:
        """Return what a commit wants, by its files and the contents that had not been read."""
        former, self._read = self._read, {}
        for file in files:
            key = (file.path, file.id)
            self._read[key] = former.get(key) or _parsed(file.path, contents[file.id], self.limits)
        combined = combine((each.file for each in self._read.values()), self.limits)
        kept = {id(manifest) for manifest in combined.manifests}
        items = tuple(
            item for each in self._read.values() for item in each.items if id(item.manifest) in kept
        )
        ordered = sorted((*findings, *combined.findings), key=lambda finding: finding.order)
        return Snapshot(commit, items, tuple(ordered))


def _discreet(finding: Finding) -> Finding:
    """Leave out the words of a finding that may quote a Secret; its code and place stay."""
    text = "what is wrong here is not quoted, because the file holds a Secret"
    problem = finding.problem
    told = replace(problem, summary=text, message=text, hint=f"look for '{problem.code}'")
    return replace(finding, problem=told)


def _parsed(name: str, content: bytes, limits: SourceLimits) -> _Read:
    file = read_file(name, content, limits)
    # What cannot be trusted is told, and not applied: of a key given twice, which is meant?
    file = replace(file, manifests=tuple(e for e in file.manifests if e.document.sound))
    if _SECRET.search(content):
        file = replace(file, findings=tuple(map(_discreet, file.findings)))
    return _Read(file, tuple(Item(each, each.ref, digest(each.object)) for each in file.manifests))
