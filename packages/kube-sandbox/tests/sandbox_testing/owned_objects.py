"""Objects with owners, as small as they can be."""

from typing import Any


def config_map(name: str, *owners: Any, **metadata: Any) -> Any:
    """Make a ConfigMap with owners."""
    references = {"ownerReferences": list(owners)} if owners else {}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **references, **metadata},
    }


def ref(owner: Any, **more: Any) -> dict[str, Any]:
    """Make a reference to an owner."""
    metadata = owner["metadata"]
    found = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"]}
    return {**found, "uid": metadata["uid"], **more}
