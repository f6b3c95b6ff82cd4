"""
The sandbox's API server as a function in this process: whether it would accept an object.

It is a server of one Kubernetes version without admission plugins, policies or other objects.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from kro_gitops.kube.responses import ApiError, error_of_status, parse_status
from kube_objects.refs import KubeObject

if TYPE_CHECKING:
    from kube_sandbox import DryRun


def offline_api() -> Callable[[KubeObject], ApiError | None] | None:
    """Return what rejects objects as an API server does; None if the sandbox is not installed."""
    if find_spec("kube_sandbox") is None:
        return None  # as in the container image
    return _OfflineApi().error_of


class _OfflineApi:
    """An API server that is asked whether it would accept objects, and stores none."""

    def __init__(self) -> None:
        self._dry_run: DryRun | None = None

    def error_of(self, obj: KubeObject) -> ApiError | None:
        """Return the error that an object is rejected with; None if it would be accepted."""
        if self._dry_run is None:
            # Hundreds of modules, and many repositories have nothing to send.
            self._dry_run = import_module("kube_sandbox").DryRun()
        status = self._dry_run.refusal_of(obj)
        return error_of_status(parse_status(status)) if status is not None else None
