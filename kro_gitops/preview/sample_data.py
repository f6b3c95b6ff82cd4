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

from kro_gitops.engine.plan.offline import CompleteObject
from kube_objects.refs import KubeObject, ObjectRef


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

    def laid_over(self, node: str, made: KubeObject, index: int) -> KubeObject:
        """
        Return the object that a node makes or reads, with what is given of it.

        An object that is given with a uid takes its place: the API server gives every object one,
        so this is a complete object.
        """
        found = self.by_ref.get(ObjectRef.of(made)) if self.by_ref else None
        if found is not None and (found.get("metadata") or {}).get("uid"):
            return CompleteObject(found)
        given = found if found is not None else self.by_node.get(node)
        if isinstance(given, list):
            given = given[index] if index < len(given) else None
        if not isinstance(given, dict):
            return made
        merged: KubeObject = _merged(made, given)
        return merged

    def collection(self, node: str) -> list[KubeObject] | None:
        """Return the objects a selector finds, if they were given."""
        given = self.by_node.get(node)
        return given if isinstance(given, list) else None


def _merged(known: Any, given: Any) -> Any:
    """Lay what is given over what is known, map by map."""
    if not isinstance(known, dict) or not isinstance(given, dict):
        return given
    result = dict(known)
    for key, value in given.items():
        result[key] = _merged(known[key], value) if key in known else value
    return result
