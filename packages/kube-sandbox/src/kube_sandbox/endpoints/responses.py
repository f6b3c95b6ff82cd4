"""
Objects → the bytes that are sent, in the form that was asked for.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/endpoints/handlers/response.go
transformResponseObject, doTransformObject.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import orjson

from kube_objects.refs import KubeObject
from kube_sandbox.api_errors import StatusError
from kube_sandbox.endpoints.negotiation import JSON, YAML, Form, Shape
from kube_sandbox.endpoints.stored_objects import StoredObjects, dumped, head_length
from kube_sandbox.lazy import lazy_module
from kube_sandbox.registry.builtin_resources import internal_type
from kube_sandbox.registry.kinds import Served
from kube_sandbox.storage.records import Record
from kube_sandbox.tables.render import include_of, not_a_list, partial, partial_list, table

if TYPE_CHECKING:
    from kube_sandbox.endpoints import yaml_bodies
else:
    yaml_bodies = lazy_module("kube_sandbox.endpoints.yaml_bodies")


@dataclass(slots=True)
class Response:
    """What is sent."""

    code: int
    body: bytes
    content_type: str = JSON
    warnings: Sequence[str] = ()
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rendering:
    """How the objects of a request are shown."""

    records: StoredObjects
    served: Served
    form: Form
    include: str  # what a row of a table has of its object
    clock: Callable[[], datetime]

    def one(self, code: int, obj: KubeObject, warnings: Sequence[str] = ()) -> Response:
        """Show an object."""
        if obj.get("kind") == "Status" and obj.get("apiVersion") == "v1":
            return Response(code, orjson.dumps(obj), warnings=warnings)
        return self._answer(code, self._shaped(obj), warnings)

    def record(self, record: Record) -> Response:
        """Return a stored object; it is parsed only if another form was requested."""
        if self.form.shape is Shape.OBJECT and self.form.media_type == JSON:
            return Response(200, self.records.value(self.served, record))
        return self.one(200, self.records.load(self.served, record))

    def many(self, records: Iterable[Record], metadata: dict[str, Any]) -> Response:
        """Show a list."""
        served, shape = self.served, self.form.shape
        if shape is Shape.METADATA:
            raise not_a_list("PartialObjectMetadata", self._go_type("List"), is_list=True)
        if shape is Shape.OBJECT and self.form.media_type == JSON:
            joined_served, stored = self.served, self.records
            values = [stored.value(joined_served, each) for each in records]
            head = orjson.dumps(self._list_head(metadata))[:-1]
            if not joined_served.is_custom:
                # Items of a built-in kind do not name it.
                values = [b"{" + each[head_length(each) :] for each in values]
            return Response(200, head + b',"items":[' + b",".join(values) + b"]}")
        objects = [self.records.load(served, each) for each in records]
        if shape is Shape.TABLE:
            shown = self._table(objects, metadata)
        elif shape is Shape.OBJECT:
            shown = self._list_head(metadata) | {"items": objects}
        else:
            shown = partial_list(objects, metadata)
        return self._answer(200, shown, ())

    def event(self, value: bytes, *, headers: bool = False) -> bytes:
        """Show an object of a watch event; only the first row of a table has headers."""
        shape = self.form.shape
        stored = StoredObjects.is_stored(self.served)
        if shape is Shape.OBJECT and stored:
            return value
        obj: KubeObject = orjson.loads(value)
        if not stored:
            obj = self.records.converted(self.served, obj)
        if shape is Shape.OBJECT:
            return dumped(self.served, obj)
        return orjson.dumps(self._shaped(obj, headers=headers))

    def _list_head(self, metadata: dict[str, Any]) -> KubeObject:
        served = self.served
        api_version = served.kind.api_version
        if served.is_custom:
            metadata = {"continue": "", **metadata}
            return {"apiVersion": api_version, "kind": served.list_name, "metadata": metadata}
        return {"kind": served.list_name, "apiVersion": api_version, "metadata": metadata}

    def _shaped(self, obj: KubeObject, *, headers: bool = True) -> KubeObject:
        match self.form.shape:
            case Shape.OBJECT:
                return obj
            case Shape.TABLE:
                return self._table([obj], obj["metadata"], headers=headers)
            case Shape.METADATA_LIST if self.served.is_custom:
                raise StatusError(500, "", "content is not a list")
            case Shape.METADATA_LIST:
                raise not_a_list("PartialObjectMetadataList", self._go_type(), is_list=False)
            case _:
                return partial(obj)

    def _go_type(self, suffix: str = "") -> str:
        """Return how Go calls the struct of an object, or of a list of them."""
        if self.served.is_custom:
            return f"*unstructured.Unstructured{suffix}"
        return f"*{internal_type(self.served)}{suffix}"

    def _table(
        self, objects: Sequence[KubeObject], metadata: KubeObject, *, headers: bool = True
    ) -> KubeObject:
        include, now = include_of(self.include), self.clock()
        return table(
            self.served, objects, include=include, now=now, metadata=metadata, headers=headers
        )

    def _answer(self, code: int, obj: KubeObject, warnings: Sequence[str]) -> Response:
        """Encode one object as the client asked for: YAML, the whole of it, or its metadata."""
        if self.form.media_type == YAML:
            return Response(code, yaml_bodies.printed(obj), YAML, warnings)
        if self.form.shape is Shape.OBJECT:
            return Response(code, dumped(self.served, obj), warnings=warnings)
        return Response(code, orjson.dumps(obj), warnings=warnings)
