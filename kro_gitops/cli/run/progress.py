"""
The progress of a run: the state of the cluster in, counts, rows, reasons and an outcome out.

Sources, definitions and instances are waited for, an `Item` each. Children are shown and counted,
but whether an instance is ready is decided by its own conditions.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from kro_gitops.cli.messages import counted
from kro_gitops.cli.source_tree import (
    SourceTree,
    failure_row,
    part_row,
    source_cells,
    source_tree_row,
)
from kro_gitops.cli.tables import Row, branch_row
from kro_gitops.inspect.explain.explanation import blockers
from kro_gitops.inspect.views.instances import Branch, age, created, first_line, written
from kro_gitops.inspect.views.source_progress import Goal, Seen, live_text, step
from kro_gitops.inspect.views.sources import (
    ListedFailure,
    failures,
    is_suspended,
    message_of,
    omitted_failures,
    suspension,
)
from kro_gitops.tracking.health import Health, health
from kube_objects.refs import KubeObject, ObjectRef

_PREFIXES = ("resource reconciliation failed: ", "apply results contain errors: ")
_MAX_MESSAGE = 240  # characters
SETTLE_TIME = 3.0  # seconds without a change after which a failure is final


class State(StrEnum):
    """How far an item is."""

    READY = "ready"
    WAITING = "waiting"
    FAILED = "failed"
    SUSPENDED = "suspended"


_STATES = {
    Health.HEALTHY: State.READY,
    Health.PROGRESSING: State.WAITING,
    Health.DEGRADED: State.FAILED,
    Health.SUSPENDED: State.SUSPENDED,
}


@dataclass(frozen=True, slots=True)
class Item:
    """A source, a definition or an instance, its state, and why it is not ready."""

    ref: ObjectRef
    state: State
    message: str = ""
    details: tuple[str, ...] = ()  # failures of a source with their places
    hint: str = ""
    place: str = ""  # file, line and column, as far as they are known
    error_code: str = ""

    @property
    def name(self) -> str:
        """Return kind, namespace and name."""
        return f"{self.ref.kind.kind} {self.ref.place}"


@dataclass(frozen=True, slots=True)
class ClusterState:
    """All sources, definitions and instances at one moment."""

    sources: tuple[Item, ...] = ()
    definitions: tuple[Item, ...] = ()
    instances: tuple[Item, ...] = ()
    trees: tuple[SourceTree, ...] = ()
    loose: tuple[Branch, ...] = ()  # definitions and instances that no source applied
    plural: str = ""  # of a kind that has instances, or else of any defined kind

    @property
    def items(self) -> tuple[Item, ...]:
        """Return everything that is waited for."""
        return (*self.sources, *self.definitions, *self.instances)

    @property
    def children(self) -> int:
        """Return the number of children of all instances."""
        branches = [part.branch for tree in self.trees for part in tree.parts if part.branch]
        return sum(map(_count_children, (*branches, *self.loose)))


def source_item(source: KubeObject, goal: Goal, reported: Collection[str] = ()) -> Item:
    """Return the item of a source; failures of objects that are `reported` anyway are left out."""
    ref = ObjectRef.of(source)
    if is_suspended(source):
        return Item(ref, State.SUSPENDED, suspension(source))
    found = step(Seen(), goal, source).outcome
    if found is None:
        message = " · ".join(filter(None, (live_text(source), message_of(source))))
        return Item(ref, State.WAITING, message)
    if found.is_good:
        return Item(ref, State.READY)
    others = tuple(map(located_text, (e for e in failures(source) if e.object not in reported)))
    others += (f"and {omitted} more",) if (omitted := omitted_failures(source)) else ()
    # The headline repeats the first of them.
    message = found.headline.partition(" ")[2]
    message = message.partition(":")[0] if found.failures else message
    return Item(ref, State.FAILED, message, others, found.hint)


def object_item(
    obj: KubeObject,
    failures: Mapping[str, Sequence[ListedFailure]],
    tree: Branch | None = None,
) -> Item:
    """Return the item of a definition, or of an instance with its tree; `failures` are by name."""
    ref, verdict = ObjectRef.of(obj), health(obj)
    state = _STATES[verdict.health]
    message = "" if state is State.READY else verdict.message.strip()
    details = []
    place, error_code = "", ""
    located = failures.get(f"{ref.kind.kind} {ref.place}", ()) if message else ()
    if located:
        first, *others = located
        place, error_code, message = first.place, first.error_code, first.message
        details = [located_text(each) for each in others]
    for branch in blockers(tree) if tree is not None else ():
        text = branch.verdict.message.strip() or branch.verdict.health
        details.append(f"{branch.ref.kind.kind} {branch.ref.place}: {text}")
    source = written(obj)
    file = source.path if source else ""
    return Item(ref, state, message, tuple(details), place=place or file, error_code=error_code)


def by_object(listed: Iterable[ListedFailure]) -> dict[str, list[ListedFailure]]:
    """Return the failures that have a place by the names of their objects."""
    found: dict[str, list[ListedFailure]] = {}
    for each in listed:
        if each.object and each.place:
            found.setdefault(each.object, []).append(each)
    return found


def located_text(failure: ListedFailure) -> str:
    """Format a failure with its place and code, as `validate` does."""
    place = f"{failure.place}: " if failure.place else ""
    subject = f"{failure.object}: " if failure.object else ""
    code = f"error[{failure.error_code}]: " if failure.error_code else ""
    return f"{place}{code}{subject}{failure.message}"


def outcome(state: ClusterState, unchanged: float) -> bool | None:
    """Return whether all is ready; `None`: not known yet. `unchanged`: seconds without a change."""
    states = {item.state for item in state.items}
    if State.WAITING in states:
        return None
    if State.FAILED not in states:
        return True
    return False if unchanged >= SETTLE_TIME else None


def summary(state: ClusterState) -> str:
    """Format counts: `1 source · 2/5 definitions · 3/7 instances · 12 children`."""
    parts = []
    for items, word in (
        (state.sources, "source"),
        (state.definitions, "definition"),
        (state.instances, "instance"),
    ):
        done = sum(item.state in (State.READY, State.SUSPENDED) for item in items)
        total = len(items)
        parts.append(counted(total, word) if done == total else f"{done}/{total} {word}s")
    return " · ".join((*parts, _children_text(state.children)))


def rows(state: ClusterState, now: datetime) -> list[Row]:
    """Return the rows of everything."""
    sources = [source_tree_row(tree, now) for tree in state.trees]
    return [_plain(row) for row in (*sources, *(branch_row(each, now) for each in state.loose))]


def compact_rows(state: ClusterState, now: datetime, *, only_trouble: bool = False) -> list[Row]:
    """
    Return fewer rows, for a view that must fit a terminal.

    Children of healthy instances are folded into a count, and rows that differ only in their name
    become one. With `only_trouble` what is healthy, and what is still to be created, is left out.
    """
    found = []
    for tree in state.trees:
        fine = [part.branch for part in tree.parts if part.branch and not part.failures]
        inner = compact(fine, now, only_trouble=only_trouble)
        inner += [part_row(p, now) for p in tree.parts if p.branch is None or p.failures]
        inner += [failure_row(failure) for failure in tree.failures]
        found.append(Row(source_cells(tree.source, now), tuple(inner)))
    found += compact(state.loose, now, only_trouble=only_trouble)
    return [_plain(row) for row in found]


def compact(
    branches: Sequence[Branch], now: datetime, *, only_trouble: bool, is_root: bool = True
) -> list[Row]:
    """Return rows of sibling objects: healthy ones folded, those that look the same grouped."""
    groups: dict[object, list[Branch]] = {}
    for branch in branches:
        if branch.is_healthy and only_trouble:
            continue
        look = (branch.ref.kind, branch.verdict.health, branch.verdict.message)
        # An instance that is not healthy is shown with its children, so it stays alone.
        has_detail = not branch.is_healthy and (branch.branches or branch.absent)
        groups.setdefault(branch.ref if has_detail else look, []).append(branch)
    found = []
    for members in groups.values():
        first = members[0]
        row = branch_row(replace(first, branches=(), absent=()), now, is_root=is_root)
        label, word, when, message = row.cells
        if first.is_healthy:
            number = sum(map(_count_children, members))
            message = _children_text(number) if number else ""
        if len(members) > 1:
            namespaces = {member.ref.namespace for member in members}
            namespace = namespaces.pop() if is_root and len(namespaces) == 1 else ""
            place = f" in {namespace}" if namespace else ""
            label = f"{len(members)} × {first.ref.kind.kind}{place}"
            # The age of the newest one.
            when = age(max(filter(None, (created(m.object) for m in members)), default=None), now)
        inner: list[Row] = []
        if not first.is_healthy:
            inner = compact(first.branches, now, only_trouble=only_trouble, is_root=False)
            if not only_trouble:
                inner += branch_row(replace(first, branches=()), now).rows
        found.append(Row((label, word, when, message), tuple(inner)))
    return found


def _count_children(branch: Branch) -> int:
    return sum(1 for _ in branch.walk()) - 1


def _children_text(number: int) -> str:
    return "1 child" if number == 1 else f"{number} children"


def _plain(row: Row) -> Row:
    """Return a row, and those below it, with short messages."""
    cells = (*row.cells[:-1], without_prefixes(row.cells[-1]))
    return Row(cells, tuple(map(_plain, row.rows)), row.is_dim)


def without_prefixes(message: str) -> str:
    """Remove the phrases that all messages of kro have in common: a row has little room."""
    for words in _PREFIXES:
        message = message.replace(words, "")
    return message


def reasons(state: ClusterState, *, is_short: bool = False) -> list[str]:
    """
    Return for everything that is not ready what is wrong, where, and what to do.

    Messages are complete, because a log is read when the objects are gone. A terminal gets short
    ones.
    """
    lines: list[str] = []
    for item in state.items:
        if item.state in (State.READY, State.SUSPENDED):
            continue
        place = f"{item.place}: " if item.place else ""
        text = without_prefixes(item.message)
        details = item.details
        if is_short:
            text, details = _short(text), tuple(map(_short, details))
        code = f"error[{item.error_code}]: " if item.error_code else ""
        lines.append(f"{place}{code}{item.name}: {text or item.state}")
        lines += [f"  {detail}" for detail in details]
        lines += [f"  hint: {item.hint}"] if item.hint else []
    if any(item.state is State.FAILED for item in state.definitions):
        lines.append("hint: `kro-gitops validate FOLDER` shows every error with its line")
    return lines


def changes(before: ClusterState, after: ClusterState, *, is_short: bool = False) -> Iterator[str]:
    """Yield a line for each item that has another state or message than before."""
    known = {item.ref: (item.state, item.message) for item in before.items}
    for item in after.items:
        if known.get(item.ref) != (item.state, item.message):
            text = without_prefixes(item.message)
            text = _short(text) if is_short else text
            yield f"{item.name}: {item.state}" + (f": {text}" if text else "")


def _short(message: str) -> str:
    text = first_line(message)
    return text if len(text) <= _MAX_MESSAGE else f"{text[: _MAX_MESSAGE - 1]}…"
