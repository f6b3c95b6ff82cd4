"""
A revision that was read, carried out: applied stage by stage, pruned, looked at.

Pruning comes last, and only if all else went well: an object that moved, or got another name, is
there under its new one before the old one goes.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice

from kro_gitops.engine.instance_metadata import is_going
from kro_gitops.errors import KroGitopsError, UserError
from kro_gitops.kube.api import Cluster
from kro_gitops.source import status
from kro_gitops.source.accounts import Account, Fault, Phase
from kro_gitops.source.chosen_files import NOT_FOLLOWED
from kro_gitops.source.controllers.bridging import Bridges
from kro_gitops.source.controllers.errands import Errand
from kro_gitops.source.controllers.observing import SourceObserver
from kro_gitops.source.controllers.pruning import Occasion, Pruner
from kro_gitops.source.controllers.registry import Fetched, Held, Registry
from kro_gitops.source.controllers.reporting import Reporter
from kro_gitops.source.controllers.rights import Rights
from kro_gitops.source.controllers.syncing import Sync, Syncer
from kro_gitops.source.controllers.vitals import Vitals
from kro_gitops.source.desired import Provenance
from kro_gitops.source.snapshot import Item
from kro_gitops.source.spec import SourceSpec
from kro_gitops.source.stages import Stage
from kro_gitops.tracking.inventory import key_of
from kro_gitops.tracking.methods import ArgoCD
from kube_objects.conditions import TRUE, UNKNOWN
from kube_objects.refs import ObjectRef

_PATIENCE = 30.0  # seconds for other sources of a repository to see the same commit
_WORTH_TELLING = 20  # objects: more than these are not applied without a word
_LEAVING = ""  # in place of a commit: the source itself goes
_PROGRESS = 2.0  # seconds between two words


@dataclass(frozen=True, slots=True)
class Tools:
    """What it takes to carry out a revision."""

    cluster: Cluster
    registry: Registry
    syncer: Syncer
    pruner: Pruner
    vitals: Vitals
    rights: Rights
    bridges: Bridges
    reporter: Reporter
    observer: SourceObserver
    argocd: ArgoCD
    wake: Callable[[Held], None]


class Carrier:
    """Carries revisions out."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def errand(self, held: Held, spec: SourceSpec, account: Account) -> Errand:
        """Return for whom, and as whom, work is done."""
        cluster = self._tools.cluster.acting_as(self._tools.registry.identity(held))
        tools = self._tools
        return Errand(held, spec, cluster, account, tools.argocd, tools.observer)

    async def carry_out(self, held: Held, spec: SourceSpec, fetched: Fetched) -> None:
        """Have the cluster as a revision wants it; what came of it is in the account."""
        began = time.perf_counter()
        held.is_dirty = held.is_stirred = False
        account = Account()
        try:
            await self._carry_out(held, spec, fetched, account)
        except BaseException:
            held.is_dirty = True  # it was not finished
            raise
        observer = self._tools.observer
        observer.applied(held.name, account.created, account.changed, account.pruned)
        result = "failed" if account.failures else "applied"
        observer.synced(held.name, time.perf_counter() - began, result)

    async def _carry_out(
        self, held: Held, spec: SourceSpec, fetched: Fetched, account: Account
    ) -> None:
        snapshot, tools = fetched.snapshot, self._tools
        errors = set(map(id, snapshot.errors))
        for finding in snapshot.findings:
            told = account.failures if id(finding) in errors else account.warnings
            told.append(Fault.of_finding(finding))
        provenance = Provenance(held.name, snapshot.commit)
        sync = Sync(self.errand(held, spec, account), snapshot, provenance)
        try:
            sync.extra = await tools.bridges.extra(held, spec)
            async with self._told(sync.errand, fetched):
                await tools.syncer.carry_out(sync)
            self._spare_unread(sync)
            held.wanted = sync.claims
            if held.fetched is fetched:
                held.coming = frozenset()
            await self._prune(sync, fetched)
            with sync.errand.step("look"):
                await tools.vitals.take(sync.errand, sync.current)
            await tools.rights.explain(sync.errand)
        except KroGitopsError as error:
            account.failures.append(Fault(error.code, error.full_text))
            if isinstance(error, UserError):
                held.coming = frozenset()  # it will not come before somebody changes something
        held.account, held.current = account, sync.current
        # Only of this revision: what a file said before would be held for ever.
        made = ((item, held.made.get(item)) for item in snapshot.items)
        held.made = {item: each for item, each in made if each and each.key in sync.keys}
        account.is_cut_short = sync.is_cut_short or sync.errand.is_held_up
        held.is_dirty |= account.is_cut_short or bool(account.pending)
        held.is_dirty |= account.may_be_tried_again
        self._count(held, account)

    def may_go_on(self, held: Held) -> bool:
        """Say whether something can be done now that had to wait."""
        return self._tools.pruner.may_go_on(held)

    async def look_again(self, held: Held, spec: SourceSpec) -> None:
        """Look how objects are; nothing else has changed."""
        held.is_stirred = False
        if held.account is not None:
            account = replace(held.account, waiting=[], degraded=[], ready=0)
            await self._tools.vitals.take(self.errand(held, spec, account), held.current)
            held.account = account

    @asynccontextmanager
    async def _told(self, errand: Errand, fetched: Fetched) -> AsyncIterator[None]:
        """Say from time to time how far it is, where it will take a while."""
        held, items = errand.held, fetched.snapshot.items
        news = (each for each in items if _is_news(held, each))
        if sum(1 for _ in islice(news, _WORTH_TELLING + 1)) <= _WORTH_TELLING:
            yield
            return
        telling = asyncio.create_task(self._tell(errand, fetched))
        try:
            yield
        finally:
            telling.cancel()
            await asyncio.wait((telling,))  # what it writes must not come after what follows

    async def _tell(self, errand: Errand, fetched: Fetched) -> None:
        text = f"applying {fetched.revision}"
        while True:
            report = self._tools.reporter.begin(errand.held, Phase.APPLYING)
            report.account = Account(objects=len(fetched.snapshot.items), ready=errand.done)
            report.say(status.READY, UNKNOWN, "Progressing", text)
            report.say(status.RECONCILING, TRUE, "Progressing", text)
            with suppress(KroGitopsError):
                await self._tools.reporter.write(errand.held, report)
            await asyncio.sleep(_PROGRESS)

    def _count(self, held: Held, account: Account) -> None:
        inventory, definitions = held.inventory, Stage.DEFINITIONS.name
        kind, is_instance = None, False
        account.objects = len(inventory)
        for entry in inventory:
            if entry.ref.kind is not kind:
                kind = entry.ref.kind
                is_instance = self._tools.syncer.is_instance(kind)
            account.definitions += entry.stage == definitions
            account.instances += is_instance

    # What goes

    def _spare_unread(self, sync: Sync) -> None:
        """Keep what came from a file or folder in whose place is now a link or a submodule."""
        findings = sync.snapshot.findings
        places = [each.origin.file for each in findings if each.problem.code in NOT_FOLLOWED]
        if not places:
            return
        exact, folders = frozenset(places), tuple(f"{place}/" for place in places)
        for entry in sync.errand.held.inventory:
            if entry.path in exact or entry.path.startswith(folders):
                sync.keys.add(entry.key)

    async def _prune(self, sync: Sync, fetched: Fetched) -> None:
        held, account = sync.errand.held, sync.errand.account
        doomed = len(held.inventory.keys() - sync.keys)
        if not doomed:
            return
        if account.failures or sync.is_cut_short:
            text = f"{doomed} objects are no longer in git; they stay until all else is applied"
            account.warnings.append(Fault("prune-postponed", text))
        elif self._waits_for_others(held, sync.errand.spec, fetched):
            account.pending += doomed
        else:
            is_empty = not fetched.snapshot.items
            occasion = Occasion(fetched.revision, fetched.message, is_empty)
            await self._tools.pruner.prune(sync.errand, sync, occasion)

    def may_have_heirs(self, held: Held) -> bool:
        """Say whether a source that goes waits for one of its repository that was never read."""
        spec, now = held.spec, asyncio.get_running_loop().time()
        if spec is None:
            return False
        others = [each for each in self._tools.registry if _follows(each, held, spec)]
        if not any(each.wanted is None and each.fetched is None for each in others):
            return False
        if held.postponed is None or held.postponed[0] != _LEAVING:
            held.postponed = (_LEAVING, now)
        return now - held.postponed[1] < _PATIENCE

    def _waits_for_others(self, held: Held, spec: SourceSpec, fetched: Fetched) -> bool:
        """
        Say whether another source of the repository has yet to see this commit.

        An object may have moved to it; then it must not be deleted and made anew.
        """
        behind = [each for each in self._tools.registry if _is_behind(each, held, spec, fetched)]
        now = asyncio.get_running_loop().time()
        if not behind:
            held.postponed = None
            return False
        commit = fetched.commit.id
        if held.postponed is None or held.postponed[0] != commit:
            held.postponed = (commit, now)  # each commit anew: some may lag behind for ever
        for each in behind:
            if not each.wants_poll:
                each.wants_poll = True
                self._tools.wake(each)
        return now - held.postponed[1] < _PATIENCE


def _follows(other: Held, held: Held, spec: SourceSpec) -> bool:
    theirs = other.spec
    if other is held or theirs is None or theirs.suspend or is_going(other.source):
        return False
    return (theirs.url, theirs.ref, theirs.pin) == (spec.url, spec.ref, spec.pin)


def _is_news(held: Held, item: Item) -> bool:
    """Say whether git says something else of an object than what was applied last."""
    made = held.made.get(item)
    if made is not None:
        known = held.inventory.find(made.key)
        return known is None or known.hash != item.digest
    ref = item.ref
    places = (ref.namespace or held.key.namespace, "")
    keys = (key_of(ObjectRef(ref.kind, place, ref.name)) for place in places)
    found = next((entry for key in keys if (entry := held.inventory.find(key))), None)
    return found is None or found.hash != item.digest


def _is_behind(other: Held, held: Held, spec: SourceSpec, fetched: Fetched) -> bool:
    """Say whether another source follows the same branch, and has not come as far."""
    if not _follows(other, held, spec):
        return False
    return other.fetched is None or other.fetched.commit.id != fetched.commit.id
