"""
Objects to be written while it is recorded what an API server makes of it: random ones, and scripts.

A custom kind has lists and maps of all sorts. Values are drawn from few, so that managers meet.
"""

import copy
import json
import random
from collections.abc import Callable
from typing import Any

from tools.recording.definitions import definition, version

GROUP = "recorded.example.com"

Json = dict[str, Any]
Chance = random.Random

TEXT: Json = {"type": "string"}
NUMBER: Json = {"type": "integer"}
ANY_NUMBER: Json = {"type": "number"}
FLAG: Json = {"type": "boolean"}


def thing(**properties: Json) -> Json:
    """Describe an object with these fields."""
    return {"type": "object", "properties": properties}


def listed(items: Json, kind: str, *keys: str) -> Json:
    """Describe a list of a sort."""
    found: Json = {"type": "array", "items": items, "x-kubernetes-list-type": kind}
    return {**found, "x-kubernetes-list-map-keys": list(keys)} if keys else found


PORT: Json = {
    **thing(
        port=NUMBER,
        protocol={**TEXT, "default": "TCP"},
        name=TEXT,
        tags=listed(TEXT, "set"),
        nested=listed({**thing(id=TEXT, value=NUMBER), "required": ["id"]}, "map", "id"),
    ),
    "required": ["port"],
}
FREE: Json = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SPEC: Json = thing(
    text=TEXT,
    number=NUMBER,
    ratio=ANY_NUMBER,
    flag=FLAG,
    either={"x-kubernetes-int-or-string": True},
    filled={**TEXT, "default": "full"},
    nothing={**TEXT, "nullable": True},
    whole={**thing(a=TEXT, b=NUMBER), "x-kubernetes-map-type": "atomic"},
    part={**thing(a=TEXT, b=thing(c=TEXT, d=listed(TEXT, "set")))},
    labels={"type": "object", "additionalProperties": TEXT},
    labelsWhole={
        "type": "object",
        "additionalProperties": TEXT,
        "x-kubernetes-map-type": "atomic",
    },
    groups={"type": "object", "additionalProperties": thing(a=TEXT, b=listed(NUMBER, "set"))},
    plain={"type": "array", "items": thing(a=TEXT, b=NUMBER)},
    words=listed(TEXT, "set"),
    numbers=listed(NUMBER, "set"),
    flags=listed(FLAG, "set"),
    ports=listed(PORT, "map", "port", "protocol"),
    free=FREE,
    half={**thing(known=TEXT, list=listed(TEXT, "set")), **FREE},
    anything={"x-kubernetes-preserve-unknown-fields": True},
    embedded={**FREE, "x-kubernetes-embedded-resource": True},
)
STATUS: Json = thing(
    phase=TEXT,
    conditions=listed({**thing(type=TEXT, status=TEXT), "required": ["type"]}, "map", "type"),
)
CUSTOM: Json = thing(spec=SPEC, status=STATUS)
# The same fields at another version, some of them of another sort.
OTHER: Json = copy.deepcopy(CUSTOM)
OTHER["properties"]["spec"]["properties"]["words"]["x-kubernetes-list-type"] = "atomic"
OTHER["properties"]["spec"]["properties"]["whole"].pop("x-kubernetes-map-type")

CRD = definition(
    GROUP,
    "Namespaced",
    {"plural": "gears", "kind": "Gear"},
    version("v1", CUSTOM, storage=True, subresources={"status": {}}),
    version("v2", OTHER, subresources={"status": {}}),
)


def some(chance: Chance, *values: Any) -> Any:
    """Return one of some values."""
    return copy.deepcopy(chance.choice(values))


def likely(chance: Chance, **values: Callable[[], Any]) -> Json:
    """Return an object with about half of these fields."""
    return {name: make() for name, make in values.items() if chance.random() < 0.5}


def value_of(chance: Chance, schema: Json, depth: int = 0) -> Any:
    """Return a random value for a schema."""
    if schema.get("nullable") and chance.random() < 0.4:
        return None
    kind = schema.get("type")
    if schema.get("x-kubernetes-embedded-resource"):
        labels = {"a": some(chance, "1", "2")}
        return {"apiVersion": "v1", "kind": "Any", "metadata": {"labels": labels}, **free(chance)}
    if kind is None:
        return some(chance, 1, "1", 2) if "x-kubernetes-int-or-string" in schema else free(chance)
    if kind == "array":
        return list_of(chance, schema, depth)
    if kind == "object":
        return object_of(chance, schema, depth)
    return some(chance, *_SCALARS[kind])


_SCALARS: dict[str, tuple[Any, ...]] = {
    "string": ("a", "b", "c<&>", 'q"é'),
    "integer": (1, 2, 10, 2000000),
    "number": (1, 1.5, 2.0, 0.00001),
    "boolean": (True, False),
}


def free(chance: Chance) -> Any:
    """Return something that nobody described."""
    return likely(
        chance,
        one=lambda: some(chance, 1, "1", True, None, 1.5),
        two=lambda: some(chance, {}, {"x": 1}, {"x": {"y": "z"}}, {"x": [1, {"y": 2}]}),
        three=lambda: some(chance, [], [1, 2], ["a"], "text", {"k": "v"}),
    )


def list_of(chance: Chance, schema: Json, depth: int) -> list[Any]:
    """Return a random list, without doubles if it may have none."""
    items = [value_of(chance, schema["items"], depth + 1) for _ in range(chance.randrange(4))]
    for name, make in _REQUIRED.items():
        for item in items:
            if isinstance(item, dict) and name in schema["items"].get("required", ()):
                item[name] = make(chance)
    keys = schema.get("x-kubernetes-list-map-keys", ())
    if schema.get("x-kubernetes-list-type", "atomic") == "atomic":
        return items
    found = {json.dumps([item.get(key) for key in keys] if keys else item): item for item in items}
    return list(found.values())


_REQUIRED: dict[str, Callable[[Chance], Any]] = {
    "port": lambda chance: some(chance, 80, 443, 8080),
    "id": lambda chance: some(chance, "x", "y"),
    "type": lambda chance: some(chance, "Ready", "Synced"),
}


def object_of(chance: Chance, schema: Json, depth: int) -> Json:
    """Return a random object."""
    keep = 0.35 if depth == 1 else 0.6
    found = {
        name: value_of(chance, each, depth + 1)
        for name, each in schema.get("properties", {}).items()
        if chance.random() < keep
    }
    other = schema.get("additionalProperties")
    if isinstance(other, dict):
        names = chance.sample(("a", "b", "c/d"), chance.randrange(4))
        found |= {name: value_of(chance, other, depth + 1) for name in names}
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        found |= free(chance)
    return found


def metadata(chance: Chance, name: str) -> Json:
    """Return random metadata."""
    return {
        "name": name,
        **likely(
            chance,
            labels=lambda: some(chance, {"a": "1"}, {"a": "2", "b": "1"}, {}, {"b": "2"}),
            annotations=lambda: some(chance, {"x/y": "1"}, {"x/y": "2", "z": "é"}),
            finalizers=lambda: some(chance, ["a/b"], ["a/b", "c/d"], []),
        ),
    }


def config_map(chance: Chance) -> Json:
    """Return what a ConfigMap holds."""
    values: tuple[Json, ...] = (
        {"a": "1"},
        {"a": "2", "b": "1"},
        {"b": "2", "c": "3"},
        {},
        {"d": ""},
    )
    return likely(
        chance,
        data=lambda: some(chance, *values),
        binaryData=lambda: some(chance, {"e": "AAAA"}, {"e": "BBBB", "f": "AAAA"}),
    )


def service(chance: Chance) -> Json:
    """Return what a Service holds."""
    http = {"name": "http", "port": 80}
    dns = {"name": "dns", "port": 53, "protocol": "UDP"}
    https = {"name": "https", "port": 443, "targetPort": "web"}
    ports = [[http], [https, http], [dns, http], [http, dns, https]]
    spec = likely(
        chance,
        selector=lambda: some(chance, {"app": "a"}, {"app": "b", "tier": "x"}),
        sessionAffinity=lambda: some(chance, "ClientIP", "None"),
        externalIPs=lambda: some(chance, ["1.2.3.4"], ["1.2.3.4", "1.2.3.5"]),
    )
    return {"spec": {"ports": some(chance, *ports), **spec}}


def container(chance: Chance, name: str) -> Json:
    """Return a container."""
    variables = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    limits = ({"cpu": "1"}, {"cpu": "0.5", "memory": "1Gi"})
    return {
        "name": name,
        "image": some(chance, "nginx:1", "nginx:2"),
        **likely(
            chance,
            env=lambda: some(chance, variables, variables[::-1], variables[:1]),
            ports=lambda: some(
                chance,
                [{"containerPort": 80}],
                [{"containerPort": 80, "protocol": "UDP"}, {"containerPort": 80}],
            ),
            args=lambda: some(chance, ["a"], ["a", "b"]),
            resources=lambda: {"limits": some(chance, *limits)},
            livenessProbe=lambda: {"httpGet": {"path": "/", "port": some(chance, 80, "web")}},
        ),
    }


def deployment(chance: Chance) -> Json:
    """Return what a Deployment holds."""
    names = some(chance, ["a"], ["b", "a"], ["a", "b"])
    toleration = {"key": "a", "operator": "Exists"}
    pod = {
        "containers": [container(chance, name) for name in names],
        **likely(
            chance,
            volumes=lambda: [{"name": "v", "emptyDir": {}}],
            tolerations=lambda: some(chance, [toleration], []),
            nodeSelector=lambda: some(chance, {"a": "1"}, {"a": "2", "b": "1"}),
            imagePullSecrets=lambda: [{"name": "s"}],
            securityContext=lambda: some(chance, {}, {"runAsUser": 1}),
        ),
    }
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod}
    spec = likely(
        chance,
        replicas=lambda: some(chance, 1, 2),
        paused=lambda: some(chance, True, False),
        strategy=lambda: some(
            chance, {"type": "Recreate", "rollingUpdate": None}, {"rollingUpdate": {"maxSurge": 2}}
        ),
    )
    selector = {"matchLabels": {"app": "a"}}
    return {"spec": {"selector": selector, "template": template, **spec}}


def gear(chance: Chance) -> Json:
    """Return what one of the custom kind holds."""
    return {"spec": object_of(chance, SPEC, 1), "status": object_of(chance, STATUS, 2)}


def spoiled(chance: Chance, value: Any) -> Any:
    """Return a value with one thing in it that is odd: null, of another type, unknown, twice."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        key = chance.choice(list(value))
        return {**value, key: spoiled(chance, value[key])}
    if isinstance(value, list) and value and chance.random() < 0.7:
        place = chance.randrange(len(value))
        return [*value[:place], spoiled(chance, value[place]), *value[place + 1 :]]
    if isinstance(value, list) and value and chance.random() < 0.5:
        return [*value, value[0]]
    if isinstance(value, dict) and chance.random() < 0.5:
        return {**value, "unknown": 1}
    return some(chance, None, None, 1, 1.5, "odd", True, [], ["odd", 2], {}, {"odd": [None, 1e7]})


def scripted(verb: str, manager: str, **sent: Any) -> Json:
    """Return a step that is always played."""
    return {"verb": verb, "manager": manager, "sent": sent}


def many_managers(**sent: Any) -> list[Json]:
    """Return steps by more managers than are remembered."""
    patches = [
        scripted("patch", f"m{number % 14}", metadata={"labels": {f"l{number}": "x"}})
        for number in range(18)
    ]
    return [scripted("update", "first", **sent), *patches, scripted("apply", "alpha", **sent)]


def client_side(force: bool, **config: Any) -> list[Json]:
    """Return steps of somebody who goes over from client-side to server-side apply."""
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "any"}, **config}
    note = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(applied)}
    changed = {**config["data"], "a": "<9>"}
    steps = [
        scripted("update", "kubectl-client-side-apply", metadata={"annotations": note}, **config),
        scripted("patch", "other", data={"b": "3"}),
        scripted("apply", "kubectl", data=changed),
        scripted("apply", "alpha", data=changed),
        scripted("apply", "kubectl", data={"a": "<9>"}, metadata={"annotations": {"x": "1"}}),
        scripted("apply", "kubectl", data={"a": "10"}),
        scripted("apply", "kubectl", data={}),
    ]
    return [{**step, "force": force and step["verb"] == "apply"} for step in steps]


def told(*entries: Json) -> list[Json]:
    """Return steps that set managed fields by hand, then write as usual."""
    head = {"manager": "mine", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    fields = [{**head, **entry} for entry in entries]
    return [
        scripted("update", "first", data={"a": "1", "b": "1"}),
        scripted("update", "beta", data={"a": "1", "b": "1"}, metadata={"managedFields": fields}),
        scripted("apply", "alpha", data={"a": "1"}),
        scripted("patch", "beta", data={"a": "2"}),
        scripted("apply", "mine", data={"b": "1"}),
    ]


LARGE = {"ports": [{"port": 2000000, "name": "a", "nested": [{"id": "<x>", "value": 1}]}]}
OTHER_LARGE = {"ports": [{"port": 2000000, "name": "b", "nested": [{"id": "<x>", "value": 2}]}]}
SCRIPTS: tuple[tuple[str, list[Json]], ...] = (
    ("ConfigMap", many_managers(data={"a": "1"})),
    ("Gear", many_managers(spec={"text": "a"})),
    ("ConfigMap", client_side(False, data={"a": "1", "b": "2"})),
    ("ConfigMap", client_side(True, data={"a": "1", "b": "2"})),
    ("ConfigMap", told({"fieldsV1": {"f:data": {"f:a": {}}}, "time": "2020-01-02T03:04:05Z"})),
    ("ConfigMap", told({"fieldsV1": {"f:data": {".": {}, "x:a": {}, "f:a": {"f:b": {}}}}}, {})),
    ("ConfigMap", told({"fieldsV1": {"f:data": {"a": {}}}})),
    ("ConfigMap", told({"fieldsV1": {"f:data": {'v:"a': {}, 'k:{"b": 1, "a": 2.0}': {}}}})),
    (
        "ConfigMap",
        told({"fieldsV1": {"f:data": {"f:a": {}}}, "operation": "Update"}, {"manager": ""}),
    ),
    ("ConfigMap", told({"fieldsType": "FieldsV2"})),
    ("ConfigMap", told({"apiVersion": ""})),
    ("ConfigMap", told({"apiVersion": "v9", "fieldsV1": {"f:data": {"f:a": {}}}})),
    ("ConfigMap", told({"operation": "Guess"})),
    (
        "Gear",
        [
            scripted("apply", "alpha", spec=LARGE),
            scripted("apply", "beta", spec=OTHER_LARGE),
            scripted("patch", "", metadata={"managedFields": [{}]}),
            scripted("patch", "beta", spec={"text": "unseen"}),
            scripted("apply", "beta", spec=OTHER_LARGE),
            {**scripted("apply", "beta", spec=OTHER_LARGE), "force": True},
            scripted("apply", "beta", spec={}),
            scripted("apply", "beta"),
        ],
    ),
)
