"""
Patches to try, and the objects that are patched: every operation in every place, and random ones.

`tools.recording.patches` asks a real API server what becomes of them.
"""

import random
from collections.abc import Iterator
from typing import Any

GROUP = "recorded.f.example.com"

THING: dict[str, Any] = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "Thing",
    "metadata": {"name": "thing", "labels": {"x": "y"}, "finalizers": ["f.example.com/a"]},
    "spec": {
        "text": "a",
        "number": 1,
        "half": 1.5,
        "yes": True,
        "nothing": None,
        "map": {"a": {"b": {"c": [1, 2, 3]}}, "d": "e", "slash/tilde~": 1, "": "empty"},
        "list": [{"name": "one", "value": 1}, {"name": "two"}, "three", 4, [5, 6]],
        "none": {},
        "empty": [],
    },
}


def container(name: str) -> dict[str, Any]:
    """Make a container with something in each of its lists."""
    return {
        "name": name,
        "image": f"image-{name}",
        "args": ["1", "2"],
        "env": [{"name": each, "value": each} for each in "pqr"],
        "ports": [{"containerPort": each} for each in (80, 81, 82)],
        "volumeMounts": [{"name": "v", "mountPath": f"/{each}"} for each in "mn"],
    }


def deployment() -> dict[str, Any]:
    """Make a Deployment with lists that are merged in every way there is."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "labels": {"x": "y", "z": "w"},
            "finalizers": [f"f.example.com/{each}" for each in "abc"],
        },
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {
                    "containers": [container(each) for each in "abcd"],
                    "volumes": [{"name": each, "emptyDir": {}} for each in "vw"],
                    "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["h"]}],
                    "tolerations": [{"key": "k", "operator": "Exists"}],
                    "imagePullSecrets": [{"name": "s"}, {"name": "t"}],
                    "nodeSelector": {"n": "m"},
                },
            },
        },
    }


POINTERS = (
    "/spec/text", "/spec/none/x", "/spec/list/0", "/spec/list/-", "/spec/list/-1", "/spec/list/9",
    "/spec/list/-9", "/spec/list/+1", "/spec/list/01", "/spec/list/x", "/spec/list/4/0",
    "/spec/map/a/b/c/1", "/spec/map/slash~1tilde~0", "/spec/map/", "/spec/nope/x", "/spec/nope",
    "/spec/nothing", "/spec/nothing/x", "/spec/text/x", "/spec/number", "/spec/half", "/spec/yes",
    "/spec/list/0/name", "/spec/list/1/value", "spec/text", "/metadata/labels/x", "/spec/empty/0",
    "/spec/empty/-1", "/spec/map/a", "/spec/map/a/b", "/spec/list", "/spec/list/2/x",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    "a",
    1,
    1.0,
    1.5,
    True,
    None,
    {"a": None},
    [1, None, {"b": None}],
    {},
    [],
    "three",
    4,
)


def json_patches(rng: random.Random) -> Iterator[Any]:
    """Make JSON Patches: what each operation does at each place, and several at once."""
    yield from (None, {}, [], "x", 3, True, [3], [None], ["a"], [[]], [{}], [{"op": "x"}])
    yield from ([{"op": 1}], [{"op": "add", "path": 1}], [{"op": "move", "from": True}])
    yield [{"op": "add", "path": "/spec/new", "value": 1, "other": 2}]
    yield [{"op": "test", "path": "", "value": {}}]
    yield [{"op": "test", "path": "/spec/list/0", "value": {"value": 1, "name": "one"}}]
    yield [{"op": "copy", "from": "/spec/map", "path": "/spec/map2"},
           {"op": "add", "path": "/spec/map2/a/b/z", "value": 1}]  # fmt: skip
    yield [{"op": "move", "from": "/spec/map", "path": "/spec/map/a"}]
    for each in ("add", "remove", "replace", "test", "copy", "move"):
        for pointer in POINTERS:
            operation: dict[str, Any] = {"op": each, "path": pointer}
            if each in ("add", "replace", "test"):
                operation["value"] = rng.choice(VALUES)
            if each in ("copy", "move"):
                operation["from"] = rng.choice(POINTERS)
            yield [operation]
        yield [{"op": each}]
    for _ in range(80):
        yield [
            {"op": rng.choice(("add", "add", "replace", "remove", "copy", "move", "test")),
             "path": rng.choice(POINTERS[:6] + POINTERS[10:14] + POINTERS[19:24]),
             "from": rng.choice(POINTERS[:5]), "value": rng.choice(VALUES)}
            for _ in range(rng.randint(2, 4))
        ]  # fmt: skip


def merge_patches(rng: random.Random) -> Iterator[Any]:
    """Make merge patches: each value in the place of each, with nulls at all depths."""
    yield from (None, [], [1, None, {"a": None}], "x", 3, True, {}, {"spec": None}, {"spec": 3})
    yield {"metadata": {"labels": {"x": None, "q": None}}}
    yield {"metadata": {"labels": None}}
    for name in THING["spec"]:
        for value in VALUES:
            yield {"spec": {name: value}}
    for _ in range(40):
        yield {"spec": {rng.choice(["map", "none", "new"]): tree(rng, 3)}}


def tree(rng: random.Random, depth: int) -> Any:
    """Make some JSON."""
    if not depth or rng.random() < 0.2:
        return rng.choice(VALUES)
    return {rng.choice(["a", "b", "c", "d"]): tree(rng, depth - 1) for _ in range(3)}


def pod(**fields: Any) -> dict[str, Any]:
    """Make a patch of the pod's spec."""
    return {"spec": {"template": {"spec": fields}}}


def strategic_patches(rng: random.Random) -> Iterator[Any]:
    """Make strategic merge patches: every directive, right and wrong, and many at random."""
    yield from (None, [], "x", 3, {}, {"$patch": "delete"}, {"$patch": "x"}, {"metadata": None})
    yield from (pod(**{"$patch": each}) for each in ("merge", "foo", 3, None, "delete"))
    yield pod(**{"$patch": "replace", "containers": [container("q")]})
    for directive in ("delete", "replace", "merge", "foo", 3):
        yield pod(containers=[{"$patch": directive}])
        yield pod(containers=[{"$patch": directive, "name": "a"}, container("z")])
    lists: tuple[Any, ...] = ("x", ["x"], [["x"]], [3], [None], [{}], None, [])
    yield from (pod(containers=each) for each in lists)
    orders: tuple[Any, ...] = ("x", 3, [], ["a"], [{"foo": 1}], [{"name": "d"}, {"name": "a"}])
    yield from (pod(**{"$setElementOrder/containers": each}) for each in orders)
    yield pod(**{"$setElementOrder": []})
    yield pod(**{"$setElementOrder/containers": [{"name": "a"}], "containers": [container("z")]})
    yield pod(**{"$setElementOrder/initContainers": [{"name": "a"}]})
    yield pod(
        **{"$setElementOrder/initContainers": [{"name": "a"}], "initContainers": [container("a")]}
    )
    for each in (["f.example.com/b"], "x", [], ["q"]):
        yield {"metadata": {"$deleteFromPrimitiveList/finalizers": each}}
    yield {"metadata": {"$deleteFromPrimitiveList": ["x"]}}
    yield {"metadata": {"$deleteFromPrimitiveList/foo": ["x"]}}
    for each in (["containers"], "containers", [], ["containers", "volumes"]):
        yield pod(**{"$retainKeys": each})
        yield pod(**{"$retainKeys": each, "volumes": []})
    yield {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    yield pod(
        volumes=[{"name": "v", "$retainKeys": ["name", "configMap"], "configMap": {"name": "q"}}]
    )
    yield pod(volumes=[{"name": "v", "configMap": {"name": "q"}, "emptyDir": None}])
    yield {"metadata": {"labels": {"$patch": "replace", "n": "m"}}}
    yield {"metadata": {"labels": {"x": None, "q": None, "n": "m"}}}
    yield pod(tolerations=[{"key": "l", "operator": "Exists"}], hostAliases=[{"ip": "10.0.0.2"}])
    yield pod(nodeSelector={"n": None, "o": "p"}, imagePullSecrets=[{"name": "u"}, {"name": "s"}])
    for _ in range(150):
        yield pod(**containers(rng))
    for _ in range(40):
        yield {"metadata": finalizers(rng)}


def containers(rng: random.Random) -> dict[str, Any]:
    """Make a patch of containers: changed, added, deleted, in some order."""
    chosen = rng.sample("abcdyz", rng.randint(1, 5))
    gone = {each for each in chosen if rng.random() < 0.3}
    items = [{"name": each, "$patch": "delete"} if each in gone else changed(rng, each)
             for each in chosen]  # fmt: skip
    found: dict[str, Any] = {"containers": items}
    if rng.random() < 0.6:
        rest = [each for each in "abcd" if each not in chosen and rng.random() < 0.6]
        order = [each for each in chosen if each not in gone]
        for each in rest:
            order.insert(rng.randint(0, len(order)), each)
        found["$setElementOrder/containers"] = [{"name": each} for each in order]
    return found


def changed(rng: random.Random, name: str) -> dict[str, Any]:
    """Make a patch of one container."""
    found: dict[str, Any] = {"name": name}
    if name in "yz" or rng.random() < 0.3:
        found["image"] = "changed"
    if rng.random() < 0.4:
        found["env"] = [{"name": each, "value": "2"} for each in rng.sample("pqrst", 2)]
        if rng.random() < 0.5:
            order = rng.sample("pqrst", 5)
            found["env"].sort(key=lambda each: order.index(each["name"]))
            found["$setElementOrder/env"] = [{"name": each} for each in order]
    if rng.random() < 0.3:
        found["ports"] = [{"containerPort": each} for each in rng.sample((79, 80, 81, 83), 2)]
    if rng.random() < 0.2:
        found["args"] = rng.choice([None, [], ["3"]])
    return found


def finalizers(rng: random.Random) -> dict[str, Any]:
    """Make a patch of a merged list of texts."""
    found: dict[str, Any] = {}
    names = [f"f.example.com/{each}" for each in rng.sample("abcdef", 4)]
    if rng.random() < 0.7:
        found["finalizers"] = [names[0], names[2]]
    if rng.random() < 0.4:
        found["$deleteFromPrimitiveList/finalizers"] = [names[1], names[3]]
    if rng.random() < 0.5:
        found["$setElementOrder/finalizers"] = names
    return found
