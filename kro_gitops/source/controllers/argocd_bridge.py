"""
Objects that an Argo CD application shows, though we apply them.

The application is read before every sync: one that syncs something else by itself would undo what
we apply, and is rejected.
"""

from collections.abc import Mapping

from kro_gitops.kube.api import Reader
from kro_gitops.source.api.types import SourceSpec, TrackingMode, WantedRef
from kro_gitops.source.controllers.state import Fetched
from kro_gitops.source.plan.model import Marker, no_marks
from kro_gitops.tracking.argocd_applications import application_conflict, argocd_metadata
from kro_gitops.tracking.methods import ArgoCD, TrackingMetadata
from kube_objects.errors import RefusedError
from kube_objects.refs import Kind, ObjectRef

_APPLICATION = Kind("argoproj.io", "v1alpha1", "Application")


async def application_marks(
    reader: Reader, spec: SourceSpec, fetched: Fetched, argocd: ArgoCD
) -> Marker:
    """Return how objects are marked for the application; raise RefusedError if it forbids that."""
    tracking = spec.tracking
    if tracking.mode is not TrackingMode.BRIDGE:
        return no_marks
    namespace, _, name = tracking.application.rpartition("/")
    place = namespace or tracking.argocd_namespace
    application = await reader.find(ObjectRef(_APPLICATION, place, name))
    revision = "" if spec.ref == WantedRef() else fetched.chosen.name
    why = application_conflict(application, url=spec.url, revision=revision, paths=spec.paths)
    if why or application is None:
        raise RefusedError("bridge-refused", f"application {place}/{name}: {why}")

    def marks(ref: ObjectRef, annotations: Mapping[str, str]) -> TrackingMetadata:
        return argocd_metadata(
            application,
            ref,
            annotations,
            argocd=argocd,
            argocd_namespace=tracking.argocd_namespace,
        )

    return marks
