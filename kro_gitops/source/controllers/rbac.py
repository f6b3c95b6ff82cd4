"""
The permissions that a service account lacks for a source, as one Role to apply.

Checked after the API server denied something: a dry run of every object has just shown it. The
answer covers all kinds and namespaces of the source, and the kinds of its instances' children, so
that the permissions can be granted at once.
"""

from collections.abc import Iterable

import orjson

from kro_gitops.errors import KroGitopsError
from kro_gitops.kube.access_review import AccessReviewer
from kro_gitops.kube.api import Identity
from kro_gitops.source.controllers.context import EngineCache
from kro_gitops.source.plan.desired import Desired
from kro_gitops.source.plan.result import NOTHING, Fault, SyncResult
from kube_objects.refs import Kind

_FORBIDDEN = "forbidden"
_VERBS = ("get", "create", "patch")
_CHILD_VERBS = (*_VERBS, "delete")


class MissingPermissions:
    """Finds the permissions that are missing."""

    def __init__(self, access: AccessReviewer, engine: EngineCache) -> None:
        self._access = access
        self._engine = engine

    async def explain(
        self,
        result: SyncResult,
        identity: Identity | None,
        desired: Iterable[Desired],
        *,
        prunes: bool,
    ) -> SyncResult:
        """Return a fault with the missing Role, if permissions are what is missing."""
        if not any(fault.code == _FORBIDDEN for fault in result.failures):
            return NOTHING
        verbs = (*_VERBS, "delete") if prunes else _VERBS
        needed: set[tuple[str, Kind, str]] = set()
        for each in desired:
            ref = each.ref
            needed |= {(verb, ref.kind, ref.namespace) for verb in verbs}
            if self._engine.is_instance(ref.kind):
                for kind in self._engine.child_kinds(ref.kind):
                    needed |= {(verb, kind, ref.namespace) for verb in _CHILD_VERBS}
        try:
            role = await self._access.missing(identity, sorted(needed))
        except KroGitopsError as error:
            warning = Fault(error.code, f"rights not checked: {error.message}")
            return SyncResult(warnings=(warning,))
        if role is None:
            return NOTHING
        who = identity.user if identity is not None else "the controller"
        text = f"{who} lacks rights; this would grant them: {orjson.dumps(role).decode()}"
        return SyncResult(failures=(Fault("missing-rights", text),))
