"""
How far a cluster is: what was read of it in, counts, lines and an outcome out.

Sources, definitions and instances are what is waited for, an `Item` each. Children are shown, and
counted; whether an instance is content with them is its own to say.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import chain

from kro_gitops.cli.output import counted
from kro_gitops.cli.source_tree import Part, SourceTree, source_tree_lines
from kro_gitops.cli.tables import Line, Strokes, tree_lines
from kro_gitops.inspect.explain.explanation import blockers
from kro_gitops.inspect.views.instances import Branch, first_line, written
from kro_gitops.inspect.views.source_progress import Goal, Seen, live_text, step
from kro_gitops.inspect.views.sources import (
    ListedFailure,
    failures,
    is_suspended,
    message_of,
    suspension,
)
from kro_gitops.tracking.health import Health, health
from kube_objects.refs import KubeObject, ObjectRef

_WRAPPINGS = ("resource reconciliation failed: ", "apply results contain errors: ")
_LONGEST = 240  # characters of a message
STILL = 3.0  # seconds without a change after which what failed is believed to have failed


class State(StrEnum):
    """How far something is."""

    READY = "ready"
    WAITING = "waiting"
    FAILED = "failed"
    RESTING = "suspended"


_STATES = {
    Health.HEALTHY: State.READY,
    Health.PROGRESSING: State.WAITING,
    Health.DEGRADED: State.FAILED,
    Health.SUSPENDED: State.RESTING,
}


@dataclass(frozen=True, slots=True)
class Item:
    """A source, a definition or an instance, how far it is, and why not further."""

    ref: ObjectRef
    state: State
    message: str = ""
    details: tuple[str, ...] = ()  # failures with their places, of a source
    hint: str = ""
    place: str = ""  # file, line and column, as far as they are known

    @property
    def name(self) -> str:
        """Name it as people do."""
        return f"{self.ref.kind.kind} {self.ref.place}"


@dataclass(frozen=True, slots=True)
class Picture:
    """A cluster, at one moment."""

    sources: tuple[Item, ...] = ()
    definitions: tuple[Item, ...] = ()
    instances: tuple[Item, ...] = ()
    trees: tuple[SourceTree, ...] = ()
    loose: tuple[Branch, ...] = ()  # definitions and instances that are of no source
    plural: str = ""  # of a kind that has instances, or else of any that could have

    @property
    def items(self) -> tuple[Item, ...]:
        """Return all that is waited for."""
        return (*self.sources, *self.definitions, *self.instances)

    def branches(self) -> Iterator[Branch]:
        """Give all trees of instances, definitions and other objects."""
        for tree in self.trees:
            yield from (part.branch for part in tree.parts if part.branch is not None)
        yield from self.loose


def source_item(source: KubeObject, goal: Goal, told: Collection[str] = ()) -> Item:
    """Say how far a source is on its way to a goal; failures of what is `told` of are left out."""
    ref = ObjectRef.of(source)
    if is_suspended(source):
        return Item(ref, State.RESTING, suspension(source))
    found = step(Seen(), goal, source).outcome
    if found is None:
        said = " · ".join(filter(None, (live_text(source), message_of(source))))
        return Item(ref, State.WAITING, said)
    if found.is_good:
        return Item(ref, State.READY)
    others = tuple(str(each) for each in failures(source) if each.object not in told)
    # The headline repeats the first of them.
    said = found.headline.partition(" ")[2]
    said = said.partition(":")[0] if found.failures else said
    return Item(ref, State.FAILED, said, others, found.hint)


def object_item(obj: KubeObject, places: Mapping[str, str], tree: Branch | None = None) -> Item:
    """Say how far a definition is, or an instance with its tree."""
    ref, verdict = ObjectRef.of(obj), health(obj)
    state = _STATES[verdict.health]
    said = "" if state is State.READY else first_line(verdict.message)
    details = tuple(_in_the_way(each) for each in blockers(tree)) if tree is not None else ()
    source = written(obj)
    file = source.path if source else ""
    place = places.get(f"{ref.kind.kind} {ref.place}", file)
    return Item(ref, state, said, details, place=place)


def _in_the_way(branch: Branch) -> str:
    ref, said = branch.ref, first_line(branch.verdict.message)
    return f"{ref.kind.kind} {ref.place}: {said or branch.verdict.health}"


def places_of(listed: Iterable[ListedFailure]) -> dict[str, str]:
    """Return where objects are written of which something is known to be wrong."""
    return {each.object: each.place for each in listed if each.object and each.place}


def verdict(picture: Picture, still: float) -> bool | None:
    """Say whether it ended well; `None`: it has not ended. `still`: seconds without a change."""
    states = {each.state for each in picture.items}
    if State.WAITING in states:
        return None
    if State.FAILED not in states:
        return True
    return False if still >= STILL else None


def summary(picture: Picture) -> str:
    """Count: `1 source · 2/5 definitions · 3/7 instances · 12 children`."""
    parts = [
        _share(picture.sources, "source"),
        _share(picture.definitions, "definition"),
        _share(picture.instances, "instance"),
        _children_text(_children(picture)),
    ]
    return " · ".join(parts)


def _share(items: tuple[Item, ...], word: str) -> str:
    done = sum(each.state in (State.READY, State.RESTING) for each in items)
    return counted(len(items), word) if done == len(items) else f"{done}/{len(items)} {word}s"


def _children(picture: Picture) -> int:
    return sum(sum(1 for _ in root.walk()) - 1 for root in picture.branches())


def _children_text(number: int) -> str:
    return "1 child" if number == 1 else f"{number} children"


def forest(picture: Picture, strokes: Strokes, now: datetime) -> list[Line]:
    """Draw everything, a row each."""
    sources = (source_tree_lines(each, strokes, now) for each in picture.trees)
    loose = (tree_lines(each, strokes, now) for each in picture.loose)
    lines = chain.from_iterable((*sources, *loose))
    return [Line((*line.cells[:-1], plain(line.cells[-1])), line.is_dim) for line in lines]


def plain(message: str) -> str:
    """Leave out the words that all messages of kro have in common: a row has little room."""
    for words in _WRAPPINGS:
        message = message.replace(words, "")
    return message


def folded(picture: Picture) -> Picture:
    """Leave out what is below instances that are ready, to have room for the others."""
    return _reshaped(picture, lambda branch: _closed(branch) if branch.is_healthy else branch)


def troubled(picture: Picture) -> Picture:
    """Leave out all that is well, and all that is only to come."""
    return _reshaped(picture, _trouble)


def _closed(branch: Branch) -> Branch:
    number = sum(1 for _ in branch.walk()) - 1
    return replace(branch, branches=(), absent=(), note=_children_text(number) if number else "")


def _trouble(branch: Branch) -> Branch | None:
    if branch.is_healthy:
        return None
    inner = tuple(filter(None, map(_trouble, branch.branches)))
    return replace(branch, branches=inner, absent=())


def _reshaped(picture: Picture, shape: Callable[[Branch], Branch | None]) -> Picture:
    def parts(tree: SourceTree) -> Iterator[Part]:
        for part in tree.parts:
            branch = shape(part.branch) if part.branch is not None else None
            if branch is not None or part.branch is None or part.failures:
                yield replace(part, branch=branch)

    trees = tuple(replace(tree, parts=tuple(parts(tree))) for tree in picture.trees)
    return replace(picture, trees=trees, loose=tuple(filter(None, map(shape, picture.loose))))


def _short(message: str) -> str:
    text = plain(message)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def reasons(picture: Picture) -> list[str]:
    """Say of everything that is not ready what is wrong, where, and what to do."""
    lines: list[str] = []
    for item in picture.items:
        if item.state in (State.READY, State.RESTING):
            continue
        place = f"{item.place}: " if item.place else ""
        lines.append(f"{place}{item.name}: {_short(item.message) or item.state}")
        lines += [f"  {each}" for each in item.details]
        lines += [f"  hint: {item.hint}"] if item.hint else []
    if any(each.state is State.FAILED for each in picture.definitions):
        lines.append("hint: `kro-gitops validate FOLDER` shows every mistake with its line")
    return lines


def changes(before: Picture, after: Picture) -> list[str]:
    """Say what changed from one moment to the next, a line each."""
    known = {each.ref: (each.state, each.message) for each in before.items}
    changed = [each for each in after.items if known.get(each.ref) != (each.state, each.message)]
    return [
        f"{each.name}: {each.state}" + (f": {_short(each.message)}" if each.message else "")
        for each in changed
    ]
