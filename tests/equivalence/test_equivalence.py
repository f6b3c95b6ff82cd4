"""What `render` shows is what the controller applies, and both reject the same."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml

from kro_gitops.engine.plan.placeholder import unknowns
from tests.command import EXAMPLES, run
from tests.equivalence.comparison import compare, compiled, rendered
from tests.equivalence.controller import Controller

NUMBERS = count()


def documents(*texts: str) -> list[dict[str, Any]]:
    return [each for text in texts for each in yaml.safe_load_all(text) if each]


def of_folder(*folders: Path) -> list[dict[str, Any]]:
    paths = [path for folder in folders for path in sorted(folder.rglob("*.yaml"))]
    return documents(*(path.read_text(encoding="utf-8") for path in paths))


ISSUE = """
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: many}
spec:
  schema:
    apiVersion: v1alpha1
    kind: Many
    spec: {names: "[]string"}
  resources:
  - id: maps
    forEach: [{word: "${schema.spec.names}"}]
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${schema.metadata.name}-${word}"}
  - id: secret
    template:
      apiVersion: v1
      kind: Secret
      metadata: {name: "${schema.metadata.name}-s"}
      stringData: {a: b}
---
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: wide}
spec:
  schema:
    apiVersion: v1alpha1
    kind: Wide
    scope: Cluster
    spec: {place: "string"}
  resources:
  - id: cm
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${schema.metadata.name}", namespace: "${schema.spec.place}"}
---
apiVersion: kro.run/v1alpha1
kind: Many
metadata: {name: m, namespace: default}
spec: {names: [a, a]}
---
apiVersion: kro.run/v1alpha1
kind: Wide
metadata: {name: w}
spec: {place: ""}
"""


def test_what_the_controller_rejects_is_rejected_offline(
    controller: Controller, tmp_path: Path
) -> None:
    renderings, findings = compare(controller, documents(ISSUE))
    assert [rendering.children for rendering in renderings] == [[], []]
    codes = [each.problem.code for each in findings]
    assert codes == ["identity-collision", "namespace-missing"]
    path = tmp_path / "all.yaml"
    path.write_text(ISSUE, encoding="utf-8")
    for verb in ("render", "validate"):
        done = run(verb, path)
        assert done.code == 1
        printed = done.out + done.err
        assert (
            'Many default/m: node "maps" identity collision: duplicate identity: '
            "/v1/ConfigMap/default/m-a\n"
        ) in printed
        assert (
            'Wide w: node "cm" is namespaced and must resolve metadata.namespace when the '
            "instance is cluster-scoped\n"
        ) in printed
        assert "stringData" not in printed


def test_the_example_repository(controller: Controller) -> None:
    passwords = of_folder(EXAMPLES.parent / "demo")
    renderings, _ = compare(controller, of_folder(EXAMPLES), besides=passwords)
    kinds = {rendering.instance.kind.kind for rendering in renderings}
    assert kinds == {"WebApp", "Shop", "Database", "TenantConfig", "Workers"}
    assert sum(len(rendering.children) for rendering in renderings) > 20


def test_the_example_repository_with_its_secrets(controller: Controller) -> None:
    compare(controller, of_folder(EXAMPLES, EXAMPLES.parent / "demo"))


@pytest.mark.parametrize("name", ["annotations", "labels"])
def test_marks_of_argo_cd(controller: Controller, name: str) -> None:
    kind = f"Marked{name.capitalize()}"
    marks = {
        "argocd.argoproj.io/tracking-id": f"web:kro.run/{kind}:default/corner",
        "argocd.argoproj.io/installation-id": "one",
        "example.com/owner": "team-a",
    }
    objects = documents(
        f"""
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {{name: marked-{name}}}
spec:
  schema:
    apiVersion: v1alpha1
    kind: {kind}
    spec: {{}}
  resources:
  - id: here
    template: {{apiVersion: v1, kind: ConfigMap, metadata: {{name: marked-{name}-here}}}}
  - id: there
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {{name: marked-{name}-there, namespace: kube-system}}
  - id: everywhere
    template: {{apiVersion: v1, kind: Namespace, metadata: {{name: marked-{name}}}}}
"""
    )
    if name == "labels":
        marks = {"team": "a", "app.kubernetes.io/part-of": "shop"}
    instance = {
        "apiVersion": "kro.run/v1alpha1",
        "kind": kind,
        "metadata": {"name": "corner", "namespace": "default", name: marks},
    }
    (rendering,), _ = compare(controller, [*objects, instance])
    assert len(rendering.children) == 3


def simple(name: str, *nodes: dict[str, Any], **schema: Any) -> dict[str, Any]:
    """Return a definition of a kind of its own."""
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "ResourceGraphDefinition",
        "metadata": {"name": name},
        "spec": {
            "schema": {"apiVersion": "v1", "kind": name.capitalize(), "spec": {}, **schema},
            "resources": list(nodes),
        },
    }


def instance_of(name: str, number: int = 0, **more: Any) -> dict[str, Any]:
    metadata = {"name": f"{name}-{number}", "namespace": "default"} | more.pop("metadata", {})
    head = {"apiVersion": "kro.run/v1", "kind": name.capitalize()}
    return {**head, "metadata": metadata, **more}


def node(name: str, metadata: dict[str, Any], **more: Any) -> dict[str, Any]:
    head = {"apiVersion": "v1", "kind": more.pop("kind", "ConfigMap")}
    ours = {key: more.pop(key) for key in ("data", "stringData") if key in more}
    return {"id": name, "template": {**head, "metadata": metadata, **ours}, **more}


def test_an_object_of_another_instance_is_not_taken_over(controller: Controller) -> None:
    made = simple("rival", node("cm", {"name": "rival"}))
    first, second = instance_of("rival"), instance_of("rival", 1)
    controller.reconcile([made, first])
    (one, other), (finding,) = compare(controller, [made, first, second])
    assert len(one.children) == 1
    assert other.children == []
    assert finding.problem.code == "foreign-applyset"


def test_a_suspended_instance_has_no_children(controller: Controller) -> None:
    paused = {"annotations": {"kro.run/reconcile": "suspended"}}
    objects = [simple("paused", node("cm", {"name": "paused"}))]
    controller.reconcile([*objects, instance_of("paused", metadata=paused)])
    repository = compiled([*objects, instance_of("paused", metadata=paused)])
    (rendering,) = rendered(repository)
    assert rendering.children == []
    assert rendering.notes == ["suspended: no children are applied"]
    assert not [ref for ref in controller.record.applied if ref.name == "paused"]


def test_what_depends_on_an_unknown_is_a_placeholder(controller: Controller) -> None:
    values = {"place": "kube-system", "name": "found", "team": "a"}
    source = {
        "id": "outside",
        "externalRef": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "outside", "namespace": "default"},
        },
    }
    tracking = {"argocd.argoproj.io/tracking-id": "web:kro.run/Vague:default/vague-0"}
    objects = [
        simple(
            "vague",
            source,
            node("place", {"name": "vague-place", "namespace": "${outside.data.place}"}),
            node("name", {"name": "vague-${outside.data.name}"}),
            node("labels", {"name": "vague-labels", "labels": "${outside.data}"}),
            node("label", {"name": "vague-label", "labels": {"team": "${outside.data.team}"}}),
            node(
                "secret",
                {"name": "vague-secret"},
                kind="Secret",
                stringData={"known": "a", "unknown": "${outside.data.team}"},
            ),
            node("all", {"name": "vague-all"}, kind="Secret", stringData="${outside.data}"),
        ),
        instance_of("vague", metadata={"annotations": tracking, "labels": {"team": "b"}}),
    ]
    outside = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "outside", "namespace": "default"},
        "data": values,
    }
    (unknown,), _ = compare(controller, objects, besides=[outside])
    assert len(unknown.children) == 6
    # In the same repository the object is known, and so is everything but the uid.
    (known,), _ = compare(controller, [*objects, outside])
    reads = {
        read
        for child in known.children
        for _, placeholder in unknowns(child.object)
        for read in placeholder.reads
    }
    assert reads == {"schema.metadata.uid"}


def test_an_instance_that_its_definition_does_not_allow(controller: Controller) -> None:
    inner = simple("inside", node("cm", {"name": "inside"}), spec={"size": "integer | maximum=3"})
    template = {
        "apiVersion": "kro.run/v1",
        "kind": "Inside",
        "metadata": {"name": "inside"},
        "spec": {"size": "${schema.spec.size}"},
    }
    outer = simple("around", {"id": "inside", "template": template}, spec={"size": "integer"})
    objects = [inner, outer, instance_of("around", spec={"size": 5})]
    (rendering,) = rendered(compiled(objects))
    controller.reconcile(objects)
    (failure,) = rendering.failures
    assert (failure.node, failure.code) == ("inside", "out-of-range")
    assert [ref for ref in controller.record.failed if ref.name == "inside"]
    assert not [ref for ref in controller.record.applied if ref.name == "inside"]
