"""
The fields of a desired object that the API server stores unchanged.

The server does not store every value as it was sent. It ignores a status, sets some metadata
itself, and decodes built-in kinds: an empty or zero field may be dropped, a quantity is stored in
its shortest form. Every value that may differ is left out here, so that expressions see it as
unknown; in a map whose keys the author chose, a placeholder keeps the key.
"""

from base64 import b64decode, b64encode
from typing import Any

from kro_gitops.engine.graph.read_paths import ReadPaths
from kro_gitops.engine.plan.placeholder import Placeholder, is_unknown
from kube_objects.builtins.catalog import catalog
from kube_objects.quantity import QuantityError, canonical_quantity
from kube_objects.refs import KubeObject
from kube_objects.schemas import KindSchema, Schema
from kube_objects.times import format_time, parse_time

# Set by the API server: in a manifest they are left over from `kubectl get -o yaml`.
SERVER_METADATA = (
    *("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"),
    *("deletionTimestamp", "deletionGracePeriodSeconds"),
)
# The server and controllers add to finalizers.
_IGNORED_METADATA = frozenset((*SERVER_METADATA, "finalizers"))
# Fields of built-in kinds that keep a zero, because there absent means something else.
_KEEP_ZERO = frozenset(
    ("replicas", "suspend", "immutable", "parallelism", "completions", "backoffLimit")
)
_QUANTITY = [{"type": "string"}, {"type": "number"}]
_UNCERTAIN: Any = object()
_SOMETHING = Placeholder((), "dyn")


def certain_parts(
    obj: KubeObject, served: KindSchema, parts: ReadPaths | None = None
) -> KubeObject:
    """
    Return an object without what the API server may store in another form.

    With `parts`, only those are read: the others are returned as they are.
    """
    desired = {key: value for key, value in obj.items() if key != "status"}
    if parts is not None and not parts:
        return desired
    is_builtin = catalog.find(served.kind) is not None
    desired["metadata"] = {
        key: value for key, value in obj["metadata"].items() if key not in _IGNORED_METADATA
    }
    return _certain_map(desired, served.schema, is_builtin, parts)


def _certain(value: Any, schema: Schema, is_builtin: bool, parts: ReadPaths | None = None) -> Any:
    if isinstance(value, dict):
        return _certain_map(value, schema, is_builtin, parts)
    if isinstance(value, list):
        below = schema.get("items") or {}
        items = [_certain(item, below, is_builtin) for item in value]
        return _UNCERTAIN if any(item is _UNCERTAIN for item in items) else items
    if value is None or (is_builtin and _is_rewritten(value, schema)):
        return _UNCERTAIN
    return value


def _certain_map(
    value: dict[str, Any], schema: Schema, is_builtin: bool, parts: ReadPaths | None
) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    values = schema.get("additionalProperties")
    below = values if isinstance(values, dict) else {}
    required = schema.get("required") or ()
    found: dict[str, Any] = {}
    for key, part in value.items():
        if parts is not None and key not in parts:
            found[key] = part
            continue
        declared = properties.get(key)
        rest = parts[key] if parts is not None else None
        certain = _certain(part, below if declared is None else declared, is_builtin, rest)
        is_kept = not is_builtin or key in required or key in _KEEP_ZERO
        if declared is not None and not certain and not is_kept:
            certain = _UNCERTAIN
        if certain is not _UNCERTAIN:
            found[key] = certain
        elif declared is None:
            found[key] = _SOMETHING
    return found


def _is_rewritten(value: Any, schema: Schema) -> bool:
    """Return whether the API server may write a value of a built-in kind in another form."""
    if is_unknown(value):
        return False
    if schema.get("oneOf") == _QUANTITY and "format" not in schema:
        try:
            return not isinstance(value, str) or canonical_quantity(value) != value
        except QuantityError:
            return True
    if not isinstance(value, str):
        return False
    form = schema.get("format")
    if form == "date-time":
        moment = parse_time(value)
        return moment is None or format_time(moment) != value
    if form == "byte":
        try:
            return b64encode(b64decode(value, validate=True)).decode() != value
        except ValueError:
            return True
    return False
