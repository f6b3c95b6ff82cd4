"""
Documents made from a definition: a sample instance, a JSON Schema for editors, and the permissions
that the controller needs for it.
"""

from collections.abc import Iterator
from typing import Any

from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.engine.simpleschema.marker_effects import IMMUTABLE_RULE
from kro_gitops.telemetry.printable import printable
from kube_cel.validation_rules import EXTENSION
from kube_objects.problems import Path
from kube_objects.refs import KubeObject
from kube_objects.value_checks import find_violations

Schema = dict[str, Any]

_EXAMPLES: dict[str, Any] = {
    "string": "text",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "array": [],
    "object": {},
}
# What fields with a pattern often hold; the first that fits is taken.
_TEXTS = (
    *("text", "a", "A", "1", "1.0.0", "1Gi", "500m", "30s", "12:00", "2030-01-01"),
    *("example.com", "10.0.0.1", "10.0.0.0/8", "https://example.com", "team@example.com"),
    *(
        "AAA",
        "AAA-1",
        "a-1",
        "example.com/image:1",
        "example.com/image:1.0.0",
        "/",
        "*",
        "* * * * *",
    ),
)
# The label of the chart's rbac.mode `aggregation`, and of kro's.
_AGGREGATION = {"rbac.kro.run/aggregate-to-controller": "true"}
_READ = ("get", "list", "watch")
_WRITE = (*_READ, "create", "patch", "delete")
_MOST_ITEMS = 20
_MOST_LETTERS = 1000


def sample_instance(graph: Graph) -> tuple[KubeObject, dict[Path, str]]:
    """Return an instance with every field filled in, and a comment for each field."""
    served = graph.served
    comments: dict[Path, str] = {}
    metadata: dict[str, Any] = {"name": f"my-{served.kind.kind.lower()}"}
    if served.namespaced:
        metadata["namespace"] = "default"
    spec_schema = served.schema["properties"]["spec"]
    instance = {
        "apiVersion": served.kind.api_version,
        "kind": served.kind.kind,
        "metadata": metadata,
        "spec": _sample(spec_schema, ("spec",), comments),
    }
    return instance, comments


def _sample(schema: Schema, path: Path, comments: dict[Path, str]) -> Any:
    properties = schema.get("properties")
    if properties:
        required = set(schema.get("required") or ())
        sample = {}
        for name, below in properties.items():
            place = (*path, name)
            if remarks := "; ".join(_remarks(below, name in required)):
                comments[place] = printable(remarks)
            sample[name] = _sample(below, place, comments)
        return sample
    if "default" in schema:
        return schema["default"]
    return _example(schema, path, comments)


def _example(schema: Schema, path: Path, comments: dict[Path, str]) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type", "object")
    if kind in ("integer", "number"):
        bounds = (schema.get("minimum"), schema.get("maximum"), _EXAMPLES[kind])
        return next(number for number in bounds if number is not None)
    if kind == "array" and isinstance(schema.get("items"), dict):
        return _list(schema, path, comments)
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return {"key": _sample(schema["additionalProperties"], (*path, "key"), comments)}
    if kind == "string":
        # The first likely text that fits, or one to be replaced.
        fitting = (text for text in _TEXTS if not any(find_violations(text, schema, hidden=False)))
        shortest, longest = schema.get("minLength", 0), schema.get("maxLength", _MOST_LETTERS)
        padded = "text".ljust(min(shortest, _MOST_LETTERS), "x")[:longest]
        return next(fitting, "") or padded
    return _EXAMPLES[kind]


def _list(schema: Schema, path: Path, comments: dict[Path, str]) -> list[Any]:
    count = min(max(1, schema.get("minItems", 1)), schema.get("maxItems", _MOST_ITEMS), _MOST_ITEMS)
    items = [_sample(schema["items"], (*path, index), comments) for index in range(count)]
    keys = schema.get("x-kubernetes-list-map-keys")
    if keys:
        fields = schema["items"].get("properties") or {}
        return [
            {**item, **{key: _another(item[key], index, fields[key]) for key in keys}}
            for index, item in enumerate(items)
        ]
    if schema.get("uniqueItems") or schema.get("x-kubernetes-list-type") == "set":
        return [_another(item, index, schema["items"]) for index, item in enumerate(items)]
    return items


def _another(value: Any, index: int, schema: Schema) -> Any:
    """Return a value that differs from those at other indices, where that is easy."""
    if index == 0 or isinstance(value, bool):
        return value
    if schema.get("enum"):
        return schema["enum"][index % len(schema["enum"])]
    if isinstance(value, str):
        return f"{value}{index + 1}"
    return value + index if isinstance(value, int | float) else value


def _remarks(schema: Schema, required: bool) -> Iterator[str]:
    if schema.get("properties") is None or required:
        yield "required" if required and "default" not in schema else "optional"
    if schema.get("description"):
        yield " ".join(str(schema["description"]).split())
    if schema.get("enum"):
        yield "one of " + ", ".join(str(value) for value in schema["enum"])
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        yield f"from {low} to {high}"
    elif low is not None:
        yield f"at least {low}"
    elif high is not None:
        yield f"at most {high}"
    if schema.get("pattern"):
        yield f"matches {schema['pattern']}"
    for rule in schema.get(EXTENSION) or ():
        yield "cannot be changed" if rule["rule"] == IMMUTABLE_RULE else f"rule: {rule['rule']}"


def controller_role(graph: Graph) -> tuple[KubeObject, dict[Path, str]]:
    """
    Return the ClusterRole with all that the controller needs for a definition, and comments.

    Its label adds it to the role of a controller that was installed with `rbac.mode: aggregation`.
    """
    own, group = graph.served.plural, graph.served.kind.group
    needed: dict[tuple[str, str], tuple[str, ...]] = {}
    for node in graph.nodes.values():
        target = (node.served.kind.group, node.served.plural)
        if not node.kind.is_external or target not in needed:
            needed[target] = _READ if node.kind.is_external else _WRITE
    by_verbs: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (child_group, plural), verbs in needed.items():
        by_verbs.setdefault((child_group, verbs), []).append(plural)
    rules = [
        {"apiGroups": [group], "resources": [own], "verbs": [*_READ, "patch"]},
        {"apiGroups": [group], "resources": [f"{own}/status"], "verbs": ["patch"]},
        {"apiGroups": [group], "resources": [f"{own}/finalizers"], "verbs": ["update"]},
        *(
            {"apiGroups": [child_group], "resources": plurals, "verbs": list(verbs)}
            for (child_group, verbs), plurals in by_verbs.items()
        ),
    ]
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": f"kro-gitops:{graph.definition.name}",
            "labels": dict(_AGGREGATION),
        },
        "rules": rules,
    }
    plugin = "only if the admission plugin OwnerReferencesPermissionEnforcement is enabled"
    comments: dict[Path, str] = {("rules", 2, "resources"): plugin}
    for index, rule in enumerate(rules):
        if rule["apiGroups"] == ["rbac.authorization.k8s.io"]:
            comments["rules", index, "resources"] = "and every permission that these roles grant"
    return role, comments


def json_schema(graph: Graph) -> Schema:
    """Return a JSON Schema for instances, as YAML plugins of editors understand it."""
    served = graph.served
    root = graph.crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    properties = {
        "apiVersion": {"type": "string", "const": served.kind.api_version},
        "kind": {"type": "string", "const": served.kind.kind},
        "metadata": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "maxLength": 253},
                "namespace": {"type": "string", "maxLength": 63},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
            },
            "required": ["name"],
        },
        "spec": _closed(root["properties"]["spec"]),
        "status": {"type": "object"},
    }
    required = ["apiVersion", "kind", "metadata"]
    if "default" not in root["properties"]["spec"]:
        required.append("spec")
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": served.kind.kind,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _closed(schema: Schema) -> Schema:
    """Turn a structural schema into JSON Schema: no extensions, unknown fields marked."""
    closed = {key: value for key, value in schema.items() if not key.startswith("x-kubernetes-")}
    if schema.get("x-kubernetes-list-type") == "set":
        closed["uniqueItems"] = True
    if "properties" in schema:
        closed["properties"] = {k: _closed(v) for k, v in schema["properties"].items()}
        # The API server fills in a default before it looks for what is missing.
        needed = [
            name
            for name in schema.get("required") or ()
            if "default" not in schema["properties"].get(name, {})
        ]
        closed.pop("required", None)
        if needed:
            closed["required"] = needed
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            closed["additionalProperties"] = False
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            closed[key] = _closed(schema[key])
    return closed
