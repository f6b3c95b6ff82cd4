"""
A namespace that comes or goes: furnished before anything is asked of it, and empty before it ends.

Follows kubernetes 1.35 pkg/registry/core/namespace/storage/storage.go REST.Delete;
pkg/controller/serviceaccount/serviceaccounts_controller.go
ServiceAccountsController.syncNamespace;
pkg/controller/certificates/rootcacertpublisher/publisher.go Publisher.syncNamespace.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import orjson

from kube_objects.refs import KubeObject
from kube_objects.times import format_time
from kube_sandbox.api_errors import StatusError
from kube_sandbox.controllers.client_interface import ControllerClient
from kube_sandbox.controllers.workloads import namespace_steps
from kube_sandbox.controllers.workloads.plan_steps import Create
from kube_sandbox.storage.records import Change

BUCKET = "namespaces"
_MANAGER = "kube-controller-manager"


def delete_namespace(namespace: KubeObject, now: datetime) -> bool:
    """Begin to delete a namespace: change it, and return whether a finalizer keeps it."""
    metadata = namespace["metadata"]
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = format_time(now)
        namespace.setdefault("status", {})["phase"] = "Terminating"
        return True
    return bool(namespace.get("spec", {}).get("finalizers"))


@dataclass(frozen=True, slots=True)
class NamespaceInitializer:
    """
    Has the account that pods need in a new namespace before the first of them can come.

    A real API server lets a pod wait a second or two for that account; nothing waits here, and
    other controllers may have much to do. They put back what gets lost later.
    """

    actor: ControllerClient
    authority: str  # the CA's certificate
    soon: Callable[[Callable[[], None]], None]  # does something before the next request

    def on_change(self, change: Change) -> None:
        """Handle a change of the store."""
        if change.bucket == BUCKET and change.before is None:
            self.soon(partial(self._furnish, orjson.loads(change.record.value)))

    def _furnish(self, namespace: KubeObject) -> None:
        """Create what every namespace starts with: the default service account, the root CA."""
        for step in namespace_steps.missing_initial_objects(namespace, {}, self.authority):
            # Another client may have created it, or the namespace is being deleted.
            with suppress(StatusError):
                assert isinstance(step, Create), "nothing is in it yet"
                self.actor.create(_MANAGER, step.bucket, step.obj)
