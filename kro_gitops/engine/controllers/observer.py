"""
The hook through which the controllers report what they did.

The engine does not know metrics; `app.observers` implements this interface with them.
"""

from collections.abc import Iterable

from kro_gitops.engine.plan.instance import Pass
from kube_objects.conditions import Condition
from kube_objects.refs import Kind, ObjectRef


class Observer:
    """Receives what the engine does; this implementation ignores it."""

    def child_applied(self, kind: Kind, *, is_repair: bool) -> None:
        """Called when a child was applied; a repair undoes the change of another field manager."""

    def repair_delayed(self, kind: Kind) -> None:
        """Called when a child was applied that another client keeps changing: repairs back off."""

    def state_changed(self, instance: ObjectRef, before: str, after: str) -> None:
        """Called when an instance is in another state."""

    def conditions_written(
        self, instance: ObjectRef, plural: str, conditions: Iterable[Condition]
    ) -> None:
        """Called when the conditions of an instance were written."""

    def instance_gone(self, instance: ObjectRef, plural: str) -> None:
        """Called when an instance no longer exists."""

    def graph_resolved(self, instance: ObjectRef, plural: str, outcome: str) -> None:
        """Called when an instance's graph was looked up: `success`, `pending` or the reason."""

    def passed(self, run: Pass, seconds: float) -> None:
        """Called after a pass over a graph; `seconds` excludes requests."""

    def evaluated(self, instance: ObjectRef, plural: str, seconds: float) -> None:
        """Called after a reconcile, with the CPU time of the instance's expressions."""

    def evaluation_stopped(self, instance: ObjectRef, plural: str) -> None:
        """Called when the expressions of an instance exceeded their time limit."""

    def schema_asked(self, *, was_known: bool) -> None:
        """Called when a definition needed the schema of a kind."""

    def schema_fetched(self, seconds: float, *, succeeded: bool) -> None:
        """Called when a schema was requested from the API server."""

    def schema_evicted(self) -> None:
        """Called when the schemas of a CRD that is gone were dropped."""

    def schemas_cached(self, crds: int) -> None:
        """Called when the number of CRDs in the schema cache changed."""

    def handler_attached(self, type_: str) -> None:
        """Called when an informer was started: `parent` for instances, else `child`."""

    def handler_detached(self, type_: str) -> None:
        """Called when an informer was stopped."""

    def informer_synced(self, kind: Kind, seconds: float) -> None:
        """Called once for each informer, when its first list is complete."""

    def instance_event(self, kind: Kind, event: str) -> None:
        """Called when an instance was added, updated or deleted: `add`, `update`, `delete`."""

    def change_routed(self, kind: Kind, *, woke: bool) -> None:
        """Called when a child, or an object that instances look at, changed."""

    def graph_built(self, definition: str, seconds: float, *, succeeded: bool) -> None:
        """Called when a definition was compiled."""

    def revision_issued(self, reason: str) -> None:
        """Called when a GraphRevision was created: `no_revision` or `spec_changed`."""

    def revisions_collected(self, count: int) -> None:
        """Called when old revisions were deleted."""

    def revision_gc_failed(self) -> None:
        """Called when an old revision could not be deleted."""

    def revision_status_failed(self) -> None:
        """Called when the status of a revision could not be written."""

    def revision_released(self) -> None:
        """Called when the finalizer of a deleted revision was removed."""

    def graphs_evicted(self, count: int) -> None:
        """Called when compiled graphs that nothing needs any more were dropped."""

    def definition_changed(self, definition: str, before: str, after: str) -> None:
        """Called when a definition is in another state."""

    def definition_deleted(self, definition: str, seconds: float) -> None:
        """Called when a definition is gone."""
