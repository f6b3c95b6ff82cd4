"""
What is known of an object without a cluster.

Of an instance: everything its file says, and its defaults. What the API server adds to its
metadata, and what deployers stamp on it, is not.

Of a child: what its template says. An object with declared fields may get more of them from the API
server, a webhook or a controller, so an absent field is unknown. A map whose keys the author
chose (`data`, `matchLabels`) is complete, but for labels and annotations, which others write, too.
"""

from typing import Any

from kro_gitops.engine.graph.nodes import SCHEMA, Graph
from kro_gitops.engine.graph.read_paths import Parts
from kro_gitops.engine.plan.placeholder import PartText, Placeholder
from kro_gitops.metadata import ARGOCD_PREFIX, KRO_PREFIX
from kube_cel.values import PartialMap, partial
from kube_objects.defaulting import apply_defaults
from kube_objects.refs import KubeObject
from kube_objects.schemas import Schema

_UNSEEN: Any = object()
_SCALARS = frozenset((str, int, float, bool, type(None)))
_SHARED_MAPS = (".metadata.labels", ".metadata.annotations")
# Keys that a deployer or a controller writes on an instance after it has left git.
_STAMPED = (ARGOCD_PREFIX, KRO_PREFIX, "kubectl.kubernetes.io/", "applyset.kubernetes.io/")


def with_defaults(graph: Graph, instance: KubeObject) -> KubeObject:
    """Return the instance as the API server would store it, without its status."""
    stored: KubeObject = apply_defaults(instance, graph.served.schema)
    return {key: value for key, value in stored.items() if key != "status"}


def instance_data(stored: KubeObject) -> KubeObject:
    """Return what expressions see as `schema`, with the unknown parts of its metadata marked."""
    metadata = stored.get("metadata") or {}
    path = f"{SCHEMA}.metadata"
    sections = {
        name: partial(metadata.get(name) or {}, f"{path}.{name}", is_open=_is_stamped)
        for name in ("labels", "annotations")
    }
    data = partial({k: v for k, v in metadata.items() if k not in sections}, path)
    data.update(sections)
    return {**stored, "metadata": data}


def child_data(made: Any, schema: Schema, path: str, parts: Parts | None = None) -> Any:
    """
    Return what expressions see of a child, with its unknown parts marked.

    A placeholder is not seen at all, and a list with one is not seen either: its other elements
    could not be told from all of them. With `parts`, nothing else will be asked for.
    """
    if isinstance(made, Placeholder | PartText):
        return _UNSEEN
    if isinstance(made, list):
        below = schema.get("items") or {}
        seen = [child_data(item, below, f"{path}[{i}]") for i, item in enumerate(made)]
        return _UNSEEN if any(item is _UNSEEN for item in seen) else seen
    if isinstance(made, dict):
        return _map_data(made, schema, path, parts)
    return made


def _map_data(
    made: dict[str, Any], schema: Schema, path: str, parts: Parts | None
) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    values = schema.get("additionalProperties")
    below = values if isinstance(values, dict) else {}
    seen: dict[str, Any] = {}
    unseen: set[str] = set()
    for key in made if parts is None else filter(made.__contains__, parts):
        data = made[key]
        if type(data) not in _SCALARS:  # which need neither a look nor a path
            rest = parts[key] if parts is not None else None
            data = child_data(data, properties.get(key) or below, _below(path, key), rest)
        if data is _UNSEEN:
            unseen.add(key)
        else:
            seen[key] = data
    is_map = isinstance(values, dict) and not properties
    if not is_map or path.endswith(_SHARED_MAPS):
        return PartialMap(seen, path)
    if unseen:
        return PartialMap(seen, path, is_open=unseen.__contains__)
    return seen


def _is_stamped(key: str) -> bool:
    return key.startswith(_STAMPED)


def _below(path: str, key: str) -> str:
    return f'{path}["{key}"]' if key == "" or "." in key else f"{path}.{key}"


def merged(known: Any, given: Any) -> Any:
    """Lay what was given over what is known, map by map."""
    if not isinstance(known, dict) or not isinstance(given, dict):
        return given
    result = dict(known)
    for key, value in given.items():
        result[key] = merged(known[key], value) if key in known else value
    return result
