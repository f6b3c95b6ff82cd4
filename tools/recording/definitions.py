"""CustomResourceDefinitions, as recorders put them together."""

from typing import Any

Json = dict[str, Any]
OBJECT: Json = {"type": "object"}


def version(name: str, schema: Json = OBJECT, **more: Any) -> Json:
    """Return a version of a definition, served but not stored unless `more` says so."""
    schemas = {"openAPIV3Schema": schema}
    return {"name": name, "served": True, "storage": False, "schema": schemas, **more}


def definition(group: str, scope: str, names: Json, *versions: Json) -> Json:
    """Return a CustomResourceDefinition."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{group}"},
        "spec": {"group": group, "scope": scope, "names": names, "versions": list(versions)},
    }
