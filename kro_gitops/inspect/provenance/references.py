"""
What an expression reads, followed to the objects that have it.

`schema` is the instance, an iterator an element of a list of it, every other name another object of
the same instance. What is computed from a whole map or list is followed to the one entry that has
the same value, if there is just one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kro_gitops.engine.graph.nodes import SCHEMA
from kro_gitops.inspect.provenance.context import Case, Made, Origin, made_by
from kro_gitops.inspect.provenance.git_location import Page
from kro_gitops.inspect.provenance.reads import Read, reads, scanned
from kube_cel.interpolation import Template as Scanned
from kube_objects.paths import MISSING, find, format_path, leaves
from kube_objects.problems import Path

Followed = tuple[str, Case | None, Path, str]  # its text, the object, the field, a note


@dataclass(frozen=True, slots=True)
class Follower:
    """Follows the expressions of one field of one object."""

    made: Made
    origin: Origin | None
    path: Path
    value: Any

    @classmethod
    def of_status(cls, instance: Case, path: Path, value: Any) -> "Follower":
        """Follow the status of an instance, whose expressions see its children."""
        return cls(Made("", instance), None, path, value)

    def inside(self, at: Path, value: Any) -> Iterator[Followed]:
        """Follow all expressions within a part of a template."""
        seen = set()
        for _, text in leaves(value, at):
            template = scanned(text)
            for each in self.of(template, ()) if template is not None else ():
                if each[0] not in seen:
                    seen.add(each[0])
                    yield each

    def of(self, template: Scanned, rest: Path) -> Iterator[Followed]:
        """Follow what a value reads; `rest` is what is asked for below it."""
        for read in reads(template, self._known()):
            yield self._follow(read, rest if read.is_whole else ())

    def _known(self) -> frozenset[str]:
        own = self.made.instance.own
        names = own.names() if own is not None else frozenset[str]()
        return names | {SCHEMA} | self._dimensions().keys()

    def _dimensions(self) -> dict[str, str]:
        resource = self.origin.resource if self.origin is not None else None
        return {each.name: each.text for each in resource.for_each} if resource else {}

    def _follow(self, read: Read, rest: Path) -> Followed:
        name, below = str(read.path[0]), (*read.path[1:], *rest)
        text = format_path((*read.path, *rest))
        if name in self._dimensions():
            return self._iterated(name, below, text)
        return self._named(name, below, text)

    def _named(self, name: str, below: Path, text: str) -> Followed:
        if name == SCHEMA:
            return self._narrowed(text, self.made.instance, below)
        found = self._sibling(name, below)
        if found is None:
            return text, None, below, f"no object of node '{name}' was found"
        return (text, *found, "")

    def _sibling(self, name: str, below: Path) -> tuple[Case, Path] | None:
        instance = self.made.instance
        own = instance.own
        objects = own.children.get(name, ()) if own is not None else ()
        resource = own.resource(name) if own is not None else None
        index = 0
        if resource is not None and (resource.for_each or resource.has_selector):
            if not below or not isinstance(below[0], int):
                return None
            index, below = below[0], below[1:]
        if resource is None or index >= len(objects):
            return None
        obj = objects[index]
        page = Page(obj)
        if resource.external is not None:
            return Case(page), below
        return Case(page, made_by(obj, instance)), below

    def _iterated(self, name: str, below: Path, text: str) -> Followed:
        """Follow an iterator to the element of the list that it stands for."""
        iterations = self.origin.wanted.iterations if self.origin is not None else ()
        bound = next((each for each in iterations if each.name == name), None)
        template = scanned(self._dimensions()[name])
        if template is None or bound is None:
            return text, None, below, f"'{name}' runs over {self._dimensions()[name]}"
        known = self._known() - self._dimensions().keys()
        for read in reads(template, known):
            path = (*read.path[1:], bound.index, *below) if read.is_whole else read.path[1:]
            found = self._named(str(read.path[0]), path, text)
            note = f"'{name}' is item {bound.index} of {self._dimensions()[name]}"
            return (text, found[1], found[2], note)
        return text, None, below, f"'{name}' is item {bound.index} of {self._dimensions()[name]}"

    def _narrowed(self, text: str, case: Case, path: Path) -> Followed:
        """Look in a map or list for the one entry that has the value in question."""
        whole = find(case.object, path)
        if not isinstance(whole, dict | list) or isinstance(self.value, dict | list):
            return text, case, path, ""
        same = [at for at, value in leaves(whole, path) if at != path and _same(value, self.value)]
        named = [at for at in same if str(at[-1]) in self._words()]
        chosen = named if len(named) == 1 else same
        if len(chosen) != 1 or self.value is MISSING:
            return text, case, path, ""
        return text, case, chosen[0], "this entry has the same value"

    def _words(self) -> set[str]:
        """Return the names on the way to the field: keys, and the names of items."""
        instance_words = {str(step) for step in self.path}
        return instance_words | self._item_names()

    def _item_names(self) -> set[str]:
        found: set[str] = set()
        if not self.made.node:
            return found
        own = self.made.instance.own
        objects = own.children.get(self.made.node, ()) if own is not None else ()
        for obj in objects:
            for count in range(1, len(self.path)):
                here = find(obj, self.path[:count])
                name = here.get("name") if isinstance(here, dict) else None
                if isinstance(name, str):
                    found.add(name)
        return found


def _same(value: Any, wanted: Any) -> bool:
    """Compare as templates do: a number may have become text."""
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    return value == wanted or (isinstance(wanted, str) and str(value) == wanted)
