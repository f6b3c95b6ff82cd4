"""
The tree of a source: the objects it applied, the children of each instance, and the failures.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from kro_gitops.cli.argument_types import SourceName, Target
from kro_gitops.cli.cluster_reading import Reading
from kro_gitops.cli.cluster_session import Session
from kro_gitops.cli.sources import find_source
from kro_gitops.cli.tables import Row, branch_row
from kro_gitops.engine.applyset import GroupKind
from kro_gitops.engine.kinds import DEFINITION_KIND
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
from kro_gitops.source.kinds import GIT_SOURCE_KIND
from kro_gitops.tracking.health import Health, health
from kube_objects.refs import KubeObject

_DEFINITION = GroupKind.of(DEFINITION_KIND)
_ABSENT = "not found, or not readable"


@dataclass(frozen=True, slots=True)
class Part:
    """An object that a source applied; without a branch it was not found."""

    entry: Entry
    branch: Branch | None
    failures: tuple[ListedFailure, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceTree:
    """A source, the objects it applied, and failures that belong to none of them."""

    source: KubeObject
    parts: tuple[Part, ...]
    failures: tuple[ListedFailure, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the tree as data."""
        children: list[dict[str, Any]] = []
        for part in self.parts:
            entry, found = part.entry, dict[str, Any]()
            if part.branch is not None:
                found = part.branch.to_json()
            else:
                names = {"namespace": entry.namespace, "name": entry.name}
                found = {"kind": entry.group_kind.kind, **names, "health": None, "message": _ABSENT}
            found |= {"path": entry.path, "revision": entry.revision}
            if part.failures:
                found["failures"] = [_failure_json(failure) for failure in part.failures]
            children.append(found)
        return {
            **Branch(self.source, "", source_verdict(self.source)).to_json(),
            "revision": text_at(self.source, "status", "lastAppliedRevision"),
            "children": children,
            "failures": [_failure_json(failure) for failure in self.failures],
        }


def _failure_json(failure: ListedFailure) -> dict[str, Any]:
    return {
        "object": failure.object,
        "file": failure.file,
        "line": failure.line,
        "column": failure.column,
        "code": failure.error_code,
        "message": failure.message,
    }


async def source_trees(session: Session, target: Target) -> list[SourceTree]:
    """Read the sources that were asked for, and everything below them."""
    if target.name and not session.everywhere:
        sources = [await find_source(session, SourceName(target.name))]
    else:
        listed = in_order(await session.reading.own(GIT_SOURCE_KIND, session.searched))
        named = [each for each in listed if text_at(each, "metadata", "name") == target.name]
        sources = named if target.name else listed
    definitions = by_kind_made(await session.reading.definitions())
    return [await source_branches(session.reading, source, definitions) for source in sources]


async def source_branches(
    reading: Reading,
    source: KubeObject,
    definitions: Definitions,
    known: Family | None = None,
) -> SourceTree:
    """Read the objects a source applied and the children of instances, unless they are given."""
    listed = entries(await reading.inventories(source))
    objects = await reading.applied(listed)
    instances = [each for each in objects.values() if is_instance(each, definitions)]
    family = await reading.family(instances, definitions) if known is None else known

    def branch(entry: Entry) -> Branch | None:
        """Return the branch of an inventory entry; None if its object does not exist."""
        if entry not in objects:
            return None
        if entry.group_kind == _DEFINITION:
            return Branch(objects[entry], "", health(objects[entry]))
        return grow(objects[entry], family, definitions)

    return assembled(source, {entry: branch(entry) for entry in listed})


def assembled(source: KubeObject, branches: Mapping[Entry, Branch | None]) -> SourceTree:
    """Assign each failure to its object, and the rest to the source."""
    left = list(failures(source))
    parts = []
    for entry, branch in branches.items():
        own = tuple(each for each in left if each.object in entry.names)
        left = [each for each in left if each not in own]
        parts.append(Part(entry, branch, own))
    return SourceTree(source, tuple(parts), tuple(left))


def source_tree_row(tree: SourceTree, now: datetime) -> Row:
    """Return the rows of a source and of everything it applied."""
    inner = [part_row(part, now) for part in tree.parts]
    inner += [failure_row(failure) for failure in tree.failures]
    return Row(source_cells(tree.source, now), tuple(inner))


def source_cells(source: KubeObject, now: datetime) -> tuple[str, ...]:
    """Return the cells of a source's own row."""
    metadata, revision = source["metadata"], text_at(source, "status", "lastAppliedRevision")
    at = f" at {short_revision(revision)}" if revision else ""
    name = f"{GIT_SOURCE_KIND.kind}/{metadata['name']} in {metadata.get('namespace', '')}{at}"
    return (
        name,
        str(source_verdict(source).health),
        age(created(source), now),
        message_of(source),
    )


def part_row(part: Part, now: datetime) -> Row:
    """Return the rows of an object that a source applied, with its failures."""
    if part.branch is None:
        row = Row((part.entry.label, NONE, NONE, _ABSENT))
    else:
        row = branch_row(part.branch, now)
    for failure in part.failures:
        name, _, when, said = row.cells
        message = " · ".join(filter(None, (_failure_text(failure), said)))
        row = replace(row, cells=(name, str(Health.DEGRADED), when, message))
    return row


def failure_row(failure: ListedFailure) -> Row:
    """Return the row of a failure that belongs to no object."""
    name = failure.object or failure.place or "?"
    return Row((name, str(Health.DEGRADED), NONE, _failure_text(failure)))


def _failure_text(failure: ListedFailure) -> str:
    """Return place and message; the object has a column of its own."""
    return ": ".join(filter(None, (failure.place, failure.message)))
