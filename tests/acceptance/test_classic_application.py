"""
The definition everybody begins with: Deployment, Service, and an Ingress if asked for.

From its text to a CRD, to verdicts about instances, to children, by the command line alone.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import Outcome, run

DEFINITION = """\
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata:
  name: my-application
spec:
  schema:
    apiVersion: v1alpha1
    kind: Application
    spec:
      name: string | required=true description="Name of the application"
      image: string | default="nginx:1.27"
      replicas: integer | default=3 minimum=1 maximum=10
      port: integer | default=80 minimum=1 maximum=65535
      ingress:
        enabled: boolean | default=false
        host: string | default="example.com"
    status:
      deploymentConditions: ${deployment.status.conditions}
      availableReplicas: ${deployment.status.availableReplicas}
      endpoint: ${service.metadata.name}.${service.metadata.namespace}
  resources:
    - id: deployment
      readyWhen:
        - ${deployment.status.availableReplicas == deployment.spec.replicas}
      template:
        apiVersion: apps/v1
        kind: Deployment
        metadata:
          name: ${schema.spec.name}
          annotations:
            example.com/source: >-
              ${schema.metadata.?annotations["argocd.argoproj.io/tracking-id"].orValue("")}
        spec:
          replicas: ${schema.spec.replicas}
          selector:
            matchLabels:
              app: ${schema.spec.name}
          template:
            metadata:
              labels:
                app: ${schema.spec.name}
            spec:
              containers:
                - name: ${schema.spec.name}
                  image: ${schema.spec.image}
                  ports:
                    - containerPort: ${schema.spec.port}
    - id: service
      template:
        apiVersion: v1
        kind: Service
        metadata:
          name: ${schema.spec.name}-svc
        spec:
          selector: ${deployment.spec.selector.matchLabels}
          ports:
            - protocol: TCP
              port: 80
              targetPort: ${schema.spec.port}
    - id: ingress
      includeWhen:
        - ${schema.spec.ingress.enabled}
      template:
        apiVersion: networking.k8s.io/v1
        kind: Ingress
        metadata:
          name: ${schema.spec.name}
        spec:
          rules:
            - host: ${schema.spec.ingress.host}
              http:
                paths:
                  - path: /
                    pathType: Prefix
                    backend:
                      service:
                        name: ${service.metadata.name}
                        port:
                          number: 80
"""

INSTANCE = """\
apiVersion: kro.run/v1alpha1
kind: Application
metadata:
  name: demo
  namespace: web
spec:
  name: demo
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rgd.yaml").write_text(DEFINITION, encoding="utf-8")


def with_instance(more: str = "", verb: str = "validate", *words: str) -> Outcome:
    Path("instance.yaml").write_text(INSTANCE + more, encoding="utf-8")
    return run(verb, "rgd.yaml", "instance.yaml", *words)


def children(more: str = "") -> dict[str, Any]:
    done = with_instance(more, "render")
    assert (done.code, done.err) == (0, "")
    return {each["kind"]: each for each in yaml.safe_load_all(done.out) if each}


def test_it_is_valid_as_it_stands() -> None:
    done = with_instance()
    assert (done.code, done.out) == (0, "")


def test_ready_when_may_not_read_the_instance() -> None:
    text = DEFINITION.replace("== deployment.spec.replicas", "== schema.spec.replicas")
    Path("rgd.yaml").write_text(text, encoding="utf-8")
    (found,) = run("validate", "rgd.yaml", "-o", "json").json
    assert (found["line"], found["column"]) == (24, 52)
    assert found["code"] == "unknown-identifier"


def test_markers_become_a_schema() -> None:
    crd = yaml.safe_load(run("generate", "crd", "rgd.yaml").out)
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    spec = schema["spec"]
    assert spec["required"] == ["name"]
    assert spec["properties"]["name"] == {
        "type": "string",
        "description": "Name of the application",
    }
    assert spec["properties"]["replicas"] == {
        "type": "integer",
        "default": 3,
        "minimum": 1,
        "maximum": 10,
    }
    ingress = spec["properties"]["ingress"]
    assert ingress["properties"]["enabled"] == {"type": "boolean", "default": False}
    status = schema["status"]["properties"]
    assert status["availableReplicas"] == {"type": "integer"}
    assert status["deploymentConditions"]["type"] == "array"
    assert status["endpoint"] == {"type": "string"}


def test_defaults_reach_the_children() -> None:
    found = children()
    assert sorted(found) == ["Deployment", "Service"]
    deployment = found["Deployment"]
    assert deployment["metadata"]["namespace"] == "web"
    assert deployment["spec"]["replicas"] == 3
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container == {"name": "demo", "image": "nginx:1.27", "ports": [{"containerPort": 80}]}
    assert found["Service"]["spec"]["selector"] == {"app": "demo"}


def test_the_ingress_appears_when_asked_for() -> None:
    found = children("  ingress: {enabled: true}\n")
    (rule,) = found["Ingress"]["spec"]["rules"]
    assert rule["host"] == "example.com"
    assert rule["http"]["paths"][0]["backend"]["service"]["name"] == "demo-svc"


def test_what_argo_cd_stamps_is_not_guessed() -> None:
    annotations = children()["Deployment"]["metadata"]["annotations"]
    path = 'schema.metadata.annotations["argocd.argoproj.io/tracking-id"]'
    assert annotations["example.com/source"] == f"⟨known after apply: {path}⟩"


@pytest.mark.parametrize(
    ("old", "new", "place", "code"),
    [
        pytest.param("  name: demo\n", "  image: x\n", (6, 1), "missing-field", id="no name"),
        pytest.param("", "  replicas: 11\n", (8, 13), "out-of-range", id="too many"),
        pytest.param("", "  replicas: 0\n", (8, 13), "out-of-range", id="too few"),
        pytest.param("", '  replicas: "3"\n', (8, 13), "wrong-type", id="text"),
        pytest.param("", "  replica: 3\n", (8, 3), "unknown-field", id="a typo"),
        pytest.param("", "  ingress: {enabled: on}\n", None, "", id="on is true"),
        pytest.param("", "  ingress: {host: 1}\n", (8, 19), "wrong-type", id="below"),
    ],
)
def test_an_instance_is_judged_by_the_schema(
    old: str, new: str, place: tuple[int, int] | None, code: str
) -> None:
    head, _, last = INSTANCE.rpartition("  name: demo\n")
    Path("instance.yaml").write_text(head + ("" if old else "  name: demo\n") + new + last)
    found = run("validate", "rgd.yaml", "instance.yaml", "-o", "json").json
    expected = [] if place is None else [(*place, code)]
    assert [(each["line"], each["column"], each["code"]) for each in found] == expected
