"""
Objects that an Argo CD application shall show, though we apply them.

The application is looked at before every sync: one that applies something else by itself would
undo what we do, and is refused.
"""

from collections.abc import Callable, Mapping

from kro_gitops.kube.api import Reader
from kro_gitops.source.controllers.registry import Held
from kro_gitops.source.spec import SourceSpec, TrackingMode, WantedRef
from kro_gitops.tracking.argocd_applications import application_conflict, argocd_marks
from kro_gitops.tracking.methods import ArgoCD, TrackingMetadata
from kube_objects.errors import RefusedError
from kube_objects.refs import Kind, ObjectRef

_APPLICATION = Kind("argoproj.io", "v1alpha1", "Application")

Extra = Callable[[ObjectRef, Mapping[str, str]], TrackingMetadata]


def nothing(_ref: ObjectRef, _annotations: Mapping[str, str]) -> TrackingMetadata:
    """Add no marks."""
    return TrackingMetadata()


class Bridges:
    """Finds out which marks an application wants."""

    def __init__(self, reader: Reader, argocd: ArgoCD) -> None:
        self._reader = reader
        self._argocd = argocd

    async def extra(self, held: Held, spec: SourceSpec) -> Extra:
        """Return what to add to each object of a source; raise if the application forbids it."""
        tracking = spec.tracking
        if tracking.mode is not TrackingMode.BRIDGE:
            return nothing
        namespace, _, name = tracking.application.rpartition("/")
        place = namespace or tracking.argocd_namespace
        found = await self._reader.find(ObjectRef(_APPLICATION, place, name))
        is_head = spec.ref == WantedRef()
        revision = held.fetched.chosen.name if held.fetched and not is_head else ""
        why = application_conflict(found, url=spec.url, revision=revision, paths=spec.paths)
        if why or found is None:
            raise RefusedError("bridge-refused", f"application {place}/{name}: {why}")
        application = found

        def extra(ref: ObjectRef, annotations: Mapping[str, str]) -> TrackingMetadata:
            return argocd_marks(
                application,
                ref,
                annotations,
                argocd=self._argocd,
                argocd_namespace=tracking.argocd_namespace,
            )

        return extra
