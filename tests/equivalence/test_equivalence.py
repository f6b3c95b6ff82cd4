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


def scaler(id_: str, version: str) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"maxReplicas": 1, "scaleTargetRef": target}
    head = {"apiVersion": f"autoscaling/{version}", "kind": "HorizontalPodAutoscaler"}
    return {"id": id_, "template": {**head, "metadata": {"name": "scaler"}, "spec": spec}}


def test_an_object_of_another_instance_is_the_same_in_every_version(controller: Controller) -> None:
    made = [simple("scalera", scaler("a", "v1")), simple("scalerb", scaler("b", "v2"))]
    controller.reconcile([*made, instance_of("scalera")])
    objects = [*made, instance_of("scalera"), instance_of("scalerb")]
    (_, other), (finding,) = compare(controller, objects)
    assert other.children == []
    assert finding.problem.code == "foreign-applyset"


@pytest.mark.parametrize("adopts", ["true", "false"])
def test_an_object_of_the_repository_is_not_taken_over(controller: Controller, adopts: str) -> None:
    name = f"wanted{adopts}"
    written = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": {"of": "git"},
    }
    made = simple(
        name,
        node("cm", {"name": name}, data={"of": "instance"}),
        node("after", {"name": f"{name}-after"}, data={"of": "${cm.data.of}"}),
    )
    wish = {"annotations": {"gitops.kro.run/adopt": adopts}}
    (rendering,), findings = compare(
        controller, [made, written, instance_of(name, metadata=wish)], in_order=True
    )
    if adopts == "true":
        assert (len(rendering.children), findings) == (2, [])
    else:
        assert rendering.children == []
        assert rendering.waiting == {"after": "cm"}
        assert [each.problem.code for each in findings] == ["not-ours"]


def test_an_instance_of_the_repository_is_not_made_a_child(controller: Controller) -> None:
    inner = simple("claimed", node("cm", {"name": "claimed"}))
    named = {"name": "claimed-0", "namespace": "default"}
    template = {"apiVersion": "kro.run/v1", "kind": "Claimed", "metadata": named}
    outer = simple("claimer", {"id": "inner", "template": template})
    objects = [inner, outer, instance_of("claimed"), instance_of("claimer")]
    renderings, (finding,) = compare(controller, objects, in_order=True)
    assert [len(each.children) for each in renderings] == [1, 0]
    assert finding.problem.code == "not-ours"


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


@pytest.mark.parametrize("word", ["kept", "left out"])
def test_what_may_be_omitted_in_the_end(controller: Controller, word: str) -> None:
    name = f"omits{len(word)}"
    reference = {"name": name, "namespace": "default"}
    outside = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": reference}
    value = "${outside.data.word == 'kept' ? 'x' : omit()}"
    made = simple(
        name,
        {"id": "outside", "externalRef": outside},
        node("cm", {"name": f"{name}-cm"}, data={"a": value, "b": "c"}),
        node("secret", {"name": f"{name}-s"}, kind="Secret", stringData={"a": value, "b": "c"}),
    )
    besides = [{**outside, "data": {"word": word}}]
    (rendering,), _ = compare(controller, [made, instance_of(name)], besides=besides)
    assert len(rendering.children) == 2


def test_labels_and_annotations_of_unknown_content(controller: Controller) -> None:
    reference = {"name": "marks", "namespace": "default"}
    marks = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": reference}
    objects = [
        simple(
            "unmarked",
            {"id": "marks", "externalRef": marks},
            node("cm", {"name": "${schema.metadata.name}", "labels": "${marks.data}"}),
            node("other", {"name": "${schema.metadata.name}-x", "annotations": "${marks.data}"}),
        ),
        instance_of("unmarked"),
        instance_of("unmarked", 1, metadata={"annotations": {"gitops.kro.run/revision": "abc"}}),
    ]
    compare(controller, objects[:2], besides=[{**marks, "data": {"team": "a"}}])
    compare(controller, [objects[0], *objects[2:]], in_order=True)


def test_labels_that_are_no_map_are_replaced(controller: Controller) -> None:
    marks = {"labels": "${schema.spec.any.text}", "annotations": "${schema.spec.any.text}"}
    made = simple("nomap", node("cm", {"name": "nomap", **marks}), spec={"any": "object"})
    (rendering,), _ = compare(controller, [made, instance_of("nomap", spec={"any": {"text": "x"}})])
    assert len(rendering.children) == 1


NOT_ALLOWED: dict[str, tuple[str, Any]] = {
    "maximum": ("integer | maximum=3", 5),
    "minimum": ("float | minimum=1.5", 1.25),
    "choice": ('string | enum="a,b"', "c"),
    "pattern": ('string | pattern="^a+$"', "b"),
    "shortest": ("string | minLength=2", "b"),
    "longest": ("string | maxLength=2", "abc"),
    "fewest": ("[]string | minItems=2", ["a"]),
    "most": ("[]string | maxItems=1", ["a", "b"]),
    "twice": ("[]string | uniqueItems=true", ["a", "a"]),
    "rule": ('integer | validation="self > 3"', 2),
    "null": ("[]string", None),
    "required": ("string | required=true", ...),
    "several": ('string | enum="a,b" minLength=5', "c"),
    "text": ("string", 5),
    "number": ("integer", "5"),
    "fraction": ("integer", 1.5),
    "flag": ("boolean", "yes"),
    "list": ("[]string", "a"),
    "item": ("[]string", ["a", 5]),
    "map": ("map[string]string", {"a": 5}),
    "field": ("Part", {"b": "x"}),
    "deep": ("[]Part", [{"a": "x"}, {"a": {}}]),
}


@pytest.mark.parametrize("name", NOT_ALLOWED)
def test_a_nested_instance_that_its_definition_does_not_allow(
    controller: Controller, name: str
) -> None:
    marker, size = NOT_ALLOWED[name]
    types = {"Part": {"a": "string"}}
    inner = simple(
        f"in{name}", node("cm", {"name": f"in{name}"}), spec={"size": marker}, types=types
    )
    template = {
        "apiVersion": "kro.run/v1",
        "kind": f"In{name}",
        "metadata": {"name": f"in{name}"},
        "spec": {"size": "${schema.spec.any.?size}"} if size is not ... else {},
    }
    after = node("after", {"name": f"after-{name}"}, data={"name": "${inner.metadata.name}"})
    outer = simple(
        f"around{name}", {"id": "inner", "template": template}, after, spec={"any": "object"}
    )
    given = {"any": {"size": size} if size is not ... else {}}
    objects = [inner, outer, instance_of(f"around{name}", spec=given)]
    (rendering,), (finding,) = compare(controller, objects)
    assert rendering.children == []
    assert rendering.waiting == {"after": "inner"}
    assert finding.problem.code in ("invalid", "schema-mismatch")


NOT_ACCEPTED: dict[str, dict[str, Any]] = {
    "capital": {"name": "NotAccepted"},
    "overlong": {"name": "x" * 254},
    "dotted": {"name": "a..b"},
    "labelvalue": {"labels": {"a": "b c"}},
    "labelkey": {"labels": {"a b": "c"}},
    "labelprefix": {"labels": {"-x/a": "c", "/b": "c", "a/b/c": "d"}},
    "labellength": {"labels": {"a" * 64: "b" * 64}},
    "annotationkey": {"annotations": {"a b": "c"}},
    "annotationsize": {"annotations": {"a": "b" * 300_000}},
    "labeltype": {"labels": {"a": 5, "b": True}},
}


@pytest.mark.parametrize("name", NOT_ACCEPTED)
def test_metadata_that_the_api_server_does_not_accept(controller: Controller, name: str) -> None:
    given = {"name": f"accepted-{name}", **NOT_ACCEPTED[name]}
    fields = {key: f"${{schema.spec.any.{key}}}" for key in given}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": fields}
    made = simple(name, {"id": "cm", "template": body}, spec={"any": "object"})
    (rendering,), (finding,) = compare(controller, [made, instance_of(name, spec={"any": given})])
    assert rendering.children == []
    assert finding.problem.code in ("invalid", "schema-mismatch")


def test_a_cluster_scoped_child_of_the_wrong_type(controller: Controller) -> None:
    marks = {"name": "widely", "annotations": {"a": "${schema.spec.any.number}"}}
    wide = {"apiVersion": "v1", "kind": "Namespace", "metadata": marks}
    made = simple("widely", {"id": "wide", "template": wide}, spec={"any": "object"})
    given = {"any": {"number": 5}}
    (rendering,), (finding,) = compare(controller, [made, instance_of("widely", spec=given)])
    assert rendering.children == []
    assert finding.problem.code == "schema-mismatch"


NAMES = {
    "service": ("v1", "Service", "1a"),
    "namespace": ("v1", "Namespace", "a.b"),
    "set": ("apps/v1", "StatefulSet", "a.b"),
    "role": ("rbac.authorization.k8s.io/v1", "ClusterRole", "a%b"),
}


@pytest.mark.parametrize("name", NAMES)
def test_names_by_the_rules_of_their_kind(controller: Controller, name: str) -> None:
    version, kind, child = NAMES[name]
    fields: dict[str, dict[str, Any]] = {
        "service": {"spec": {"ports": [{"port": 80}]}},
        "set": {"spec": {**WORKLOAD, "serviceName": "x"}},
        "role": {"rules": []},
    }
    body = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": child},
        **fields.get(name, {}),
    }
    made = simple(f"kinds{name}", {"id": "it", "template": body})
    (rendering,), (finding,) = compare(controller, [made, instance_of(f"kinds{name}")])
    assert rendering.children == []
    # No request can carry a '%', so the client rejects it.
    assert finding.problem.code == ("invalid-name" if name == "role" else "invalid")


def read_by(expression: str, name: str = "reader") -> dict[str, Any]:
    return node(name, {"name": "${schema.metadata.name}-" + name}, data={"read": expression})


def typed(id_: str, api_version: str, kind: str, **fields: Any) -> dict[str, Any]:
    metadata = {"name": "${schema.metadata.name}-" + id_} | fields.pop("metadata", {})
    head = {"apiVersion": api_version, "kind": kind, "metadata": metadata}
    return {"id": id_, "template": {**head, **fields}}


POD = {"containers": [{"name": "main", "image": "nginx"}]}
WORKLOAD = {
    "selector": {"matchLabels": {"a": "b"}},
    "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD},
}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}
STORED_DIFFERENTLY = {
    "emptysecret": [
        {**node("a", {"name": "emptied"}, kind="Secret", stringData={})},
        read_by("${has(a.data) ? 'yes' : 'no'}"),
    ],
    "nullvalue": [
        node("a", {"name": "nulled"}, data={"x": None}),
        read_by("${'x' in a.data ? 'yes' : 'no'}"),
    ],
    "quantity": [
        typed("a", "v1", "PersistentVolumeClaim", spec=CLAIM),
        read_by("${string(a.spec.resources.requests['storage'])}"),
    ],
    "servertime": [
        node("a", {"name": "dated", "creationTimestamp": "2020-01-01T00:00:00Z", "generation": 7}),
        read_by("${string(a.metadata.creationTimestamp)}"),
        read_by("${string(a.metadata.?generation.orValue(0))}", "another"),
    ],
    "ownstatus": [
        typed("a", "apps/v1", "Deployment", spec=WORKLOAD, status={"replicas": 5}),
        read_by("${string(a.status.replicas)}"),
    ],
    "finalized": [
        typed("a", "v1", "PersistentVolumeClaim", spec=CLAIM),
        read_by("${string(size(a.metadata.finalizers))}"),
        read_by("${string(size(schema.metadata.finalizers))}", "another"),
    ],
}


@pytest.mark.parametrize("name", STORED_DIFFERENTLY)
def test_what_others_read_is_what_the_server_stores(controller: Controller, name: str) -> None:
    marked = {"finalizers": ["example.com/own"]}
    definition = simple(name, *STORED_DIFFERENTLY[name])
    compare(controller, [definition, instance_of(name, metadata=marked)])


def test_a_name_that_is_too_long_for_a_label(controller: Controller) -> None:
    made = simple("lengthy", node("cm", {"name": "lengthy"}))
    (rendering,), _ = compare(controller, [made, instance_of("lengthy", 10**80)])
    assert len(rendering.children) == 1


TWICE: dict[str, tuple[dict[str, Any], str]] = {
    "ports": (
        {
            "selector": {"a": "b"},
            "ports": [{"port": 80, "name": "a"}, {"port": 80, "name": "b", "protocol": "TCP"}],
        },
        '.spec.ports: duplicate entries for key [port=80,protocol="TCP"]',
    ),
    "given": (
        {"selector": {"a": "b"}, "ports": "${schema.spec.ports}"},
        '.spec.ports: duplicate entries for key [port=81,protocol="TCP"]',
    ),
    "inside": (
        {"selector": {"a": "b"}, "ports": [{"port": 80}, {"port": "${schema.spec.port}"}]},
        '.spec.ports: duplicate entries for key [port=80,protocol="TCP"]',
    ),
}


@pytest.mark.parametrize("name", TWICE)
def test_two_items_with_the_same_key(controller: Controller, name: str) -> None:
    spec, text = TWICE[name]
    schema = {"ports": "[]Port", "port": "integer"}
    made = simple(
        f"twice{name}",
        typed("a", "v1", "Service", spec=spec),
        read_by("${a.metadata.name}"),
        spec=schema,
        types={"Port": {"port": "integer", "name": "string"}},
    )
    ports = [{"port": 81, "name": "a"}, {"port": 81, "name": "b"}]
    given = instance_of(f"twice{name}", spec={"port": 80, "ports": ports})
    (rendering,), (finding,) = compare(controller, [made, given])
    assert rendering.children == []
    assert finding.problem.code == "schema-mismatch"
    assert text in finding.problem.summary
