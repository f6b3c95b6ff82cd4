"""
A generated CRD against the one in the cluster: leave it, create it, change it, or refuse.

The rules and words are kro's. One thing is better: whatever differs is put right, also printer
columns, labels and rules, which kro leaves as they were.
"""

from collections.abc import Mapping
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

# Data of the author's, in which nothing is empty by accident.
_VERBATIM = frozenset({"default", "enum", "example"})


def changes_needed(
    live: KubeObject, wanted: KubeObject, definition: KubeObject
) -> KubeObject | None:
    """Return what must be changed of a live CRD (a merge patch), `None` if nothing; or refuse."""
    name = wanted["metadata"]["name"]
    _reject_foreign(live, definition["metadata"]["name"])
    try:
        changes = compare(live, wanted)
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
    if is_up_to_date(live, wanted):
        return None
    spec = wanted["spec"]
    names = {"shortNames": None, "categories": None, **spec["names"]}
    metadata = {
        section: wanted["metadata"][section]
        for section in ("labels", "annotations")
        if wanted["metadata"].get(section)
    }
    return {"metadata": metadata, "spec": {**spec, "names": names}}


def is_served(crd: KubeObject) -> bool:
    """Return whether the API server takes objects of the kind."""
    return _condition(crd, "Established") == "True"


def served_kind_name(crd: KubeObject) -> str:
    """Return the kind by the name the API server accepted."""
    status = crd.get("status") or {}
    kind: str = (status.get("acceptedNames") or {}).get("kind") or crd["spec"]["names"]["kind"]
    return kind


def why_not_served(crd: KubeObject) -> str:
    """Return what the API server has against a CRD, if it says so."""
    for each in (crd.get("status") or {}).get("conditions") or ():
        if each.get("type") == "NamesAccepted" and each.get("status") == "False":
            return str(each.get("message") or each.get("reason") or "its names are not accepted")
    return "it is not established yet"


def owner_of(crd: KubeObject) -> str:
    """Return the label that names a CRD's definition; empty if it is not kro's."""
    labels = crd["metadata"].get("labels") or {}
    name: str = labels.get(DEFINITION_NAME, "")
    return name if is_kro_owned(labels) else ""


def _reject_foreign(live: KubeObject, definition: str) -> None:
    name = live["metadata"]["name"]
    labels = live["metadata"].get("labels") or {}
    if not is_kro_owned(labels):
        raise RefusedError(
            "foreign-crd",
            f"failed to update CRD {name}: CRD already exists and is not owned by KRO",
        )
    owner = labels.get(DEFINITION_NAME, "")
    if owner != label_value(definition):
        raise RefusedError(
            "foreign-crd",
            f"failed to update CRD {name}: CRD is owned by another ResourceGraphDefinition {owner}",
        )


def is_up_to_date(live: KubeObject, wanted: KubeObject) -> bool:
    """Return whether a CRD is served as it should be."""
    ours = _without_empty(wanted["spec"])
    theirs = _without_empty({key: live["spec"].get(key) for key in wanted["spec"]})
    return ours == theirs and all(
        _includes(live["metadata"].get(section), wanted["metadata"].get(section))
        for section in ("labels", "annotations")
    )


def _includes(live: Mapping[str, str] | None, wanted: Mapping[str, str] | None) -> bool:
    # Which version labelled it last is no reason to write.
    found = live or {}
    return all(
        found.get(key) == value for key, value in (wanted or {}).items() if key != KRO_VERSION
    )


def _without_empty(value: Any) -> Any:
    """Return a schema without what is empty, which the server does not keep."""
    if isinstance(value, dict):
        found = {k: v if k in _VERBATIM else _without_empty(v) for k, v in value.items()}
        return {k: v for k, v in found.items() if k in _VERBATIM or v not in (None, {}, [], "")}
    if isinstance(value, list):
        return [_without_empty(each) for each in value]
    return value


def _condition(crd: KubeObject, type_: str) -> str:
    for each in (crd.get("status") or {}).get("conditions") or ():
        if each.get("type") == type_:
            return str(each.get("status"))
    return ""
