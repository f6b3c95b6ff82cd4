"""
What the controllers tell whoever counts.

The engine knows no metrics; it says what happened, and an observer makes of it what it likes.
"""

from collections.abc import Iterable

from kro_gitops.engine.plan.instance import Pass
from kube_objects.conditions import Condition
from kube_objects.refs import Kind, ObjectRef


class Observer:
    """Whoever wants to know what the engine does; this one does not care."""

    def child_applied(self, kind: Kind, *, is_repair: bool) -> None:
        """Hear that a child was made or changed; a repair undoes what somebody else did."""

    def state_changed(self, instance: ObjectRef, before: str, after: str) -> None:
        """Hear that an instance is in another state."""

    def conditions_written(
        self, instance: ObjectRef, plural: str, conditions: Iterable[Condition]
    ) -> None:
        """Hear what an instance reports."""

    def instance_gone(self, instance: ObjectRef, plural: str) -> None:
        """Hear that there is nothing left to report."""

    def graph_resolved(self, instance: ObjectRef, plural: str, outcome: str) -> None:
        """Hear whether an instance had a graph: `success`, `pending` or why not."""

    def passed(self, run: Pass, seconds: float) -> None:
        """Hear that a pass went through a graph, and how long that took but for requests."""

    def schema_asked(self, *, was_known: bool) -> None:
        """Hear that a definition needed the schema of a kind."""

    def instance_heard(self, kind: Kind, event: str) -> None:
        """Hear that an instance was added, updated or deleted: `add`, `update`, `delete`."""

    def change_routed(self, kind: Kind, *, woke: bool) -> None:
        """Hear that a child, or an object that instances look at, changed."""

    def graph_built(self, definition: str, seconds: float, *, succeeded: bool) -> None:
        """Hear that a definition was compiled."""

    def revision_issued(self, reason: str) -> None:
        """Hear that a definition's spec was kept: `no_revision` or `spec_changed`."""

    def revisions_collected(self, count: int) -> None:
        """Hear that old revisions were deleted."""

    def definition_changed(self, definition: str, before: str, after: str) -> None:
        """Hear that a definition is in another state."""

    def definition_deleted(self, definition: str, seconds: float) -> None:
        """Hear that a definition is gone."""
