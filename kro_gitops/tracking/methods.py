"""
How Argo CD marks what it applies: by annotation, by label, or both.

The cluster's setting decides what is written and, more important, what is read. In
`annotation+label` the label is decoration: only the annotation is believed.

`application_of` says whom Argo CD would believe an object to belong to, if it asked. It asks only
about objects without owner references.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kro_gitops.metadata import ARGOCD_INSTALLATION_ID, ARGOCD_TRACKING_ID
from kro_gitops.settings.tracking_options import INSTANCE_LABEL, Method
from kro_gitops.tracking.identity import TrackingId, parse_tracking_id
from kube_objects.errors import RefusedError

_MAX_LABEL_LENGTH = 63


@dataclass(frozen=True, slots=True)
class ArgoCD:
    """The settings of an Argo CD that concern tracking; without access, its defaults."""

    method: Method = Method.ANNOTATION
    label_key: str = INSTANCE_LABEL
    installation_id: str = ""


@dataclass(frozen=True, slots=True)
class TrackingMetadata:
    """Labels and annotations of one object, or to be put on one."""

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


def application_of(marks: TrackingMetadata, argocd: ArgoCD) -> str | None:
    """Return the application Argo CD believes an ownerless object to belong to."""
    if argocd.method.reads_label:
        return marks.labels.get(argocd.label_key) or None
    # Up to 3.5 an Argo CD without an id ignores objects that carry one; later ones claim them.
    installation = marks.annotations.get(ARGOCD_INSTALLATION_ID, "")
    if argocd.installation_id and installation != argocd.installation_id:
        return None
    found = parse_tracking_id(marks.annotations.get(ARGOCD_TRACKING_ID, ""))
    return found.application or None if found else None


def tracking_metadata(tracking_id: TrackingId, argocd: ArgoCD) -> TrackingMetadata:
    """Return what Argo CD writes on an object of an application."""
    match argocd.method:
        case Method.LABEL:
            # Never cut: a cut name would match no application.
            return TrackingMetadata(labels={argocd.label_key: tracking_id.application})
        case Method.ANNOTATION:
            return TrackingMetadata(annotations=_ids(tracking_id, argocd))
        case Method.BOTH:
            value = _fitting_label(tracking_id.application)
            return TrackingMetadata({argocd.label_key: value}, _ids(tracking_id, argocd))


def _ids(tracking_id: TrackingId, argocd: ArgoCD) -> dict[str, str]:
    ids = {ARGOCD_TRACKING_ID: str(tracking_id)}
    if argocd.installation_id:
        ids[ARGOCD_INSTALLATION_ID] = argocd.installation_id
    return ids


def _fitting_label(application: str) -> str:
    """Cut a name to what a label may hold; the end must be a letter or a digit."""
    cut = application[:_MAX_LABEL_LENGTH]
    while cut and not (cut[-1].isascii() and cut[-1].isalnum()):
        cut = cut[:-1]
    if not cut:
        raise RefusedError(
            "invalid-application-name",
            f"{application!r} has no letter or digit that could end a label value",
        )
    return cut
