"""
Data that stands in for a cluster when rendering.

Two forms, freely mixed in one file: objects as a cluster would return them (they have
`apiVersion` and `kind`, and are matched to children by kind, namespace and name), and a mapping
from node id to whatever is known of it:

    deployment:
      status: {readyReplicas: 3}
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kube_objects.refs import KubeObject, ObjectRef


@dataclass(frozen=True, slots=True)
class Live:
    """What is known of one object; `is_whole` when absent fields are known to be absent."""

    object: KubeObject
    is_whole: bool


@dataclass(slots=True)
class LiveData:
    """Everything that was given, by node and by object."""

    by_node: dict[str, Any] = field(default_factory=dict)
    by_ref: dict[ObjectRef, KubeObject] = field(default_factory=dict)

    @classmethod
    def of_documents(cls, documents: Iterable[Any]) -> "LiveData":
        """Sort documents into the two forms; a list of objects is taken apart."""
        data = cls()
        for document in documents:
            if isinstance(document, dict):
                data._add(document)
        return data

    def _add(self, document: KubeObject) -> None:
        if "apiVersion" not in document or "kind" not in document:
            self.by_node.update(document)
        elif isinstance(document.get("items"), list) and str(document["kind"]).endswith("List"):
            for item in document["items"]:
                if isinstance(item, dict):
                    self._add(item)
        else:
            self.by_ref[ObjectRef.of(document)] = document

    def of(self, node: str, made: KubeObject, index: int) -> Live | None:
        """Return what is known of the object a node makes or reads."""
        found = self.by_ref.get(ObjectRef.of(made)) if self.by_ref else None
        if found is not None:
            # The API server gives every object a uid: with one, this is a whole object.
            is_whole = bool((found.get("metadata") or {}).get("uid"))
            return Live(found, is_whole)
        given = self.by_node.get(node)
        if isinstance(given, list):
            given = given[index] if index < len(given) else None
        return Live(given, is_whole=False) if isinstance(given, dict) else None

    def collection(self, node: str) -> list[KubeObject] | None:
        """Return the objects a selector finds, if they were given."""
        given = self.by_node.get(node)
        return given if isinstance(given, list) else None
