"""
Ask a real API server what becomes of patches and selectors: ``record_patches.py KUBECONFIG FILE``.

The kubeconfig is a JSON file with a token. A namespace and a custom kind are made, every patch is
a dry run, and both are deleted again. The file is JSON, compressed with zlib: the objects that are
patched, and for each request the patch and either the parts of the object that came back or the
Status. tests/unit/apiserver replays it.
"""

import argparse
import json
import random
import ssl
import time
import zlib
from collections.abc import Iterator
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlparse

NAMESPACE = "f-recorded-patches"
GROUP = "recorded.f.example.com"
THINGS = f"/apis/{GROUP}/v1/namespaces/{NAMESPACE}/things"
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
TYPES = {kind: f"application/{kind}-patch+json" for kind in ("json", "merge", "strategic-merge")}
KEPT = ("labels", "annotations", "finalizers")

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


class Api:
    """A real API server."""

    def __init__(self, kubeconfig: Path) -> None:
        config = json.loads(kubeconfig.read_text())
        address = urlparse(config["clusters"][0]["cluster"]["server"])
        self._token = config["users"][0]["user"]["token"]
        # The recorder is pointed at a server of one's own, whose authority is not at hand.
        context = ssl._create_unverified_context()
        self._connection = HTTPSConnection(
            address.hostname or "", address.port, context=context, timeout=30
        )

    def ask(self, method: str, path: str, body: Any = None, kind: str = "json") -> tuple[int, Any]:
        """Send a request; return its code and body."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        sent = body if isinstance(body, str | None) else json.dumps(body)
        if sent is not None:
            headers["Content-Type"] = (
                TYPES.get(kind, "") if method == "PATCH" else "application/json"
            )
        self._connection.request(method, path, sent, headers)
        answer = self._connection.getresponse()
        text = answer.read()
        is_json = "json" in (answer.headers["Content-Type"] or "")
        return answer.status, json.loads(text) if is_json else {"message": text.decode()}


def made(api: Api) -> dict[str, Any]:
    """Make what is patched; return it."""
    names = {"plural": "things", "kind": "Thing"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": GROUP, "names": names, "scope": "Namespaced", "versions": [version]}
    api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    api.ask(
        "POST",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"things.{GROUP}"},
            "spec": spec,
        },
    )
    for _ in range(100):
        code, _ = api.ask("POST", THINGS, THING)
        if code in (201, 409):
            break
        time.sleep(0.2)
    api.ask("POST", DEPLOYMENTS, deployment())
    api.ask("POST", CONFIG_MAPS, {"metadata": {"name": "thing"}})
    return {
        "thing": stripped(api.ask("GET", f"{THINGS}/thing")[1]),
        "deployment": stripped(api.ask("GET", f"{DEPLOYMENTS}/web")[1]),
    }


def stripped(obj: dict[str, Any]) -> dict[str, Any]:
    """Drop what differs from run to run."""
    metadata = {name: obj["metadata"][name] for name in KEPT if name in obj["metadata"]}
    kept = {name: value for name, value in obj.items() if name not in ("metadata", "status")}
    return {**kept, "metadata": metadata}


def outcome(code: int, answer: dict[str, Any]) -> dict[str, Any]:
    """Return what is recorded of an answer."""
    if code < 300:
        return {"code": code, "object": stripped(answer)}
    kept = ("message", "reason", "details")
    return {"code": code, **{name: answer[name] for name in kept if name in answer}}


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


LABELS = """a|a=|=a|a==b|a=b=c|a in|a in (|a in (b|a in (b,|a in (b)|a in ()|a in (,)|a in b|!a|!a=b
! a|!|a!b|a,b|a,|a,,b|,a|a b|a in (b c)|a in (b)c|a>5|a<x|a>=5|a<>5|-a=b|a=-b|a/b/c=d|/a|a/|a b=c
x=y|x!=y|x in (y,z)|x notin (y)|!x|A_b.c/d|a=%%|in in (in)|notin|a in (in)|x = y|x  ==  y|a in (!)
a=(b)|(a)|a in (b,(c))|a=é|=|!=|a===b|a!==b|x>1,x<3|a>1 |a=b,c=%|a<-%|a in (-b,c-)|a notin (b,,c)
x,!y|x in (y),x=y|x,x!=z|x notin ()|x in (,y)| |a!=|a in(b)|a\tin\n(b)""".replace("\n", "|").split(
    "|"
)
FIELDS = r"""a|a=b|metadata.name|metadata.name=thing|metadata.name==thing|metadata.name!=thing|=b|,
metadata.name=thing,metadata.namespace=f-recorded-patches|metadata.name=a\,b|metadata.name=a\x
metadata.name=a\|metadata.name=a=b|metadata.namespace=x|metadata.name=|metadata.name=thing,,
metadata.name=thing,metadata.name=b|metadata.name!=|metadata.uid=x|metadata.name=a!=b
 metadata.name=a|metadata.name=\\\=\,|spec.text=a""".replace("\n", "|").split("|")
KINDS = {
    "/v1/Pod": "/api/v1/pods", "/v1/Node": "/api/v1/nodes", "/v1/Namespace": "/api/v1/namespaces",
    "/v1/Secret": "/api/v1/secrets", "/v1/Service": "/api/v1/services",
    "/v1/Event": "/api/v1/events", "events.k8s.io/v1/Event": "/apis/events.k8s.io/v1/events",
    "/v1/ReplicationController": "/api/v1/replicationcontrollers",
    "apps/v1/ReplicaSet": "/apis/apps/v1/replicasets", "batch/v1/Job": "/apis/batch/v1/jobs",
    "batch/v1/CronJob": "/apis/batch/v1/cronjobs", "/v1/ConfigMap": "/api/v1/configmaps",
    "certificates.k8s.io/v1/CertificateSigningRequest":
        "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    "resource.k8s.io/v1/ResourceSlice": "/apis/resource.k8s.io/v1/resourceslices",
}  # fmt: skip
ASKED = [
    "metadata.name",
    "metadata.namespace",
    "foo",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "spec.host",
    "spec.nodeName",
    "spec.hostNetwork",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "type",
    "status.nominatedNodeName",
    "spec.unschedulable",
    "status.replicas",
    "status.successful",
    "spec.signerName",
    "reason",
    "spec.clusterIP",
    "spec.type",
    "involvedObject.name",
    "involvedObject.fieldPath",
    "regarding.name",
    "source",
    "reportingComponent",
    "reportingController",
    "spec.driver",
    "note",
]


def selections(api: Api) -> dict[str, Any]:
    """Ask with label and field selectors."""

    def asked(path: str, parameter: str, text: str) -> Any:
        code, answer = api.ask("GET", f"{path}?{parameter}={quote(text)}")
        return answer["message"] if code > 299 else bool(answer["items"])

    return {
        "labels": {each: asked(THINGS, "labelSelector", each) for each in LABELS},
        "custom": {each: asked(THINGS, "fieldSelector", each) for each in FIELDS},
        "plain": {each: asked(CONFIG_MAPS, "fieldSelector", each) for each in FIELDS},
        "kinds": {
            kind: {each: asked(path, "fieldSelector", f"{each}=none") for each in ASKED}
            for kind, path in KINDS.items()
        },
    }


def recorded(api: Api) -> dict[str, Any]:
    """Play every request."""
    rng = random.Random(6902)
    found: dict[str, Any] = {"objects": made(api)}
    played = (
        ("json", f"{THINGS}/thing", json_patches(rng), ("Warn", "Ignore")),
        ("merge", f"{THINGS}/thing", merge_patches(rng), ("Warn", "Ignore")),
        ("strategic-merge", f"{DEPLOYMENTS}/web", strategic_patches(rng), ("Warn",)),
    )
    for kind, path, patches, validations in played:
        found[kind] = []
        for patch in patches:
            shapeless = not isinstance(patch, dict) and len(json.dumps(patch)) < 40
            for validation in validations if shapeless else validations[:1]:
                query = f"?dryRun=All&fieldValidation={validation}"
                answer = api.ask("PATCH", path + query, json.dumps(patch), kind)
                found[kind].append(
                    {"patch": patch, "checked": validation != "Ignore", **outcome(*answer)}
                )
    return {**found, **selections(api)}


def cleared(api: Api) -> None:
    """Delete what was made."""
    for path in (f"{THINGS}/thing", f"{DEPLOYMENTS}/web"):
        api.ask("PATCH", path, {"metadata": {"finalizers": None}}, "merge")
    for path in (
        f"{THINGS}/thing",
        f"{DEPLOYMENTS}/web",
        f"{CONFIG_MAPS}/thing",
        f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{GROUP}",
        f"/api/v1/namespaces/{NAMESPACE}",
    ):
        api.ask("DELETE", path)
    # A server without controllers leaves this to whoever asks.
    unheld = {"metadata": {"name": NAMESPACE}, "spec": {"finalizers": []}}
    api.ask("PUT", f"/api/v1/namespaces/{NAMESPACE}/finalize", unheld)


def main() -> None:
    """Record, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kubeconfig", type=Path)
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    api = Api(arguments.kubeconfig)
    try:
        found = recorded(api)
    finally:
        cleared(api)
    text = json.dumps(found, separators=(",", ":"), sort_keys=True)
    arguments.file.write_bytes(zlib.compress(text.encode(), 9))


if __name__ == "__main__":
    main()
