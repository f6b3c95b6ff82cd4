"""
From a schema to a CustomResourceDefinition: what every CRD of ours has in common.

A schema says what may stand where and is used without a cluster, too. A CRD wants more: a text for
every field that `kubectl explain` shows, rules of the API server, and names for kubectl.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kube_objects.refs import Kind, KubeObject

Schema = dict[str, Any]

ITEM = "[]"  # how the path of a list's items ends
VALUE = "{}"  # how the path of a map's values ends


@dataclass(frozen=True, slots=True)
class CrdNames:
    """What kubectl calls a kind; `kubectl get CATEGORY` shows all kinds of a category."""

    plural: str
    short: str
    categories: tuple[str, ...] = ()


def with_descriptions(
    schema: Schema, texts: Mapping[str, str], rules: Mapping[str, Schema], path: str = ""
) -> Schema:
    """Return a copy of a schema with texts and further rules, each at its path."""
    if path == "metadata":
        return {"type": "object"}  # the API server has its own idea of it and wants no other
    text = {"description": texts[path]} if path in texts else {}
    made: Schema = {**text, **schema, **rules.get(path, {})}
    if "properties" in schema:
        start = f"{path}." if path else ""
        made["properties"] = {
            name: with_descriptions(part, texts, rules, start + name)
            for name, part in schema["properties"].items()
        }
    if "items" in schema:
        made["items"] = with_descriptions(schema["items"], texts, rules, path + ITEM)
    if isinstance(schema.get("additionalProperties"), dict):
        values = with_descriptions(schema["additionalProperties"], texts, rules, path + VALUE)
        made["additionalProperties"] = values
    return made


def crd_version(
    kind: Kind, schema: Schema, columns: tuple[Schema, ...], *, has_status: bool = True
) -> Schema:
    """Return the one version under which a kind is served and stored."""
    return {
        "name": kind.version,
        "served": True,
        "storage": True,
        **({"subresources": {"status": {}}} if has_status else {}),
        "additionalPrinterColumns": [dict(column) for column in columns],
        "schema": {"openAPIV3Schema": schema},
    }


def crd_object(kind: Kind, names: CrdNames, served: Schema, scope: str = "Cluster") -> KubeObject:
    """Return the CRD of a kind with one version."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "scope": scope,
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": names.plural,
                "singular": kind.kind.lower(),
                "shortNames": [names.short],
                **({"categories": list(names.categories)} if names.categories else {}),
            },
            "versions": [served],
        },
    }
