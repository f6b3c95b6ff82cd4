"""
Compares a generated CRD with the one in the cluster: keep, create or update it, or reject it.

The rules and messages are kro's. One thing is better: every difference is updated, also printer
columns, labels and rules, which kro leaves as they were.
"""

from typing import Any

from kro_gitops.engine.crd.compatibility import breaking, compare, summary
from kro_gitops.engine.labels import is_kro_owned, label_value
from kro_gitops.metadata import (
    ALLOW_BREAKING_CHANGES,
    DEFINITION_NAME,
    KRO_VERSION,
)
from kube_objects.errors import RefusedError, SchemaError
from kube_objects.refs import KubeObject

# Data of the author, which is compared with its empty values.
_VERBATIM = frozenset({"default", "enum", "example"})


def changes_needed(
    live: KubeObject, desired: KubeObject, definition: KubeObject
) -> KubeObject | None:
    """Return a merge patch for a live CRD, None if it is up to date; raise if it is rejected."""
    name = desired["metadata"]["name"]
    labels = live["metadata"].get("labels") or {}
    if not is_kro_owned(labels):
        raise RefusedError(
            "foreign-crd",
            f"failed to update CRD {name}: CRD already exists and is not owned by KRO",
        )
    owner = labels.get(DEFINITION_NAME, "")
    if owner != label_value(definition["metadata"]["name"]):
        raise RefusedError(
            "foreign-crd",
            f"failed to update CRD {name}: CRD is owned by another ResourceGraphDefinition {owner}",
        )
    try:
        changes = compare(live, desired)
    except SchemaError as error:
        raise RefusedError(
            error.code, f"failed to check schema compatibility: {error.message}"
        ) from None
    allowed = (definition["metadata"].get("annotations") or {}).get(ALLOW_BREAKING_CHANGES)
    if breaking(changes) and allowed != "true":
        raise RefusedError(
            "breaking-change",
            f"cannot update CRD {name}: breaking changes detected: {summary(changes)}",
            hint=f'set the annotation {ALLOW_BREAKING_CHANGES}: "true" if that is intended',
        )
    if is_up_to_date(live, desired):
        return None
    spec = desired["spec"]
    names = {"shortNames": None, "categories": None, **spec["names"]}
    metadata = {
        section: desired["metadata"][section]
        for section in ("labels", "annotations")
        if desired["metadata"].get(section)
    }
    return {"metadata": metadata, "spec": {**spec, "names": names}}


def is_served(crd: KubeObject) -> bool:
    """Return whether the API server serves the kind."""
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(
        each.get("type") == "Established" and each.get("status") == "True" for each in conditions
    )


def served_kind_name(crd: KubeObject) -> str:
    """Return the kind by the name the API server accepted."""
    status = crd.get("status") or {}
    kind: str = (status.get("acceptedNames") or {}).get("kind") or crd["spec"]["names"]["kind"]
    return kind


def why_not_served(crd: KubeObject) -> str:
    """Return why the API server does not serve a CRD, as far as it reports that."""
    for each in (crd.get("status") or {}).get("conditions") or ():
        if each.get("type") == "NamesAccepted" and each.get("status") == "False":
            return str(each.get("message") or each.get("reason") or "its names are not accepted")
    return "it is not established yet"


def owner_of(crd: KubeObject) -> str:
    """Return the label that names a CRD's definition; empty if it is not kro's."""
    labels = crd["metadata"].get("labels") or {}
    name: str = labels.get(DEFINITION_NAME, "")
    return name if is_kro_owned(labels) else ""


def is_up_to_date(live: KubeObject, desired: KubeObject) -> bool:
    """Return whether a CRD has the desired spec, labels and annotations."""
    ours = _without_empty(desired["spec"])
    if ours != _without_empty({key: live["spec"].get(key) for key in desired["spec"]}):
        return False
    for section in ("labels", "annotations"):
        found = live["metadata"].get(section) or {}
        for key, value in (desired["metadata"].get(section) or {}).items():
            # The version that labelled it last is no reason to write.
            if key != KRO_VERSION and found.get(key) != value:
                return False
    return True


def _without_empty(value: Any) -> Any:
    """Return a schema without empty values, which the API server does not store."""
    if isinstance(value, dict):
        found = {k: v if k in _VERBATIM else _without_empty(v) for k, v in value.items()}
        return {k: v for k, v in found.items() if k in _VERBATIM or v not in (None, {}, [], "")}
    if isinstance(value, list):
        return [_without_empty(each) for each in value]
    return value
