"""
A source that goes: what it made goes first, if that is its policy, then our finalizer.
"""

from kro_gitops.control.outcome import DONE, Result
from kro_gitops.errors import KroGitopsError
from kro_gitops.metadata import SOURCE_FINALIZER
from kro_gitops.source import status
from kro_gitops.source.accounts import Account, Fault, Phase
from kro_gitops.source.controllers.carrying import Carrier
from kro_gitops.source.controllers.finalizers import Finalizers
from kro_gitops.source.controllers.inventories import Inventories
from kro_gitops.source.controllers.pruning import Pruner
from kro_gitops.source.controllers.registry import Held
from kro_gitops.source.controllers.reporting import Reporter
from kro_gitops.source.spec import DeletionPolicy, SourceSpec
from kube_objects.conditions import FALSE, TRUE

_SOON = 0.5  # seconds
_LATER = 5.0


class Leaving:
    """Takes sources down."""

    def __init__(
        self,
        carrier: Carrier,
        pruner: Pruner,
        inventories: Inventories,
        finalizers: Finalizers,
        reporter: Reporter,
    ) -> None:
        self._carrier = carrier
        self._pruner = pruner
        self._inventories = inventories
        self._finalizers = finalizers
        self._reporter = reporter

    async def reconcile(self, held: Held) -> Result:
        """Go one step further."""
        if SOURCE_FINALIZER not in (held.source["metadata"].get("finalizers") or ()):
            return DONE  # others hold it
        held.wanted = held.coming = frozenset()
        account = Account()
        try:
            if _deletes(held) and not await self._delete(held, account):
                await self._report(held, account)
                return Result(_SOON)
            if not await self._inventories.release(held.key):
                return Result(_SOON)
            await self._finalizers.remove(held)
        except KroGitopsError as error:
            account.failures.append(Fault(error.code, error.full_text))
            await self._report(held, account)
            return Result(_LATER)
        return DONE

    async def _delete(self, held: Held, account: Account) -> bool:
        if self._carrier.may_have_heirs(held):
            return False
        spec = held.spec or SourceSpec(url="")
        errand = self._carrier.errand(held, spec, account)
        return await self._pruner.take_down(errand) and not account.failures

    async def _report(self, held: Held, account: Account) -> None:
        report = self._reporter.begin(held, Phase.DELETING)
        account.objects = len(held.inventory)
        report.account = account
        text = status.told(account.failures) or f"{account.objects} objects are left to delete"
        reason = "DeletionFailed" if account.failures else "Deleting"
        report.say(status.READY, FALSE, reason, text)
        report.say(status.RECONCILING, TRUE, reason, text)
        await self._reporter.write(held, report)


def _deletes(held: Held) -> bool:
    """Say whether a source takes along what it made; read as it is written, valid or not."""
    policy = held.raw.get("deletionPolicy") or DeletionPolicy.MIRROR_PRUNE
    if policy == DeletionPolicy.MIRROR_PRUNE:
        return held.raw.get("prune", True) is not False
    return bool(policy != DeletionPolicy.ORPHAN)
