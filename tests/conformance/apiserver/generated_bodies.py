"""
Bodies of requests: objects of the tables, edited at random.

Most are right, so that sequences get somewhere; some have a value of a wrong type, an unknown
field, or metadata that nobody accepts.
"""

import random
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from tests.conformance.apiserver.steps import DROP, Edit, put
from tests.conformance.apiserver.subjects import Subject

_WRONG: tuple[Any, ...] = ("text", 5, 1.5, True, None, [], {}, [1], ["a"], {"a": 1}, "", -1)
_METADATA: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("labels/tier", ("web", "db", "", "web", "web", DROP, None)),
    ("labels/x", ("y", "bad value!", 5)),
    ("labels/Bad Key!", ("x",)),
    ("annotations/note", ("text", "more", "", DROP)),
    ("annotations", (None, DROP)),
    ("finalizers", (["example.com/f"], [], DROP, ["example.com/f", "example.com/g"], DROP)),
    ("finalizers", ([], DROP, DROP, ["foregroundDeletion"], ["bad"], ["orphan"])),
    (
        "ownerReferences",
        (
            [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u-1"}],
            [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u-1"}] * 2,
            [{"apiVersion": "v1", "kind": "ConfigMap", "name": "o"}],
            [{"apiVersion": "v1", "kind": "Event", "name": "o", "uid": "u-2"}],
            [
                {"apiVersion": "v1", "kind": "X", "name": "o", "uid": "u-1", "controller": True},
                {"apiVersion": "v1", "kind": "Y", "name": "p", "uid": "u-2", "controller": True},
            ],
            [],
            DROP,
        ),
    ),
    ("generation", (7, 0, DROP)),
    ("creationTimestamp", ("2020-01-01T00:00:00Z", None)),
    ("deletionTimestamp", ("2020-01-01T00:00:00Z",)),
    ("deletionGracePeriodSeconds", (7,)),
    ("selfLink", ("/x",)),
    ("generateName", ("a-", "")),
    ("name", ("other", "Bad_Name", "", "x" * 300, DROP, 5)),
    ("namespace", ("other", "default", "", DROP)),
    ("uid", ("0a0a0a0a-0000-4000-8000-000000000000", "")),
    ("managedFields", ([], [{}], [{"manager": "x", "operation": "Apply"}], None)),
    ("unknown", ("x",)),
)
_RARE = 10  # of those above, the first so many are common


class Bodies:
    """Makes bodies."""

    def __init__(self, source: random.Random) -> None:
        self._random = source

    def new(self, subject: Subject, name: str) -> Any:
        """Return a whole object."""
        body = self._head(subject, name)
        body |= deepcopy(self._random.choice(subject.bodies))
        for path, value in self.edits(subject, ""):
            put(body, path, value)
        return body

    def partial(self, subject: Subject, name: str, part: str) -> Any:
        """Return what somebody wants to apply: an object of which parts may be missing."""
        body = self._head(subject, name)
        if part == "/status":
            for path, value in self.edits(subject, part):
                put(body, path, value)
            return body
        body |= deepcopy(self._random.choice(subject.bodies))
        if self._chance(0.3):
            self._thin_out(body)
        for path, value in self.edits(subject, ""):
            put(body, path, value)
        return body

    def edits(self, subject: Subject, part: str) -> list[Edit]:
        """Return changes of an object."""
        found = [self._edit(subject, part) for _ in range(self._random.choice((0, 1, 1, 2, 3)))]
        if self._chance(0.4):
            found.append(self._metadata())
        if self._chance(0.04):
            found.append((self._random.choice(("odd", "spec/odd", "status/odd", "data/odd")), "x"))
        if self._chance(0.01):
            found.append(self._random.choice((("kind", "Odd"), ("apiVersion", "odd/v1"))))
        if self._chance(0.01):
            found.append(self._random.choice((("kind", DROP), ("apiVersion", DROP))))
        return found

    def operations(self, subject: Subject, part: str) -> list[Any]:
        """Return a JSON patch."""
        found = []
        for path, value in self.edits(subject, part) or [self._edit(subject, part)]:
            pointer = "/" + path
            if value == DROP:
                found.append({"op": "remove", "path": pointer})
            else:
                sort = self._random.choice(
                    ("add", "add", "replace", "test" if self._chance(0.2) else "add")
                )
                found.append({"op": sort, "path": pointer, "value": value})
        if self._chance(0.05):
            found.append(
                {
                    "op": self._random.choice(("move", "copy")),
                    "from": "/metadata/labels",
                    "path": "/metadata/annotations",
                }
            )
        if self._chance(0.03):
            found.append({"op": "odd", "path": "/x"})
        return found

    def changes(self, subject: Subject, part: str, *, strategic: bool) -> Any:
        """Return a merge patch."""
        body: dict[str, Any] = {}
        for path, value in self.edits(subject, part) or [self._edit(subject, part)]:
            _nest(body, path.split("/"), None if value == DROP else value)
        if strategic and self._chance(0.1):
            put(body, "metadata/$patch", self._random.choice(("replace", "delete", "merge", "odd")))
        if strategic and self._chance(0.1):
            put(body, "metadata/$deleteFromPrimitiveList~1finalizers", ["example.com/f"])
        if self._chance(0.08):
            put(body, "metadata/resourceVersion", self._random.choice(("$version", "$stale", "x")))
        return body

    def _edit(self, subject: Subject, part: str) -> Edit:
        edits = subject.edits
        if part == "/status" and self._chance(0.8):
            edits = tuple(each for each in edits if each[0].startswith("status")) or edits
        elif not self._chance(0.1):
            edits = tuple(each for each in edits if not each[0].startswith("status"))
        path, values = self._random.choice(edits)
        if self._chance(0.03):
            return path, self._random.choice(_WRONG)
        # The first values are the more usual ones.
        return path, values[
            min(self._random.randrange(len(values)), self._random.randrange(len(values)))
        ]

    def _metadata(self) -> Edit:
        common = self._chance(0.8)
        path, values = self._random.choice(_METADATA[:_RARE] if common else _METADATA)
        if self._chance(0.03):
            return f"metadata/{path}", self._random.choice(_WRONG)
        return f"metadata/{path}", self._random.choice(values)

    def _head(self, subject: Subject, name: str) -> dict[str, Any]:
        metadata: dict[str, Any] = {"name": subject.prefix + name}
        if subject.namespaced and self._chance(0.7):
            metadata["namespace"] = "{ns}"
        if not subject.namespaced:
            metadata["labels"] = {"sequence": "{ns}"}
        return {"apiVersion": subject.api_version, "kind": subject.kind, "metadata": metadata}

    def _thin_out(self, body: Any) -> None:
        places = list(_places({key: body[key] for key in body if key not in _KEPT}))
        if places:
            put(body, self._random.choice(places), DROP)

    def _chance(self, part: float) -> bool:
        return self._random.random() < part


_KEPT = frozenset(("apiVersion", "kind", "metadata"))


def _places(value: Any, way: str = "") -> Iterator[str]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, held in items:
        path = f"{way}/{key}".lstrip("/")
        yield path
        if isinstance(held, dict | list):
            yield from _places(held, path)


def _nest(body: Any, way: list[str], value: Any) -> None:
    """Set a field in a merge patch; a list on the way is given with the one item."""
    part, *rest = way
    if part.isdigit():
        return
    if not rest:
        body[part] = value
    elif rest[0].isdigit():
        body[part] = [_item(rest[1:], value)]
    else:
        inner = body.get(part)
        if not isinstance(inner, dict):
            inner = body[part] = {}
        _nest(inner, rest, value)


def _item(rest: list[str], value: Any) -> Any:
    if not rest:
        return value
    item: dict[str, Any] = {"name": "main", "port": 80}
    _nest(item, rest, value)
    return item
