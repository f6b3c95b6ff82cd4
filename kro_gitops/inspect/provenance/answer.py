"""
Where the value of a field comes from: the answer, as data.

A `Provenance` names the origin of a field and the place in git. An expression reads other fields,
and each of these has a provenance of its own; so the answer is a tree that ends in lines of
manifests, in defaults, in fields that the API server or another field manager set.

Values of Secrets are never in an answer, nor are the texts they are computed from: only hashes, so
that equal and different values can be distinguished.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import orjson

from kro_gitops.engine.plan.fields import UNKNOWN
from kro_gitops.inspect.provenance.field_managers import Writer
from kro_gitops.inspect.provenance.git_location import Place
from kro_gitops.metadata import LAST_APPLIED
from kube_objects.paths import MISSING, format_path
from kube_objects.problems import Path
from kube_objects.refs import KubeObject, ObjectRef

_HASH_BYTES = 6
_SECRET_PARTS = frozenset(("data", "stringData"))


class OriginKind(StrEnum):
    """What set a field."""

    LITERAL = "template-literal"
    EXPRESSION = "template-expression"
    STAMP = "stamp"  # by a rule of the controller
    MANIFEST = "manifest"  # written in a file of a source
    DEFAULT = "schema-default"  # of the definition of the kind
    MANAGER = "manager"  # another field manager
    SERVER = "api-server"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Drift:
    """A field that is not what we applied: desired and live as they may be shown, and by whom."""

    path: Path
    desired: str
    live: str
    by: tuple[Writer, ...] = ()
    is_guess: bool = False  # no field manager holds the field, so this is the last that wrote

    def to_json(self) -> dict[str, Any]:
        """Return it as data."""
        return {
            "field": format_path(self.path),
            "wanted": self.desired,
            "live": self.live,
            "by": [each.to_json() for each in self.by],
            "certain": not self.is_guess,
        }


@dataclass(frozen=True, slots=True)
class Reference:
    """A field that an expression reads, as it is written there, and its provenance."""

    text: str
    found: "Provenance | None" = None
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as data."""
        found: dict[str, Any] = {"reads": self.text}
        if self.note:
            found["note"] = self.note
        return {**found, "provenance": self.found.to_json()} if self.found is not None else found


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a field of an object comes from."""

    object: ObjectRef
    path: Path
    kind: OriginKind
    text: str  # in words
    value: str  # as it may be shown
    expression: str = ""
    places: tuple[Place, ...] = ()
    references: tuple[Reference, ...] = ()
    writers: tuple[Writer, ...] = ()
    drift: tuple[Drift, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def walk(self) -> Iterator["Provenance"]:
        """Yield this answer and those it depends on."""
        yield self
        for reference in self.references:
            if reference.found is not None:
                yield from reference.found.walk()

    def to_json(self) -> dict[str, Any]:
        """Return it as data; what is empty is left out."""
        ref = self.object
        found: dict[str, Any] = {
            "apiVersion": ref.kind.api_version,
            "kind": ref.kind.kind,
            "namespace": ref.namespace,
            "name": ref.name,
            "field": format_path(self.path),
            "value": self.value,
            "origin": str(self.kind),
            "text": self.text,
            "expression": self.expression,
            "places": [each.to_json() for each in self.places],
            "references": [each.to_json() for each in self.references],
            "writers": [each.to_json() for each in self.writers],
            "drift": [each.to_json() for each in self.drift],
            "notes": list(self.notes),
        }
        return {key: value for key, value in found.items() if value not in ("", [])}


def is_secret_field(obj: KubeObject, path: Path) -> bool:
    """Return True if the field holds data of a Secret."""
    if (obj.get("apiVersion"), obj.get("kind")) != ("v1", "Secret"):
        return False
    return not path or path[0] in _SECRET_PARTS or path[-1] == LAST_APPLIED


def shown(value: Any, *, hidden: bool = False, salt: bytes = b"") -> str:
    """
    Format a value on one line: as JSON, as a hash if it is secret, or as its number of parts.

    A hash without a salt could be compared with those of guessed values, so there is none then.
    """
    if value is MISSING:
        return "nothing"
    if value is UNKNOWN:
        return "not known"
    if hidden:
        if not salt:
            return "hidden"
        text = value if isinstance(value, str) else _dumped(value)
        digest = hashlib.blake2b(text.encode(), key=salt, digest_size=_HASH_BYTES)
        return f"hash:{digest.hexdigest()}"
    if isinstance(value, dict) and value:
        return f"{{{len(value)} {'field' if len(value) == 1 else 'fields'}}}"
    if isinstance(value, list) and value:
        return f"[{len(value)} {'item' if len(value) == 1 else 'items'}]"
    return _dumped(value)


def _dumped(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a number beyond 64 bits, or what only an expression can hold
        return str(value)
