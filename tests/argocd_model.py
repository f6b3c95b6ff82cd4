"""
What Argo CD would do with an object that is not in git: a small model of its rules.

Taken from how Argo CD decides, not from how we stamp: the cluster cache gives an application only
to objects without owner references; a sync prunes those that are «self-referenced»; deleting an
application deletes all of them, except where an option on the object says no.
"""

from dataclasses import dataclass
from typing import Any

_TRACKING_ID = "argocd.argoproj.io/tracking-id"
_INSTALLATION_ID = "argocd.argoproj.io/installation-id"
_OPTIONS = "argocd.argoproj.io/sync-options"


@dataclass(frozen=True)
class Expected:
    managed: bool  # belongs to an application, so its health counts
    sync: str  # "", "OutOfSync"
    prune: bool
    cascade_delete: bool
    shown_under: str  # "owner", "application", "nobody"


def expected_argocd(
    obj: dict[str, Any],
    method: str,
    installation_id: str = "",
    label_key: str = "app.kubernetes.io/instance",
) -> Expected:
    """Say what becomes of a live object that is in no repository."""
    metadata = obj["metadata"]
    if metadata.get("ownerReferences"):
        return Expected(False, "", False, False, "owner")
    application = _application(metadata, method, installation_id, label_key)
    if not application:
        return Expected(False, "", False, False, "nobody")
    options = {each.strip() for each in _annotations(metadata).get(_OPTIONS, "").split(",")}
    is_extraneous = method == "label" or _names_itself(obj)
    return Expected(
        managed=True,
        sync="OutOfSync" if is_extraneous else "",
        prune=is_extraneous and not options & {"Prune=false", "Prune=confirm"},
        cascade_delete=not options & {"Delete=false", "Delete=confirm"},
        shown_under="application",
    )


def _application(
    metadata: dict[str, Any], method: str, installation_id: str, label_key: str
) -> str:
    if method == "label":
        return str(metadata.get("labels", {}).get(label_key, ""))
    annotations = _annotations(metadata)
    # As after 3.5: one without an id of its own asks nobody for theirs.
    if installation_id and annotations.get(_INSTALLATION_ID) != installation_id:
        return ""
    parts = annotations.get(_TRACKING_ID, "").split(":", 2)
    readable = len(parts) == 3 and parts[1].count("/") == 1 and parts[2].count("/") == 1
    return parts[0] if readable else ""


def _names_itself(obj: dict[str, Any]) -> bool:
    metadata = obj["metadata"]
    _, kind, place = _annotations(metadata)[_TRACKING_ID].split(":", 2)
    namespace, name = place.split("/")
    group = obj["apiVersion"].rpartition("/")[0]
    lives_in = metadata.get("namespace", "")
    return (
        kind == f"{group}/{obj['kind']}"
        and name == metadata["name"]
        and (not lives_in or namespace == lives_in)
    )


def _annotations(metadata: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = metadata.get("annotations", {})
    return found
