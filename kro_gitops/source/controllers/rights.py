"""
Which rights an account lacks for all that a source wants, as one Role to apply.

Asked when the API server forbade something: a rehearsal of everything has just shown it. The answer
covers every kind and namespace of the source, and the kinds of which its instances have children,
so that whoever grants the rights does it once.
"""

from collections.abc import Iterator

import orjson

from kro_gitops.errors import KroGitopsError
from kro_gitops.kube.access_review import AccessReviewer
from kro_gitops.source.accounts import Fault
from kro_gitops.source.controllers.errands import Errand
from kro_gitops.source.controllers.gates import Known
from kro_gitops.source.controllers.registry import Registry
from kube_objects.refs import Kind

_FORBIDDEN = "forbidden"
_VERBS = ("get", "create", "patch")
_CHILD_VERBS = (*_VERBS, "delete")


class Rights:
    """Finds out what is missing."""

    def __init__(self, access: AccessReviewer, registry: Registry, known: Known) -> None:
        self._access = access
        self._registry = registry
        self._known = known

    async def explain(self, errand: Errand) -> None:
        """Add to the account which Role would help, if rights are what is missing."""
        account = errand.account
        if not any(each.code == _FORBIDDEN for each in account.failures):
            return
        identity = self._registry.identity(errand.held)
        try:
            role = await self._access.missing(identity, sorted(set(self._wanted(errand))))
        except KroGitopsError as error:
            account.warnings.append(Fault(error.code, f"rights not checked: {error.message}"))
            return
        if role is None:
            return
        who = identity.user if identity is not None else "the controller"
        text = f"{who} lacks rights; this would grant them: {orjson.dumps(role).decode()}"
        account.failures.insert(0, Fault("missing-rights", text))

    def _wanted(self, errand: Errand) -> Iterator[tuple[str, Kind, str]]:
        verbs = (*_VERBS, "delete") if errand.spec.prune else _VERBS
        for made in errand.held.made.values():
            ref = made.ref
            yield from ((verb, ref.kind, ref.namespace) for verb in verbs)
            if self._known.is_instance(ref.kind):
                for kind in self._known.child_kinds(ref.kind):
                    yield from ((verb, kind, ref.namespace) for verb in _CHILD_VERBS)
