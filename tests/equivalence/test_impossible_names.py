"""Names that no object can have are rejected alike, and leave nothing behind."""

from typing import Any

import pytest

from kube_objects.refs import Kind, ObjectRef
from tests.equivalence.comparison import compare
from tests.equivalence.controller import Controller
from tests.equivalence.test_equivalence import instance_of, node, read_by, simple

NAMES = {
    "dots": "..",
    "point": ".",
    "slash": "web/status",
    "percent": "a%2fb",
}
NAMESPACES = {
    **NAMES,
    "capital": "Default",
    "space": " default",
    "comma": "default,kube-system",
    "long": "x" * 64,
    "subdomain": "a.b",
}
CODES = {"dots": "invalid-name", "point": "invalid-name", "slash": "invalid-name"}
CODES |= {"percent": "invalid-name"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["ConfigMap", "Role"])
def test_a_name_that_no_request_can_carry(controller: Controller, name: str, kind: str) -> None:
    group = "rbac.authorization.k8s.io/" if kind == "Role" else ""
    child = node("child", {"name": "${schema.spec.name}"}, kind=kind)
    child["template"]["apiVersion"] = f"{group}v1"
    after = [read_by("${child.metadata.name}"), node("other", {"name": f"{name}-{kind}-o".lower()})]
    word = f"{name}{kind.lower()}"
    objects = [simple(word, child, *after, spec={"name": "string"})]
    (rendering,), (finding,) = compare(
        controller, [*objects, instance_of(word, spec={"name": NAMES[name]})]
    )
    assert finding.problem.code == "invalid-name"
    assert [each.node for each in rendering.children] == ["other"]


@pytest.mark.parametrize("name", NAMESPACES)
def test_a_namespace_that_cannot_exist(controller: Controller, name: str) -> None:
    word = f"place{name}"
    child = node("child", {"name": f"{word}-child", "namespace": "${schema.spec.place}"})
    other = node("other", {"name": f"{word}-other"})
    definition = simple(word, child, other, spec={"place": "string"})
    instance = instance_of(word, spec={"place": NAMESPACES[name]})
    (rendering,), (finding,) = compare(controller, [definition, instance])
    assert finding.problem.code == CODES.get(name, "not-found")
    assert [each.node for each in rendering.children] == ["other"]
    # Nothing of it is kept: a corrected instance is reconciled, and can be deleted.
    corrected = instance_of(word, spec={"place": "kube-system"})
    (rendering,), findings = compare(controller, [definition, corrected])
    assert (len(rendering.children), findings) == (2, [])
    ref = ObjectRef.of(corrected)
    child_ref = ObjectRef(Kind("", "v1", "ConfigMap"), "kube-system", f"{word}-child")
    assert controller.find(child_ref) is not None
    controller.delete(ref)
    assert controller.find(child_ref) is None


@pytest.mark.parametrize("place", ["name", "namespace"])
@pytest.mark.parametrize("name", NAMES)
def test_a_reference_that_no_request_can_carry(
    controller: Controller, name: str, place: str
) -> None:
    word = f"refer{name}{place}"
    named: dict[str, Any] = {"name": "any", "namespace": "default", place: "${schema.spec.text}"}
    outside = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named}
    definition = simple(
        word,
        {"id": "outside", "externalRef": outside},
        read_by("${outside.data.x}"),
        spec={"text": "string"},
    )
    instance = instance_of(word, spec={"text": NAMES[name]})
    (rendering,), (finding,) = compare(controller, [definition, instance])
    assert finding.problem.code == "invalid-name"
    assert rendering.children == []
