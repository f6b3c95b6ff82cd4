"""
The fields that an expression reads, followed to the objects that have them.

`schema` is the instance, an iterator an element of a list of it, every other name another object of
the same instance. A value computed from a whole map or list is followed to the entry with the same
value, if there is exactly one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kro_gitops.engine.graph.nodes import SCHEMA
from kro_gitops.inspect.provenance.context import Case, Origin, Parent, parent_of
from kro_gitops.inspect.provenance.git_location import Page
from kro_gitops.inspect.provenance.reads import reads, scanned
from kube_cel.interpolation import Template as Scanned
from kube_objects.paths import MISSING, find, format_path, leaves
from kube_objects.problems import Path

Followed = tuple[str, Case | None, Path, str]  # its text, the object, the field, a note


@dataclass(frozen=True, slots=True)
class Follower:
    """Follows the expressions of one field of one object."""

    parent: Parent
    origin: Origin | None
    path: Path
    value: Any

    @classmethod
    def of_status(cls, instance: Case, path: Path, value: Any) -> "Follower":
        """Follow the status of an instance, whose expressions see its children."""
        return cls(Parent("", instance), None, path, value)

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
        """Follow the fields that a value reads; `rest` is the path below the value."""
        for read in reads(template, self._known()):
            inside = rest if read.is_whole else ()
            name, below = str(read.path[0]), (*read.path[1:], *inside)
            text = format_path((*read.path, *inside))
            if name in self._dimensions():
                yield self._iterated(name, below, text)
            else:
                yield self._named(name, below, text)

    def _known(self) -> frozenset[str]:
        own = self.parent.instance.own
        names = own.names() if own is not None else frozenset[str]()
        return names | {SCHEMA} | self._dimensions().keys()

    def _dimensions(self) -> dict[str, str]:
        resource = self.origin.resource if self.origin is not None else None
        return {each.name: each.text for each in resource.for_each} if resource else {}

    def _named(self, name: str, below: Path, text: str) -> Followed:
        """Follow a field of the instance, or of another object of it."""
        instance = self.parent.instance
        if name == SCHEMA:
            return self._narrowed(text, instance, below)
        missing = text, None, below, f"no object of node '{name}' was found"
        own = instance.own
        resource = own.resource(name) if own is not None else None
        if own is None or resource is None:
            return missing
        index = 0
        if resource.for_each or resource.has_selector:
            if not below or not isinstance(below[0], int):
                return missing
            index, below = below[0], below[1:]
        objects = own.children.get(name, ())
        if index >= len(objects):
            return missing
        obj = objects[index]
        if resource.external is not None:
            return text, Case(Page(obj), salt=instance.salt), below, ""
        parent = parent_of(obj, instance)
        return text, Case(Page(obj), parent, salt=instance.salt), below, ""

    def _iterated(self, name: str, below: Path, text: str) -> Followed:
        """Follow an iterator to its element of the list."""
        iterations = self.origin.desired.iterations if self.origin is not None else ()
        bound = next((each for each in iterations if each.name == name), None)
        dimension = self._dimensions()[name]
        template = scanned(dimension)
        if template is None or bound is None:
            return text, None, below, f"'{name}' runs over {dimension}"
        note = f"'{name}' is item {bound.index} of {dimension}"
        for read in reads(template, self._known() - self._dimensions().keys()):
            path = (*read.path[1:], bound.index, *below) if read.is_whole else read.path[1:]
            _, case, found, _ = self._named(str(read.path[0]), path, text)
            return text, case, found, note
        return text, None, below, note

    def _narrowed(self, text: str, case: Case, path: Path) -> Followed:
        """Look in a map or list for the only entry with the value of the field."""
        whole, field = find(case.object, path), self.value
        if not isinstance(whole, dict | list) or isinstance(field, dict | list):
            return text, case, path, ""
        same: list[Path] = []
        for at, value in leaves(whole, path):
            # A number may have become text in a template; True is not 1.
            is_boolean = isinstance(value, bool) or isinstance(field, bool)
            is_text = isinstance(field, str) and str(value) == field
            if at != path and (value is field if is_boolean else value == field or is_text):
                same.append(at)
        # Of several entries, the one is meant whose name is a key or name on the way to the field.
        names = {str(step) for step in self.path}
        own = self.parent.instance.own
        for obj in own.children.get(self.parent.node, ()) if own is not None else ():
            for count in range(1, len(self.path)):
                here = find(obj, self.path[:count])
                name = here.get("name") if isinstance(here, dict) else None
                if isinstance(name, str):
                    names.add(name)
        named = [at for at in same if str(at[-1]) in names]
        chosen = named if len(named) == 1 else same
        if len(chosen) != 1 or field is MISSING:
            return text, case, path, ""
        return text, case, chosen[0], "this entry has the same value"
