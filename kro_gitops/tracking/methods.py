"""
How Argo CD marks what it applies: by annotation, by label, or both.

The cluster's setting decides what is written and, more important, what is read. In
`annotation+label` the label is decoration: only the annotation is believed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kro_gitops.metadata import ARGOCD_INSTALLATION_ID, ARGOCD_TRACKING_ID
from kro_gitops.settings.tracking_options import INSTANCE_LABEL, Method
from kro_gitops.tracking.identity import TrackingId
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


def tracking_metadata(tracking_id: TrackingId, argocd: ArgoCD) -> TrackingMetadata:
    """Return what Argo CD writes on an object of an application."""
    match argocd.method:
        case Method.LABEL:
            # Never cut: a cut name would match no application.
            return TrackingMetadata(labels={argocd.label_key: tracking_id.application})
        case Method.ANNOTATION:
            return TrackingMetadata(annotations=_ids(tracking_id, argocd))
        case Method.BOTH:
            # Cut a name to what a label may hold.
            application = tracking_id.application
            value = application[:_MAX_LABEL_LENGTH]
            while value and not (value[-1].isascii() and value[-1].isalnum()):
                value = value[:-1]
            if not value:
                raise RefusedError(
                    "invalid-application-name",
                    f"{application!r} has no letter or digit that could end a label value",
                )
            return TrackingMetadata({argocd.label_key: value}, _ids(tracking_id, argocd))


def _ids(tracking_id: TrackingId, argocd: ArgoCD) -> dict[str, str]:
    ids = {ARGOCD_TRACKING_ID: str(tracking_id)}
    if argocd.installation_id:
        ids[ARGOCD_INSTALLATION_ID] = argocd.installation_id
    return ids
