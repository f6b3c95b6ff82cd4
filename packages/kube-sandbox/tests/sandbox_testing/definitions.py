"""Definitions that tests begin with."""

from typing import Any

GROUP = "example.com"
Schema = dict[str, Any]


def definition(schema: Schema, *more: dict[str, Any], **version: Any) -> dict[str, Any]:
    """Make a definition of the kind Thing: its first version, and more."""
    first = {"name": "v1", "served": True, "storage": True}
    versions = [{**first, "schema": {"openAPIV3Schema": schema}, **version}, *more]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": "Thing", "plural": "things"},
            "versions": versions,
        },
    }


def spec(**properties: Schema) -> Schema:
    """Make the schema of an object whose spec has fields."""
    return {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": properties}},
    }


def thing(body: Any = None, version: str = "v1", **more: Any) -> dict[str, Any]:
    """Make an object."""
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Thing",
        "metadata": {"name": "one"},
        "spec": {} if body is None else body,
        **more,
    }
