"""
Record how a real API server tells what it serves, and to whom it refuses what.

Makes a few custom kinds, roles and bindings, and keeps what was asked and answered. It wants a
server that serves nothing else.

    python -m tools.recording.api_answers
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.recording.api_definitions import DEFINITIONS
from tools.recording.client import CRDS, Answer, Client, Json
from tools.recording.command import TESTS, command_line, run

DOCUMENTS = TESTS / "data" / "api_documents.json.xz"
ACCESS = TESTS / "data" / "api_access.json.xz"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

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


def answered(client: Client, case: Case) -> Answer:
    """Ask a question as whom it wants to be asked."""
    method, path, body, who = case
    return client.ask(method, path, body, headers=dict(impersonation(who)))


def impersonation(who: Json) -> Iterator[tuple[str, str]]:
    """Yield the headers by which somebody asks as somebody else; one of a name is all we need."""
    if "user" in who:
        yield "Impersonate-User", who["user"]
    for group in who.get("groups", ())[:1]:
        yield "Impersonate-Group", group
    yield from (tuple(each) for each in who.get("headers", ()))


def record_documents(client: Client) -> Json:
    """Return what is told of what is served."""
    for each in DEFINITIONS:
        client.create(CRDS, each)
    time.sleep(5)  # until every document is published
    groups = client.ask("GET", "/apis").body["groups"]
    versions = [f"/apis/{v['groupVersion']}" for group in groups for v in group["versions"]]
    paths = ("/apis", "/api/v1", *(f"/apis/{group['name']}" for group in groups), *versions)
    aggregated = {}
    for path in ("/api", "/apis"):
        answer = client.ask("GET", path, headers={"Accept": AGGREGATED})
        aggregated[path] = {"text": answer.text, "etag": answer.headers["Etag"]}
    openapi = {
        path: client.ask("GET", f"/openapi/v3{path}").body
        for path in versions
        if "example.com" in path
    }
    return {
        "definitions": client.ask("GET", CRDS).body["items"],
        "documents": {path: client.ask("GET", path).text for path in paths},
        "aggregated": aggregated,
        "index": client.ask("GET", "/openapi/v3").body,
        "openapi": openapi,
    }


def record_access(client: Client) -> Json:
    """Return who was refused what."""
    for path, body in MADE:
        client.create(path, body)
    time.sleep(2)  # until the authorizer has heard of it
    found = []
    for case in cases():
        answer = answered(client, case)
        found.append({"case": case, "code": answer.code, "answer": refusal(answer)})
    return {"made": MADE, "cases": found}


def refusal(answer: Answer) -> Json | None:
    """Return the Status of an answer that is no plain success."""
    if answer.code == 200 or not answer.content.startswith(b"{"):
        return None
    found: Json = answer.body
    return found


def record(client: Client) -> dict[Path, Json]:
    """Return both."""
    return {DOCUMENTS: record_documents(client), ACCESS: record_access(client)}


def main() -> None:
    """Record, and write the files."""
    run(record, command_line(__doc__).parse_args())


if __name__ == "__main__":
    main()
