"""
Which kinds are served, and when the graph of a kind is replaced.

A kind is served while its instances are watched and reconciled by a graph. A graph replaces the
former one when all that it needs is watched: until then the former one is at work. A kind whose
definition is gone, or no longer compiles, is served without a graph: its instances are not changed,
but they can be deleted.
"""

from collections.abc import Callable
from contextlib import suppress

from kro_gitops.engine.controllers.crd_publisher import CrdPublisher, CrdWrite
from kro_gitops.engine.controllers.watches import Watches
from kro_gitops.engine.served_kind import ServedKind
from kro_gitops.errors import KroGitopsError
from kube_objects.refs import Kind


class KindServer:
    """Has the instances of kinds watched, and queues them when their graph changes."""

    def __init__(
        self,
        watches: Watches,
        publisher: CrdPublisher,
        sync_limit: float,
        wake_users: Callable[[str, str], None],
    ) -> None:
        """`wake_users` queues the definitions that use a group, except the one named."""
        self._watches = watches
        self._publisher = publisher
        self._sync_limit = sync_limit
        self._wake_users = wake_users
        self._kinds = watches.served_kinds

    def find(self, definition: str) -> ServedKind | None:
        """Return the kind that a definition serves."""
        return next((each for each in self._kinds.values() if each.definition == definition), None)

    async def serve(self, served: ServedKind) -> None:
        """
        Serve a kind by a graph; raise `NotYet` if not all that it needs can be watched.

        Then the former graph stays at work. If there is none, the new one is served all the same:
        its instances report what cannot be watched.
        """
        former = self._kinds.get(served.kind)
        problem = None
        try:
            await self._watches.serve(served, self._sync_limit)
        except KroGitopsError as error:
            problem = error
            if former is not None and former.graph is not None:
                raise
        else:
            # List instances again if the API server may have shown them by a former schema.
            write = self._publisher.take_last_write(served.crd_name)
            if write is CrdWrite.CHANGED:
                self._watches.relist(served.crd_name)
            elif former is None and write is CrdWrite.NOTHING:
                # The controller that ran before may have changed the CRD just before it ended.
                self._watches.relist_later(served.crd_name)
        self._kinds[served.kind] = served
        if not served.is_same_work(former):
            self._wake_instances(served.kind)
            self._wake_users(served.kind.group, served.definition)
        if problem is not None:
            raise problem

    async def serve_problem(self, served: ServedKind) -> None:
        """Let the instances of a kind report why there is no graph for them."""
        former = self._kinds.get(served.kind)
        self._kinds[served.kind] = served
        if former is None:
            with suppress(KroGitopsError):
                await self._watches.serve(served, self._sync_limit)
        if not served.is_same_work(former):
            self._wake_instances(served.kind)

    async def serve_deletions(self, kind: Kind, plural: str, definition: str) -> None:
        """Let instances of a kind that has no definition any more be deleted."""
        served = ServedKind(kind, plural, definition, "")
        self._kinds[kind] = served
        await self._watches.serve(served, self._sync_limit)
        # Some may wait for children that are not watched any more.
        self._wake_instances(kind)

    def count_instances(self, kind: Kind) -> int:
        """Return how many instances of a kind exist."""
        return len(self._watches.instances(kind))

    def stop(self, kind: Kind) -> None:
        """Stop serving a kind whose instances are all gone."""
        self._kinds.pop(kind, None)
        self._watches.stop_serving(kind)

    def _wake_instances(self, kind: Kind) -> None:
        router = self._watches.router
        lost = (ref for ref in router.lost if ref.kind == kind)
        for ref in (*self._watches.instances(kind), *lost):
            router.wake(ref)
