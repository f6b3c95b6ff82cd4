"""
Does another client own this object already?

Before a source writes an object for the first time it reads the one in the cluster. If another tool
manages that object, the two would overwrite each other endlessly. So the source leaves it alone and
reports the owner, unless it may adopt the object. The first row that matches decides:

| found on the object | owner |
|---|---|
| label `kro.run/owned: "true"` and labels `kro.run/instance-…` | the instance it is a child of |
| the same label on a CRD, and `kro.run/resource-graph-definition-name` | the definition |
| Argo CD tracks by annotation, and the tracking id names this object | the application |
| Argo CD tracks by label (its key, by default `app.kubernetes.io/instance`) | the application |
| labels `kustomize.toolkit.fluxcd.io/name` and `/namespace` | the Kustomization |
| labels `helm.toolkit.fluxcd.io/name` and `/namespace` | the HelmRelease |
| label `app.kubernetes.io/managed-by: Helm`, annotation `meta.helm.sh/release-name` | the release |
| label `applyset.kubernetes.io/part-of` with another id than ours | that apply set |
| a field manager of one of these tools wrote it, not only its status | the tool |

What means nothing:

* a tracking id that names another object: it was copied, as we do with children;
* the default label under annotation tracking: charts put it on everything;
* an installation id: an object of another Argo CD is not ours either;
* a mark that our own apply wrote. It stands in git so, or the source bridges to an application.
  If its tool writes the object as well, the tool's field manager gives it away.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from kro_gitops.metadata import (
    APPLYSET_PART_OF,
    ARGOCD_TRACKING_ID,
    DEFINITION_NAME,
    INSTANCE_ID,
    INSTANCE_KIND,
    INSTANCE_NAME,
    INSTANCE_NAMESPACE,
    MANAGED_BY,
    OWNED,
    SOURCE_MANAGER,
)
from kro_gitops.tracking.identity import parse_tracking_id
from kro_gitops.tracking.methods import ArgoCD, TrackingMetadata
from kube_objects.refs import KubeObject, ObjectRef, as_mapping

_RELEASE_NAME = "meta.helm.sh/release-name"
_RELEASE_NAMESPACE = "meta.helm.sh/release-namespace"
_CRD_GROUP, _CRD = "apiextensions.k8s.io", "CustomResourceDefinition"


class Tool(StrEnum):
    """Who owns objects beside us."""

    KRO = "kro"
    ARGOCD = "Argo CD"
    FLUX = "Flux"
    HELM = "Helm"
    APPLYSET = "apply set"


# What the name of an owner is the name of, where the name does not say so itself.
_NOUNS: Mapping[str, str] = {Tool.ARGOCD: "application", Tool.HELM: "release"}

_FLUX_LABELS = {
    "kustomize.toolkit.fluxcd.io": "Kustomization",
    "helm.toolkit.fluxcd.io": "HelmRelease",
}

_MANAGERS = {
    "argocd-controller": Tool.ARGOCD,
    "argocd-application-controller": Tool.ARGOCD,
    "kustomize-controller": Tool.FLUX,
    "helm-controller": Tool.FLUX,
    "helm": Tool.HELM,
}


@dataclass(frozen=True, slots=True)
class ForeignOwner:
    """Who owns an object: a tool, what it calls the owner (empty if unknown), how we know."""

    tool: str
    name: str
    how: str

    def __str__(self) -> str:
        noun = _NOUNS.get(self.tool, "") if self.name else ""
        words = (self.tool, noun, self.name, f"({self.how})")
        return " ".join(word for word in words if word)


def find_foreign_owner(
    live: KubeObject, *, argocd: ArgoCD, part_of: str = ""
) -> ForeignOwner | None:
    """Return who else owns a live object; its metadata with `managedFields` is enough."""
    evidence = _Evidence.of(live, argocd, part_of)
    return next((owner for rule in _RULES if (owner := rule(evidence)) is not None), None)


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What rules look at; the marks are those that we did not write ourselves."""

    ref: ObjectRef
    marks: TrackingMetadata
    managers: tuple[str, ...]
    argocd: ArgoCD = field(default_factory=ArgoCD)
    part_of: str = ""

    @classmethod
    def of(cls, live: KubeObject, argocd: ArgoCD, part_of: str) -> "_Evidence":
        metadata = as_mapping(live.get("metadata"))
        listed = metadata.get("managedFields")
        entries: list[Mapping[str, Any]] = [
            entry
            for entry in (listed if isinstance(listed, list) else ())
            if isinstance(entry, dict)
        ]
        marks = TrackingMetadata(
            _written_by_others(metadata, "labels", entries),
            _written_by_others(metadata, "annotations", entries),
        )
        managers = tuple(
            manager
            for entry in entries
            if not entry.get("subresource") and isinstance(manager := entry.get("manager"), str)
        )
        return cls(ObjectRef.of(live), marks, managers, argocd, part_of)


def _child(evidence: _Evidence) -> ForeignOwner | None:
    labels = evidence.marks.labels
    if labels.get(OWNED) != "true":
        return None
    if INSTANCE_ID in labels or INSTANCE_NAME in labels:
        name = _joined(labels.get(INSTANCE_NAMESPACE, ""), labels.get(INSTANCE_NAME, ""))
        words = ("instance", labels.get(INSTANCE_KIND, ""), name)
        return ForeignOwner(Tool.KRO, " ".join(word for word in words if word), "labels")
    kind = evidence.ref.kind
    # Instances carry the definition's name, too, and they do belong into git.
    if (kind.group, kind.kind) == (_CRD_GROUP, _CRD) and DEFINITION_NAME in labels:
        return ForeignOwner(Tool.KRO, f"definition {labels[DEFINITION_NAME]}", "labels")
    return None


def _application(evidence: _Evidence) -> ForeignOwner | None:
    marks, argocd = evidence.marks, evidence.argocd
    if argocd.method.reads_label:
        name = marks.labels.get(argocd.label_key, "")
        return ForeignOwner(Tool.ARGOCD, name, f"label {argocd.label_key}") if name else None
    found = parse_tracking_id(marks.annotations.get(ARGOCD_TRACKING_ID, ""))
    if found is None or not found.application or not found.names(evidence.ref):
        return None
    return ForeignOwner(Tool.ARGOCD, found.application, "tracking id")


def _flux(evidence: _Evidence) -> ForeignOwner | None:
    labels = evidence.marks.labels
    for domain, kind in _FLUX_LABELS.items():
        name, namespace = labels.get(f"{domain}/name"), labels.get(f"{domain}/namespace")
        if name and namespace:
            return ForeignOwner(Tool.FLUX, f"{kind} {namespace}/{name}", "labels")
    return None


def _helm(evidence: _Evidence) -> ForeignOwner | None:
    marks = evidence.marks
    name = marks.annotations.get(_RELEASE_NAME, "")
    # The label alone is on every object that was rendered from a chart, by any tool.
    if marks.labels.get(MANAGED_BY) != "Helm" or not name:
        return None
    namespace = marks.annotations.get(_RELEASE_NAMESPACE, "")
    return ForeignOwner(Tool.HELM, _joined(namespace, name), "release annotations")


def _apply_set(evidence: _Evidence) -> ForeignOwner | None:
    found = evidence.marks.labels.get(APPLYSET_PART_OF, "")
    if not found or found == evidence.part_of:
        return None
    return ForeignOwner(Tool.APPLYSET, found, f"label {APPLYSET_PART_OF}")


def _manager(evidence: _Evidence) -> ForeignOwner | None:
    for name in evidence.managers:
        if name in _MANAGERS:
            return ForeignOwner(_MANAGERS[name], "", f"field manager {name}")
    return None


_RULES: tuple[Callable[[_Evidence], ForeignOwner | None], ...] = (
    _child,
    _application,
    _flux,
    _helm,
    _apply_set,
    _manager,
)


def _written_by_others(
    metadata: Mapping[str, Any], section: str, entries: list[Mapping[str, Any]]
) -> dict[str, str]:
    ours: set[str] = set()
    for entry in entries:
        if entry.get("manager") == SOURCE_MANAGER and entry.get("operation") == "Apply":
            fields = as_mapping(as_mapping(entry.get("fieldsV1")).get("f:metadata"))
            ours |= {name[2:] for name in as_mapping(fields.get(f"f:{section}"))}
    values = as_mapping(metadata.get(section))
    return {k: v for k, v in values.items() if isinstance(v, str) and k not in ours}


def _joined(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name
