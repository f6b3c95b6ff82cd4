"""
What an object in the cluster says about being pruned.

Our own words, and those of the tools that may have kept it before:

| annotation | value | meaning |
|---|---|---|
| `gitops.kro.run/prune` | `disabled`, or a word that we do not know | no |
| | `confirm` | once `gitops.kro.run/prune-approved` names the revision, or its commit |
| | `enabled` | yes, and also if others go with it: wanted on Namespaces and CRDs |
| `argocd.argoproj.io/sync-options` | `Prune=false` | no |
| | `Prune=confirm` | as above: approved for us, not for Argo CD |
| `kustomize.toolkit.fluxcd.io/prune` | `disabled` (a label, too) | no |
| `helm.sh/resource-policy` | `keep` | no |

One no is enough, whoever says yes. Of a commit, seven digits will do.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kro_gitops.metadata import ARGOCD_SYNC_OPTIONS, PRUNE, PRUNE_APPROVED
from kube_objects.refs import KubeObject

_FLUX_PRUNE = "kustomize.toolkit.fluxcd.io/prune"
_HELM_POLICY = "helm.sh/resource-policy"
_ENABLED = ("enabled", "true")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")


@dataclass(frozen=True, slots=True)
class Wishes:
    """Labels and annotations of a live object, and its uid."""

    uid: str
    labels: Mapping[str, Any]
    annotations: Mapping[str, Any]

    @classmethod
    def of(cls, live: KubeObject) -> "Wishes":
        """Read them off."""
        metadata = _mapping(live.get("metadata"))
        labels, annotations = metadata.get("labels"), metadata.get("annotations")
        return cls(str(metadata.get("uid") or ""), _mapping(labels), _mapping(annotations))


def opted_out(wishes: Wishes, revision: str) -> str:
    """Return why an object is not to be pruned; empty if it does not mind."""
    ours = _says(wishes, PRUNE)
    options = _argocd_options(wishes)
    if _says(wishes, _FLUX_PRUNE) == "disabled" or _label(wishes, _FLUX_PRUNE) == "disabled":
        return f"it says {_FLUX_PRUNE}: disabled"
    if _says(wishes, _HELM_POLICY) == "keep":
        return f"it says {_HELM_POLICY}: keep"
    if "prune=false" in options:
        return f"it says {ARGOCD_SYNC_OPTIONS}: Prune=false"
    if ours and ours not in (*_ENABLED, "confirm"):
        return f"it says {PRUNE}: {wishes.annotations[PRUNE]}"
    if (ours == "confirm" or "prune=confirm" in options) and not _is_approved(wishes, revision):
        return f"it waits for approval: annotate it {PRUNE_APPROVED}: {_commit(revision)}"
    return ""


def asks_for_it(wishes: Wishes, revision: str) -> bool:
    """Say whether an object is to go even though it takes others along."""
    return _says(wishes, PRUNE) in _ENABLED or _is_approved(wishes, revision)


def _is_approved(wishes: Wishes, revision: str) -> bool:
    approved = wishes.annotations.get(PRUNE_APPROVED)
    if not isinstance(approved, str) or not approved or not revision:
        return False
    if approved == revision:
        return True
    short = _commit(approved.strip())
    return _COMMIT.fullmatch(short) is not None and _commit(revision).startswith(short)


def _commit(revision: str) -> str:
    """Return the commit in `main@sha1:…`, or what is a commit already."""
    return revision.rpartition(":")[2]


def _says(wishes: Wishes, key: str) -> str:
    return _word(wishes.annotations.get(key))


def _label(wishes: Wishes, key: str) -> str:
    return _word(wishes.labels.get(key))


def _word(value: object) -> str:
    return "" if value is None else str(value).strip().lower()


def _argocd_options(wishes: Wishes) -> frozenset[str]:
    written = _says(wishes, ARGOCD_SYNC_OPTIONS)
    return frozenset("".join(option.split()) for option in written.split(","))


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
