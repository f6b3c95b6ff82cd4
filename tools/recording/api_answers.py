"""
Record how a real API server tells what it serves, and to whom it refuses what.

Starts an API server, makes a few custom kinds, roles and bindings, and writes what was asked and
answered for the tests of the embedded one to play again.

    tools/kube/build.sh etcd kube-apiserver && python -m tools.record_api_answers
"""

import argparse
import json
import lzma
import ssl
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.cluster.control_plane import ControlPlane, control_plane, leave_on_signals
from tools.cluster.parts import ToolError
from tools.cluster.plane import START_LIMIT

DATA = Path(__file__).resolve().parents[1] / "tests" / "unit" / "apiserver" / "data"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

Json = dict[str, Any]
OBJECT: Json = {"type": "object"}

RICH: Json = {
    "type": "object",
    "description": "A widget & a <thing>.",
    "required": ["spec"],
    "x-kubernetes-validations": [{"rule": "has(self.spec)", "message": "no spec"}],
    "externalDocs": {"url": "https://example.com"},
    "properties": {
        "apiVersion": {"type": "string"},
        "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
        "spec": {
            "type": "object",
            "title": "The spec",
            "example": {"a": 1},
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "format": "int32", "minimum": 0, "default": 3},
                "ratio": {"type": "number", "exclusiveMinimum": True, "minimum": 0.5},
                "color": {"type": "string", "enum": ["red"], "nullable": True, "minLength": 0},
                "any": {"x-kubernetes-preserve-unknown-fields": True, "nullable": False},
                "port": {"x-kubernetes-int-or-string": True},
                "quantity": {
                    "x-kubernetes-int-or-string": True,
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                    "pattern": "^[0-9]+$",
                },
                "strange": {"x-kubernetes-int-or-string": True, "anyOf": [{"pattern": "^1"}]},
                "list": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {"name": {"type": "string"}},
                    },
                },
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "open": {"type": "object", "additionalProperties": True},
                "inner": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                    "required": ["kind"],
                },
                "one": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                    "not": {"required": ["a", "b"]},
                    "allOf": [{"properties": {"a": {"minLength": 2}}}],
                },
            },
        },
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
    },
}


def version(name: str, schema: Json = OBJECT, **more: Any) -> Json:
    """Return a version of a definition."""
    schemas = {"openAPIV3Schema": schema}
    return {"name": name, "served": True, "storage": False, "schema": schemas, **more}


def definition(group: str, scope: str, names: Json, versions: list[Json]) -> Json:
    """Return a CustomResourceDefinition."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{group}"},
        "spec": {"group": group, "scope": scope, "names": names, "versions": versions},
    }


SCALE = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"}
DEFINITIONS = (
    definition(
        "g.example.com",
        "Namespaced",
        {
            "plural": "widgets",
            "kind": "Widget",
            "shortNames": ["wi", "w"],
            "categories": ["all", "things"],
        },
        [
            version(
                "v1",
                RICH,
                storage=True,
                subresources={"status": {}, "scale": SCALE},
                selectableFields=[{"jsonPath": ".spec.color"}],
            ),
            version("v1beta1", {**OBJECT, "x-kubernetes-preserve-unknown-fields": True}),
            version("v1alpha1", served=False),
        ],
    ),
    definition(
        "g.example.com",
        "Cluster",
        {"plural": "anvils", "kind": "Anvil", "singular": "ambos"},
        [version("v1", storage=True, subresources={"status": {}})],
    ),
    definition(
        "gv.k8s.example.com",
        "Namespaced",
        {"plural": "glasses", "kind": "Glasses", "listKind": "GlassesCollection"},
        [
            version("v1"),
            version("v2", storage=True),
            *(version(each) for each in ("v10", "v11beta1", "v3alpha2", "zoo", "bar")),
        ],
    ),
)

RBAC = "/apis/rbac.authorization.k8s.io/v1"
HERE = f"{RBAC}/namespaces/here"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}
MORE = {"apiGroups": ["", "apps"], "resources": ["pods", "pods/log"], "verbs": ["get", "watch"]}
ALL = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
LISTING = {"verb": "list", "resource": "pods", "namespace": "here"}


def role(name: str, *rules: Json, **more: Any) -> Json:
    """Return a role's body."""
    return {"metadata": {"name": name}, "rules": list(rules), **more}


def bind(name: str, kind: str, to: str, *subjects: Json) -> Json:
    """Return a binding's body."""
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": to}
    return {"metadata": {"name": name}, "roleRef": ref, "subjects": list(subjects)}


def user(name: str) -> Json:
    """Return a subject."""
    return {"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"}


GRANTING = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["*"], "verbs": ["*"]}
WRITING = {**GRANTING, "verbs": ["create", "update"]}
MADE = (
    ("/api/v1/namespaces", {"metadata": {"name": "here"}}),
    (f"{RBAC}/clusterroles", role("granter", WRITING, PODS)),
    (f"{RBAC}/clusterroles", role("named", {**PODS, "resourceNames": ["a"]})),
    (f"{RBAC}/clusterroles", role("parts", {**PODS, "resources": ["*/log", "pods/exec"]})),
    (f"{RBAC}/clusterroles", role("paths", {"nonResourceURLs": ["/logs/*"], "verbs": ["get"]})),
    (f"{RBAC}/clusterroles", role("free", GRANTING)),
    (
        f"{HERE}/rolebindings",
        bind(
            "granters",
            "ClusterRole",
            "granter",
            user("max"),
            {"kind": "ServiceAccount", "name": "bot"},
        ),
    ),
    (f"{HERE}/rolebindings", bind("lost", "Role", "nowhere", user("lost"))),
    (f"{RBAC}/clusterrolebindings", bind("lost", "ClusterRole", "nowhere", user("lost"))),
    (f"{RBAC}/clusterrolebindings", bind("top", "ClusterRole", "granter", user("top"))),
    (f"{RBAC}/clusterrolebindings", bind("free", "ClusterRole", "free", user("free"))),
    (f"{RBAC}/clusterrolebindings", bind("named", "ClusterRole", "named", user("named"))),
    (f"{RBAC}/clusterrolebindings", bind("parts", "ClusterRole", "parts", user("parts"))),
    (f"{RBAC}/clusterrolebindings", bind("paths", "ClusterRole", "paths", user("paths"))),
    (f"{HERE}/roles", role("reader", PODS)),
)

Case = tuple[str, str, Json | None, dict[str, Any]]


def asking(path: str, **who: Any) -> Case:
    """Return a question by GET."""
    return "GET", path, None, who


def sending(path: str, body: Json, **who: Any) -> Case:
    """Return something to be created."""
    return "POST", path, body, who


def cases() -> Iterator[Case]:
    """Yield what is asked, and as whom."""
    yield asking("/api/v1/namespaces/here/configmaps", user="max")
    yield asking("/api/v1/namespaces/here/configmaps/foo", user="max")
    yield asking("/api/v1/nodes", user="m<a>&x")
    yield asking("/apis/apps/v1/namespaces/here/deployments/x/status", user="max")
    yield asking("/api/v1/namespaces/here", user="max")
    yield asking("/api/v1/pods", user="named")
    yield asking("/api/v1/namespaces/here/pods/b", user="named")
    yield asking("/api/v1/namespaces/here/pods?fieldSelector=metadata.name%3Da", user="named")
    yield asking("/api/v1/namespaces/here/pods?watch=1", user="max")
    yield asking("/api/v1/namespaces/here/secrets", user="lost")
    yield asking("/api/v1/secrets", user="lost")
    for path in ("/metrics", "/nope", "/api", "/apis/apps", "/logs/x", "/logs", "/version"):
        yield asking(path, user="paths")
    yield asking("/api", user="max", groups=["system:unauthenticated"])
    yield asking("/api/v1/nodes", groups=["x"])
    yield asking(
        "/api/v1/nodes", headers=[["Impersonate-Uid", "u"], ["Impersonate-Extra-A%2fB", "b"]]
    )
    yield from reviews()
    yield from grants()


def reviews() -> Iterator[Case]:
    """Yield questions that are sent as objects."""
    more = [["Impersonate-Uid", "u"], ["Impersonate-Extra-Foo%2fBar", "b"]]
    mine = f"{AUTHENTICATION}/selfsubjectreviews"
    yield sending(mine, {}, user="max", groups=["a", "b"], headers=more)
    yield sending(mine, {}, user="system:serviceaccount:here:bot")
    yield sending(mine, {}, user="system:serviceaccount:here:bot", groups=["x"])
    yield sending(mine, {})
    access = f"{AUTHORIZATION}/selfsubjectaccessreviews"
    asked: list[Json] = [
        {"resourceAttributes": LISTING},
        {"nonResourceAttributes": {"path": "/api", "verb": "get"}},
        {},
        {"resourceAttributes": LISTING, "nonResourceAttributes": {"path": "/"}},
    ]
    for spec in asked:
        for who in ({}, {"user": "max"}, {"user": "nobody"}):
            yield sending(access, {"spec": spec}, **who)
    local = f"{AUTHORIZATION}/namespaces/here/localsubjectaccessreviews"
    for spec in (
        {"resourceAttributes": LISTING},
        {"resourceAttributes": LISTING, "user": "x", "groups": ["system:masters"]},
        {"resourceAttributes": LISTING, "user": "x", "extra": {"a": ["b"]}, "uid": "7"},
        {"resourceAttributes": LISTING, "user": "system:serviceaccount:here:bot"},
        {"resourceAttributes": LISTING, "user": "top"},
        {"resourceAttributes": LISTING, "user": "lost"},
        {"resourceAttributes": {**LISTING, "subresource": "log"}, "user": "parts"},
        {"resourceAttributes": {**LISTING, "subresource": "exec"}, "user": "parts"},
        {"resourceAttributes": {**LISTING, "subresource": "attach"}, "user": "parts"},
        {"resourceAttributes": {**LISTING, "name": "a"}, "user": "named"},
        {"resourceAttributes": {**LISTING, "namespace": "there"}, "user": "max"},
        {"nonResourceAttributes": {"path": "/logs/y", "verb": "get"}, "user": "paths"},
        {"nonResourceAttributes": {"path": "/logs/y", "verb": "post"}, "user": "paths"},
    ):
        yield sending(f"{AUTHORIZATION}/subjectaccessreviews", {"spec": spec})
        yield sending(local, {"spec": spec})
    yield sending(local, {"metadata": {"namespace": "other"}, "spec": {}})
    for name in ("max", "top", "lost", "system:serviceaccount:here:bot"):
        spec = {"namespace": "here"}
        yield sending(f"{AUTHORIZATION}/selfsubjectrulesreviews", {"spec": spec}, user=name)
    yield sending(f"{AUTHORIZATION}/selfsubjectrulesreviews", {"spec": {}})


def grants() -> Iterator[Case]:
    """Yield roles and bindings that grant something."""
    rules: list[list[Json]] = [
        [MORE],
        [{**MORE, "resourceNames": ["a", "b"]}, ALL],
        [{**PODS, "verbs": ["get"]}],
        [{**PODS, "resourceNames": ["q"]}],
        [],
        [{"nonResourceURLs": ["/x", "/api", "/apis/y"], "verbs": ["get", "put"]}],
    ]
    for number, each in enumerate(rules):
        for name in ("max", "system:serviceaccount:here:bot", "top", "free"):
            if not any("nonResourceURLs" in rule for rule in each):
                made = role(f"r{number}{name[-1]}", *each)
                yield sending(f"{HERE}/roles", made, user=name)
        for name in ("top", "free"):
            yield sending(f"{RBAC}/clusterroles", role(f"c{number}{name[-1]}", *each), user=name)
    gathering = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    yield sending(f"{RBAC}/clusterroles", role("g", aggregationRule=gathering), user="top")
    refs = [("ClusterRole", "cluster-admin"), ("ClusterRole", "system:node")]
    refs += [("ClusterRole", "nowhere"), ("Role", "nowhere"), ("Role", "reader")]
    for number, ref in enumerate(refs):
        for name in ("max", "top", "free"):
            bound = bind(f"b{number}{name[-1]}", *ref, user("x"))
            yield sending(f"{HERE}/rolebindings", bound, user=name)
            if ref[0] == "ClusterRole" and name != "max":
                yield sending(f"{RBAC}/clusterrolebindings", bound, user=name)


class Client:
    """Sends requests as the administrator, or as whom they want to be."""

    def __init__(self, server: ControlPlane) -> None:
        config = json.loads(server.kubeconfig.read_text())
        self._url = server.url
        self._token = config["users"][0]["user"]["token"]
        authority = config["clusters"][0]["cluster"]["certificate-authority"]
        self._context = ssl.create_default_context(cafile=authority)

    def send(self, case: Case, accept: str = "application/json") -> tuple[int, str, Json]:
        """Return code, text and headers of an answer."""
        method, path, body, who = case
        request = urllib.request.Request(f"{self._url}{path}", method=method)
        request.add_header("Authorization", f"Bearer {self._token}")
        request.add_header("Accept", accept)
        for name, value in impersonation(who):
            request.add_header(name, value)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(
                request, timeout=START_LIMIT, context=self._context
            ) as answer:
                return answer.status, answer.read().decode(), dict(answer.headers)
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read().decode(), dict(refusal.headers)

    def read(self, path: str, accept: str) -> bytes:
        """Return what is at a path in some other form."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": accept}
        request = urllib.request.Request(f"{self._url}{path}", headers=headers)
        with urllib.request.urlopen(request, timeout=START_LIMIT, context=self._context) as answer:
            content: bytes = answer.read()
        return content


def impersonation(who: Json) -> Iterator[tuple[str, str]]:
    """Yield the headers by which somebody asks as somebody else; one of a name is all we need."""
    if "user" in who:
        yield "Impersonate-User", who["user"]
    for group in who.get("groups", ())[:1]:
        yield "Impersonate-Group", group
    yield from (tuple(each) for each in who.get("headers", ()))


def record_documents(client: Client) -> Json:
    """Return what is told of what is served."""
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for each in DEFINITIONS:
        code, text, _ = client.send(sending(crds, each))
        if code != 201:
            raise ToolError(text)
    time.sleep(5)  # until every document is published
    documents = {}
    groups = json.loads(client.send(asking("/apis"))[1])["groups"]
    versions = [f"/apis/{v['groupVersion']}" for group in groups for v in group["versions"]]
    for path in ("/apis", "/api/v1", *(f"/apis/{group['name']}" for group in groups), *versions):
        documents[path] = client.send(asking(path))[1]
    aggregated = {}
    for path in ("/api", "/apis"):
        _, text, headers = client.send(asking(path), AGGREGATED)
        aggregated[path] = {"text": text, "etag": headers["Etag"]}
    openapi = {
        path: json.loads(client.send(asking(f"/openapi/v3{path}"))[1])
        for path in versions
        if "example.com" in path
    }
    return {
        "definitions": json.loads(client.send(asking(crds))[1])["items"],
        "documents": documents,
        "aggregated": aggregated,
        "index": json.loads(client.send(asking("/openapi/v3"))[1]),
        "openapi": openapi,
    }


def record_access(client: Client) -> Json:
    """Return who was refused what."""
    for path, body in MADE:
        code, text, _ = client.send(sending(path, body))
        if code != 201:
            raise ToolError(text)
    time.sleep(2)  # until the authorizer has heard of it
    found = []
    for case in cases():
        code, text, _ = client.send(case)
        try:
            answer = json.loads(text) if code != 200 else None
        except ValueError:
            answer = None
        found.append({"case": case, "code": code, "answer": answer})
    return {"made": MADE, "cases": found}


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder to write to")
    arguments = parser.parse_args()
    leave_on_signals()
    try:
        with control_plane() as server:
            client = Client(server)
            recorded = {
                "api_documents": record_documents(client),
                "api_access": record_access(client),
            }
    except ToolError as failure:
        sys.exit(f"record_api_answers: {failure}")
    for name, content in recorded.items():
        text = json.dumps(content, separators=(",", ":")).encode()
        (arguments.data / f"{name}.json.xz").write_bytes(lzma.compress(text))
    print(f"{arguments.data}: {len(recorded['api_access']['cases'])} cases of access")


if __name__ == "__main__":
    main()
