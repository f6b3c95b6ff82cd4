"""
The tree of a source: what it applied, below each instance what that made, and what failed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kro_gitops.cli.cluster_options import Session, Target
from kro_gitops.cli.cluster_reading import Reading
from kro_gitops.cli.source_options import SourceName, find_source
from kro_gitops.cli.tables import Line, Strokes, tree_lines
from kro_gitops.engine.api import DEFINITION_KIND
from kro_gitops.engine.applyset import GroupKind
from kro_gitops.inspect.views.instances import (
    NONE,
    Branch,
    Definitions,
    Family,
    age,
    by_kind_made,
    created,
    grow,
    in_order,
    is_instance,
    text_at,
)
from kro_gitops.inspect.views.sources import (
    Entry,
    ListedFailure,
    entries,
    failures,
    message_of,
    short_revision,
    source_verdict,
)
from kro_gitops.source.api import GIT_SOURCE_KIND
from kro_gitops.tracking.health import Health, health
from kube_objects.refs import KubeObject

_DEFINITION = GroupKind.of(DEFINITION_KIND)
_ABSENT = "not there, or not to be read"


@dataclass(frozen=True, slots=True)
class Part:
    """An object that a source applied; without a branch it was not found."""

    entry: Entry
    branch: Branch | None
    failures: tuple[ListedFailure, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceTree:
    """A source, what it applied, and what failed before it became an object."""

    source: KubeObject
    parts: tuple[Part, ...]
    failures: tuple[ListedFailure, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the tree as data."""
        verdict = source_verdict(self.source)
        return {
            **Branch(self.source, "", verdict).to_json(),
            "revision": text_at(self.source, "status", "lastAppliedRevision"),
            "children": [_part_json(part) for part in self.parts],
            "failures": [_failure_json(each) for each in self.failures],
        }


def _part_json(part: Part) -> dict[str, Any]:
    entry = part.entry
    found: dict[str, Any]
    if part.branch is not None:
        found = part.branch.to_json()
    else:
        names = {"namespace": entry.namespace, "name": entry.name}
        found = {"kind": entry.group_kind.kind, **names, "health": None, "message": _ABSENT}
    found |= {"path": entry.path, "revision": entry.revision}
    if part.failures:
        found["failures"] = [_failure_json(each) for each in part.failures]
    return found


def _failure_json(failure: ListedFailure) -> dict[str, Any]:
    return {
        "object": failure.object,
        "file": failure.file,
        "line": failure.line,
        "column": failure.column,
        "code": failure.error_code,
        "message": failure.message,
    }


async def source_trees(session: Session, wanted: Target) -> list[SourceTree]:
    """Read the sources that are meant, and all below them."""
    if wanted.name and not session.everywhere:
        sources = [await find_source(session, SourceName(wanted.name))]
    else:
        listed = in_order(await session.reading.own(GIT_SOURCE_KIND, session.searched))
        named = [each for each in listed if text_at(each, "metadata", "name") == wanted.name]
        sources = named if wanted.name else listed
    definitions = by_kind_made(await session.reading.definitions())
    return [await _tree(session, each, definitions) for each in sources]


async def _tree(session: Session, source: KubeObject, definitions: Definitions) -> SourceTree:
    return await source_branches(session.reading, source, definitions)


async def source_branches(
    reading: Reading,
    source: KubeObject,
    definitions: Definitions,
    known: Family | None = None,
) -> SourceTree:
    """Read all that a source applied, and below instances what those made, unless it is known."""
    listed = entries(await reading.inventories(source))
    objects = await reading.applied(listed)
    instances = [each for each in objects.values() if is_instance(each, definitions)]
    family = await reading.family(instances, definitions) if known is None else known

    def branch(entry: Entry) -> Branch | None:
        if entry not in objects:
            return None
        if entry.group_kind == _DEFINITION:
            return Branch(objects[entry], "", health(objects[entry]))
        return grow(objects[entry], family, definitions)

    return assembled(source, {entry: branch(entry) for entry in listed})


def assembled(source: KubeObject, branches: Mapping[Entry, Branch | None]) -> SourceTree:
    """Put each failure to its object, and those of no object to the source."""
    left = list(failures(source))
    parts = []
    for entry, branch in branches.items():
        own = tuple(each for each in left if each.object in entry.names)
        left = [each for each in left if each not in own]
        parts.append(Part(entry, branch, own))
    return SourceTree(source, tuple(parts), tuple(left))


def source_tree_lines(tree: SourceTree, strokes: Strokes, now: datetime) -> Iterator[Line]:
    """Draw a source and all below it, a row each."""
    yield _root(tree.source, now)
    blocks = [*(_part_lines(part, strokes, now) for part in tree.parts)]
    blocks += [[_failure_line(each)] for each in tree.failures]
    for number, block in enumerate(blocks, 1):
        is_last = number == len(blocks)
        head, rest = (strokes.last, strokes.gap) if is_last else (strokes.fork, strokes.trunk)
        yield from _indented(block, head, rest)


def _indented(block: Sequence[Line], head: str, rest: str) -> Iterator[Line]:
    for at, line in enumerate(block):
        first, *others = line.cells
        yield Line(((rest if at else head) + first, *others), line.is_dim)


def _root(source: KubeObject, now: datetime) -> Line:
    metadata, revision = source["metadata"], text_at(source, "status", "lastAppliedRevision")
    at = f" at {short_revision(revision)}" if revision else ""
    name = f"{GIT_SOURCE_KIND.kind}/{metadata['name']} in {metadata.get('namespace', '')}{at}"
    verdict = source_verdict(source)
    return Line((name, str(verdict.health), age(created(source), now), message_of(source)))


def _part_lines(part: Part, strokes: Strokes, now: datetime) -> list[Line]:
    if part.branch is None:
        lines = [Line((part.entry.label, NONE, NONE, _ABSENT))]
    else:
        lines = list(tree_lines(part.branch, strokes, now))
    for failure in part.failures:
        name, _, when, said = lines[0].cells
        message = " · ".join(filter(None, (_text(failure), said)))
        lines[0] = Line((name, str(Health.DEGRADED), when, message))
    return lines


def _failure_line(failure: ListedFailure) -> Line:
    name = failure.object or failure.place or "?"
    return Line((name, str(Health.DEGRADED), NONE, _text(failure)))


def _text(failure: ListedFailure) -> str:
    """Say where and what; the object stands in its own column."""
    return ": ".join(filter(None, (failure.place, failure.message)))
