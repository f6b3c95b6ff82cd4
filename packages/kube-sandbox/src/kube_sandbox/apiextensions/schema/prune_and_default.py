"""
A custom object as the API server keeps it: pruned, without meaningless nulls, with its defaults.

The walk is that of `kube_objects`. Here the object itself is changed, and the metadata of objects
inside it is coerced on the way.

Follows kubernetes 1.35 k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning/algorithm.go
PruneWithOptions; k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/algorithm.go
Default; k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta/algorithm.go
CoerceWithOptions.
"""

from typing import Any

from kube_objects.defaulting import ObjectWalk, SchemaReader
from kube_objects.refs import KubeObject
from kube_objects.schema_validator import Trail, path_of
from kube_sandbox.apiextensions.schema.go_structs import MalformedError
from kube_sandbox.apiextensions.schema.object_meta import read_metadata
from kube_sandbox.registry.field_errors import invalid

_NOTHING = SchemaReader({}, is_object=True)


def normalize_object(
    obj: KubeObject, reader: SchemaReader | None, *, defaults: bool = True
) -> list[str]:
    """
    Bring a whole object into form; return the paths of fields that were not known, in order.

    Its own metadata is not touched. Raises `MalformedError` for a part whose metadata cannot be
    read.
    """
    unknown_metadata: list[str] = []

    def coerce(value: KubeObject, trail: Trail) -> None:
        # The metadata of an object inside another is read like its own.
        path = _text(trail)
        for key in ("apiVersion", "kind"):
            if key in value and not isinstance(value[key], str):
                raise MalformedError(str(invalid(f"{path}.{key}", value[key], "must be a string")))
        if "metadata" in value:
            where = f"{path}.metadata"
            try:
                value["metadata"], unknown = read_metadata(value["metadata"])
            except MalformedError as error:
                raise MalformedError(str(invalid(where, value["metadata"], str(error)))) from None
            unknown_metadata.extend(f"{where}.{each}" for each in unknown)

    walk = ObjectWalk(prunes=True, drops_nulls=True, defaults=defaults, read_metadata=coerce)
    walk.through(obj, reader or _NOTHING)
    return [*sorted(map(_text, walk.unknown)), *sorted(unknown_metadata)]


def apply_defaults(obj: KubeObject, reader: SchemaReader | None) -> None:
    """Fill in defaults, as after an apply: a null that means nothing is left to be rejected."""
    ObjectWalk(prunes=True, drops_nulls=False, defaults=True).through(obj, reader or _NOTHING)


def prune_unknown_fields(value: Any, reader: SchemaReader) -> None:
    """Drop what is not described from a part of an object, and nothing else."""
    ObjectWalk(prunes=True, drops_nulls=False, defaults=False).through(value, reader)


def _text(trail: Trail) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path_of(trail))
    return "".join(steps).removeprefix(".")
