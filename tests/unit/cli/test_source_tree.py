"""How the tree of a source is drawn; on a cluster: tests/e2e/test_source_verbs.py."""

from datetime import UTC, datetime

from kro_gitops.cli.source_tree import assembled, source_tree_row
from kro_gitops.cli.tables import ASCII, UNICODE, flatten
from kro_gitops.engine.applyset import GroupKind
from kro_gitops.inspect.views.instances import Branch
from kro_gitops.inspect.views.sources import Entry
from kro_gitops.tracking.health import Health, HealthStatus
from kube_objects.refs import KubeObject

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
FINE = HealthStatus(Health.HEALTHY, "")


def obj(kind: str, name: str, namespace: str = "shop") -> KubeObject:
    metadata = {"name": name, "namespace": namespace, "creationTimestamp": "2026-03-01T11:58:00Z"}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


def failure(name: str, file: str) -> dict[str, object]:
    return {"object": name, "file": file, "line": 7, "column": 3, "code": "x", "message": "no"}


SOURCE = {
    **obj("GitSource", "shop", "gitops"),
    "spec": {},
    "status": {
        "lastAppliedRevision": "main@sha1:" + "1a" * 20,
        "conditions": [{"type": "Ready", "status": "False", "message": "2 failed"}],
        "failures": [failure("WebApp shop/front", "a.yaml"), failure("", "b.yaml")],
    },
}


def entry(kind: str, name: str) -> Entry:
    return Entry(GroupKind(kind, "kro.run"), "shop", name, "3", "a.yaml:1", "1a" * 20)


def branches() -> dict[Entry, Branch | None]:
    child = Branch(obj("Deployment", "front"), "deployment", FINE)
    front = Branch(obj("WebApp", "front"), "", FINE, (child,))
    return {entry("WebApp", "front"): front, entry("WebApp", "lost"): None}


def test_instances_are_drawn_with_children_and_failures_with_places() -> None:
    tree = assembled(SOURCE, branches())
    assert [line.cells for line in flatten([source_tree_row(tree, NOW)], UNICODE)] == [
        ("GitSource/shop in gitops at main@1a1a1a1", "Degraded", "2m", "2 failed"),
        ("├── WebApp/front in shop", "Degraded", "2m", "a.yaml:7:3: no"),
        ("│   └── deployment: Deployment/front", "Healthy", "2m", ""),
        ("├── WebApp/lost in shop", "-", "-", "not found, or not readable"),
        ("└── b.yaml:7:3", "Degraded", "-", "b.yaml:7:3: no"),
    ]


def test_a_terminal_that_knows_no_unicode_gets_ascii() -> None:
    row = source_tree_row(assembled(SOURCE, branches()), NOW)
    drawn = [line.cells[0] for line in flatten([row], ASCII)]
    assert drawn[2] == "|   `-- deployment: Deployment/front"


def test_the_tree_as_data() -> None:
    found = assembled(SOURCE, branches()).to_json()
    front, lost = found["children"]
    assert (front["path"], front["children"][0]["name"]) == ("a.yaml:1", "front")
    assert front["failures"][0]["line"] == 7
    assert (lost["kind"], lost["name"], lost["health"]) == ("WebApp", "lost", None)
    assert [each["file"] for each in found["failures"]] == ["b.yaml"]
