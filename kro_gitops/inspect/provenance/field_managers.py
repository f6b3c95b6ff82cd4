"""
The field managers of an object and their fields (`managedFields`).

An entry is a tree: `f:name` for a field, `k:{…}` for an item of a list by its keys, `v:…` for one
by its value, and `.` for the field itself. A tree that ends above a field holds all of it: the
server treats it as one value.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from kro_gitops.inspect.provenance.field_names import Item, Steps
from kro_gitops.metadata import CHILD_MANAGER, INSTANCE_MANAGER, SOURCE_MANAGER
from kro_gitops.tracking.workload_health import mapping
from kube_objects.problems import Path
from kube_objects.refs import KubeObject

STATUS_MANAGER = "kro-gitops"  # the API server derives it from our user agent
OURS = frozenset((CHILD_MANAGER, INSTANCE_MANAGER, SOURCE_MANAGER, STATUS_MANAGER))
APPLY = "Apply"
_SELF = "."


@dataclass(frozen=True, slots=True)
class Writer:
    """A field manager: its operation, when it last changed a field, and its fields."""

    manager: str
    operation: str = ""
    time: str = ""
    subresource: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False, compare=False)

    @property
    def is_ours(self) -> bool:
        """Return True if this is one of our controllers."""
        return self.manager in OURS

    def holds(self, path: Path, obj: Any) -> bool:
        """Return True if this manager holds a field; `obj` resolves an index to its item."""
        here, value = self.fields, obj
        for step in path:
            if not any(name != _SELF for name in here) and here is not self.fields:
                return True  # one value to the server, whatever is in it
            if isinstance(step, int):
                items = value if isinstance(value, list) else []
                value = items[step] if step < len(items) else None
                found = _item(here, value)
            else:
                value = value.get(step) if isinstance(value, dict) else None
                found = here.get(f"f:{step}")
            if not isinstance(found, dict):
                return False
            here = found
        return True

    def to_json(self) -> dict[str, str]:
        """Return it as data."""
        found = {"manager": self.manager, "operation": self.operation, "time": self.time}
        return {**found, "subresource": self.subresource} if self.subresource else found


def writers(obj: KubeObject) -> tuple[Writer, ...]:
    """Return the field managers of an object, the latest first."""
    listed = mapping(obj, "metadata").get("managedFields")
    found = []
    for entry in listed or ():
        if isinstance(entry, dict):
            fields = entry.get("fieldsV1")
            writer = Writer(
                str(entry.get("manager") or "unknown"),
                str(entry.get("operation") or ""),
                str(entry.get("time") or ""),
                str(entry.get("subresource") or ""),
                fields if isinstance(fields, dict) else {},
            )
            found.append(writer)
    return tuple(sorted(found, key=lambda writer: writer.time, reverse=True))


def holders(found: Iterable[Writer], path: Path, obj: KubeObject) -> tuple[Writer, ...]:
    """Return the managers that hold a field; none if the API server set it."""
    return tuple(each for each in found if each.holds(path, obj))


def our_entry(found: Iterable[Writer], manager: str) -> Writer | None:
    """Return the entry of what one of our controllers applied."""
    for each in found:
        if each.manager == manager and each.operation == APPLY and not each.subresource:
            return each
    return None


def held_fields(writer: Writer) -> Iterator[Steps]:
    """Yield the innermost fields that a manager holds."""
    yield from _leaves(writer.fields, ())


def _leaves(fields: Mapping[str, Any], above: Steps) -> Iterator[Steps]:
    below = {name: value for name, value in fields.items() if name != _SELF}
    if not below:
        if above:
            yield above
        return
    for name, value in below.items():
        yield from _leaves(value if isinstance(value, dict) else {}, (*above, _step(name)))


def _step(name: str) -> str | int | Item:
    kind, _, text = name.partition(":")
    if kind == "k":
        keys = _loaded(text)
        if isinstance(keys, dict):
            return Item(tuple((key, str(value)) for key, value in keys.items()))
    if kind == "i" and text.isdigit():
        return int(text)
    if kind == "v":
        return Item((("value", str(_loaded(text))),))
    return text


def _item(fields: Mapping[str, Any], item: Any) -> Any:
    """Return the entry of an item of a list, by its keys or by its value."""
    for name, below in fields.items():
        kind, _, text = name.partition(":")
        if kind == "k" and isinstance(item, dict):
            keys = _loaded(text)
            # A key that the item leaves out has the default of the schema.
            if isinstance(keys, dict) and all(item.get(k, v) == v for k, v in keys.items()):
                return below
        if kind == "v" and _loaded(text) == item:
            return below
    return None


def _loaded(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
