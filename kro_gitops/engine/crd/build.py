"""
The CustomResourceDefinition that serves a definition's kind.

Its shape is exactly kro's, so that a cluster can switch between the two controllers without an
update: one version, a status subresource, and in the status `state` and `conditions` beside the
fields of the author. Labels name the definition that owns it; they are added separately, because
the uid of the definition is not known offline.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kro_gitops import metadata
from kro_gitops.engine.crd.plurals import pluralize
from kro_gitops.engine.labels import definition_labels
from kube_objects.refs import KubeObject

Schema = dict[str, Any]

API_VERSION = "apiextensions.k8s.io/v1"
KIND = "CustomResourceDefinition"

_PRINTER_COLUMNS: tuple[Mapping[str, Any], ...] = (
    {
        "name": "State",
        "type": "string",
        "description": "The state of a ResourceGraphDefinition instance",
        "jsonPath": ".status.state",
    },
    {
        "name": "Ready",
        "type": "string",
        "description": "Whether a ResourceGraphDefinition instance is ready",
        "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
    },
    {
        "name": "Age",
        "type": "date",
        "description": "Age of the resource",
        "jsonPath": ".metadata.creationTimestamp",
    },
)


@dataclass(frozen=True, slots=True)
class CrdInputs:
    """What a CRD takes from a definition, beside the two schemas."""

    kind: str
    api_version: str
    group: str = metadata.KRO_GROUP
    scope: str = "Namespaced"
    printer_columns: tuple[Mapping[str, Any], ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)

    @property
    def plural(self) -> str:
        """Return the name of the resource in URLs."""
        return pluralize(self.kind.lower())

    @property
    def name(self) -> str:
        """Return the name of the CRD."""
        return f"{self.plural}.{self.group}"


def build_crd(inputs: CrdInputs, spec_schema: Schema, status_schema: Schema) -> KubeObject:
    """Put the CRD together; it holds the schemas it is given, not copies."""
    found: Schema = {"name": inputs.name}
    if inputs.labels:
        found["labels"] = dict(inputs.labels)
    if inputs.annotations:
        found["annotations"] = dict(inputs.annotations)
    names: Schema = {
        "kind": inputs.kind,
        "listKind": f"{inputs.kind}List",
        "plural": inputs.plural,
        "singular": inputs.kind.lower(),
    }
    if inputs.short_names:
        names["shortNames"] = list(inputs.short_names)
    if inputs.categories:
        names["categories"] = list(inputs.categories)
    # What every instance reports; a status field of the author with the same name wins.
    texts = ("type", "status", "reason", "message", "lastTransitionTime")
    fields: Schema = {name: {"type": "string"} for name in texts}
    fields["observedGeneration"] = {"type": "integer"}
    reported = {
        "state": {"type": "string"},
        "conditions": {"type": "array", "items": {"type": "object", "properties": fields}},
    }
    root = {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": spec_schema,
            "status": {
                "type": "object",
                **status_schema,
                "properties": {**reported, **status_schema.get("properties", {})},
            },
        },
    }
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": found,
        "spec": {
            "group": inputs.group,
            "names": names,
            "scope": inputs.scope or "Namespaced",
            "versions": [
                {
                    "name": inputs.api_version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": root},
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [
                        dict(column) for column in inputs.printer_columns or _PRINTER_COLUMNS
                    ],
                }
            ],
        },
    }


def with_ownership(
    crd: KubeObject, definition_name: str, definition_uid: str, version: str
) -> KubeObject:
    """Return the CRD with the labels that name its definition."""
    owned = definition_labels(definition_name, definition_uid, version)
    about = crd["metadata"]
    labels = {**about.get("labels", {}), **owned}
    return {**crd, "metadata": {**about, "labels": labels}}
