"""`render` with the flags of a controller shows what that controller applies."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kro_gitops.engine.child_rules import child_rules
from kro_gitops.engine.plan.children import Rules
from kro_gitops.settings.settings import parse_settings
from tests.command import run
from tests.equivalence.comparison import compare
from tests.equivalence.controller import running_controller

FLAGS: dict[str, dict[str, str]] = {
    "native": {"tracking-mode": "native"},
    "label": {"argocd-tracking-method": "label"},
    "both": {"argocd-tracking-method": "annotation+label", "argocd-label-key": "example.com/app"},
    "own label": {"argocd-tracking-method": "label", "argocd-label-key": "example.com/app"},
    "few labels": {"propagate-labels": "team,example.com/*", "kro-version": "v0.8.0+build"},
    "adopting": {"adoption-policy": "adopt"},
}
REPOSITORY = """
apiVersion: v1
kind: ConfigMap
metadata: {name: mine, namespace: default}
data: {of: git}
---
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: inner}
spec:
  schema: {apiVersion: v1, kind: Inner, spec: {}}
  resources:
  - id: here
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${schema.metadata.name}-here"}
  - id: there
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${schema.metadata.name}-there", namespace: kube-system}
---
apiVersion: kro.run/v1alpha1
kind: ResourceGraphDefinition
metadata: {name: outer}
spec:
  schema: {apiVersion: v1, kind: Outer, spec: {}}
  resources:
  - id: here
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: here, labels: {team: own}}
  - id: there
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: there
        namespace: kube-system
        annotations: {argocd.argoproj.io/sync-options: "Prune=true,Replace=true"}
  - id: own
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: own
        labels: {app.kubernetes.io/instance: own, example.com/app: own}
        annotations: {argocd.argoproj.io/tracking-id: "own:/ConfigMap:default/other"}
  - id: wide
    template:
      apiVersion: v1
      kind: Namespace
      metadata: {name: wide}
  - id: nested
    template:
      apiVersion: kro.run/v1
      kind: Inner
      metadata: {name: nested, namespace: kube-system}
  - id: mine
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: mine}
      data: {of: instance}
---
apiVersion: kro.run/v1
kind: Outer
metadata:
  name: outer
  namespace: default
  labels:
    team: a
    tier: b
    example.com/app: shop
    example.com/x: "y"
    app.kubernetes.io/instance: shop
  annotations:
    argocd.argoproj.io/tracking-id: "shop:kro.run/Outer:default/outer"
    argocd.argoproj.io/installation-id: one
    argocd.argoproj.io/sync-wave: "3"
"""


def documents() -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(REPOSITORY) if each]


@pytest.mark.parametrize("name", FLAGS)
def test_flags_mean_the_same_to_both(name: str, tmp_path: Path) -> None:
    rules: Rules = child_rules(parse_settings(FLAGS[name], {}))
    with running_controller(tmp_path, rules) as controller:
        renderings, _ = compare(controller, documents(), besides=documents()[:1])
    path = tmp_path / "all.yaml"
    path.write_text(REPOSITORY, encoding="utf-8")
    words = [word for flag, text in FLAGS[name].items() for word in (f"--{flag}", text)]
    done = run("render", path, "-o", "json", *words)
    assert done.code == (0 if name == "adopting" else 1)
    if name in ("native", "adopting"):
        policy = [word for word in words if name == "adopting"]
        assert run("validate", path, *policy).code == done.code
    printed = [len(each["children"]) for each in json.loads(done.out)]
    assert printed == [len(each.children) for each in renderings]
