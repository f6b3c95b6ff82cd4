"""
What a plan is made from, and what it consists of.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from kro_gitops.errors import KroGitopsError
from kro_gitops.source.files.revision import Item, Snapshot
from kro_gitops.source.plan.desired import Desired
from kro_gitops.source.plan.prune import Candidate, Candidates, PrunePlan
from kro_gitops.source.plan.result import Fault, SyncResult
from kro_gitops.source.plan.stages import Stage, Waves, definition_waves, generated_kind, stage_of
from kro_gitops.source.plan.steps import Apply, Keep, Step, Wait
from kro_gitops.tracking.health import HealthStatus
from kro_gitops.tracking.inventory import Entry, Inventory, Key
from kro_gitops.tracking.methods import ArgoCD, TrackingMetadata
from kube_objects.refs import Kind, KubeObject, ObjectRef

Finder = Callable[[str, str], KubeObject | None]  # namespace, name -> live metadata
Marker = Callable[[ObjectRef, Mapping[str, str]], TrackingMetadata]


def no_marks(_ref: ObjectRef, _annotations: Mapping[str, str]) -> TrackingMetadata:
    """Add neither labels nor annotations."""
    return TrackingMetadata()


# Input


@dataclass(frozen=True, slots=True, eq=False)
class Revision:
    """The manifests of one commit, sorted into stages."""

    snapshot: Snapshot
    name: str  # as it is reported: `main@sha1:…`
    message: str  # of the commit
    items: Mapping[Stage, tuple[Item, ...]]
    waves: Waves
    generated: Mapping[ObjectRef, Kind | None]  # by definition

    @classmethod
    def of(
        cls, snapshot: Snapshot, name: str, message: str, known: Mapping[Item, Desired]
    ) -> "Revision":
        """Sort a snapshot; `known` are objects whose stage was found before."""
        staged: dict[Stage, list[Item]] = {stage: [] for stage in Stage}
        for item in snapshot.items:
            desired = known.get(item)
            stage = stage_of(item.ref.kind) if desired is None else desired.stage
            staged[stage].append(item)
        definitions = [item.object for item in staged[Stage.DEFINITIONS]]
        return cls(
            snapshot,
            name,
            message,
            {stage: tuple(items) for stage, items in staged.items()},
            definition_waves(definitions),
            {ObjectRef.of(each): generated_kind(each) for each in definitions},
        )


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """
    What is known of the cluster.

    `namespaced` has the scope of each kind, None for a kind that is not served. Live metadata is
    looked up by `finder`, one per kind; objects of `unwatched` kinds, and those that the watch does
    not show, are in `read` instead: the object, None if it is gone, or the error. `definition`
    returns the health of a definition of at least a generation.
    """

    is_instance: Callable[[Kind], bool]
    finder: Callable[[Kind], Finder | None]
    definition: Callable[[ObjectRef, int], HealthStatus]
    namespaced: Mapping[Kind, bool | None] = field(default_factory=dict)
    unwatched: AbstractSet[Kind] = frozenset()
    read: Mapping[Key, KubeObject | KroGitopsError | None] = field(default_factory=dict)
    recorded: Mapping[Key, tuple[Entry, KubeObject | None]] = field(default_factory=dict)
    instances: Mapping[Kind, int] = field(default_factory=dict)  # how many there are
    children: Callable[[ObjectRef], int] = lambda _: 0  # of an instance


@dataclass(frozen=True, slots=True, eq=False)
class PlanOptions:
    """Which source is planned, and how its objects are marked."""

    source: ObjectRef
    argocd: ArgoCD = field(default_factory=ArgoCD)
    marks: Marker = no_marks


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """What earlier plans found; without it the same plan takes longer to make."""

    desired: Mapping[Item, Desired] = field(default_factory=dict)
    kept: Mapping[Item, Keep] = field(default_factory=dict)
    established: AbstractSet[Key] = frozenset()  # namespaces and CRDs that were seen ready


# Output


@dataclass(frozen=True, slots=True, eq=False)
class StagePlan:
    """
    The steps of one stage, or of one wave or layer of it.

    `awaits` are objects of the stage that must become ready before the next one can be planned.
    With `gates_health`, all of them must be healthy.
    """

    stage: Stage
    keeps: tuple[Keep, ...] = ()
    changes: tuple[Apply | Wait, ...] = ()
    result: SyncResult = field(default_factory=SyncResult)
    awaits: tuple[Desired, ...] = ()
    gates_health: bool = False
    is_pending: bool = False  # something is to be executed
    size: int = 0  # objects of the stage, rejected ones included

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return all steps."""
        return (*self.keeps, *self.changes)

    @property
    def applies(self) -> list[Apply]:
        """Return the objects to apply."""
        return [step for step in self.changes if isinstance(step, Apply)]


@dataclass(frozen=True, slots=True, eq=False)
class StageResult:
    """What came of a stage: `current` are the objects that are now as desired."""

    current: tuple[Desired, ...] = ()
    result: SyncResult = field(default_factory=SyncResult)
    denied: frozenset[Key] = frozenset()  # objects that the service account may not touch
    verdicts: Mapping[ObjectRef, HealthStatus] = field(default_factory=dict)  # of definitions
    is_complete: bool = True  # False: later layers must not start


@dataclass(frozen=True, slots=True, eq=False)
class ExecutedStage:
    """A stage that was executed in this sync."""

    plan: StagePlan
    result: StageResult


@dataclass(frozen=True, slots=True, eq=False)
class Needs:
    """What must be observed before the plan can go on."""

    kinds: frozenset[Kind] = frozenset()  # scope and live metadata
    objects: tuple[Desired, ...] = ()  # to be read one by one
    recorded: tuple[Entry, ...] = ()  # inventory entries that may be pruned
    counted: tuple[Candidate, ...] = ()  # definitions whose instances are to be counted

    def __bool__(self) -> bool:
        return bool(self.kinds or self.objects or self.recorded or self.counted)


@dataclass(frozen=True, slots=True, eq=False)
class Prune:
    """What becomes of recorded objects that git no longer has; entries have a served version."""

    entries: tuple[Entry, ...] = ()
    candidates: Candidates = field(default_factory=Candidates)
    plan: PrunePlan = field(default_factory=PrunePlan)


@dataclass(frozen=True, slots=True, eq=False)
class PrunePostponed:
    """Objects are to be pruned, but not now: something failed, or another source is behind."""

    count: int
    is_for_others: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class SourcePlan:
    """
    What is to be done for a source.

    `keys` are the objects that git has, under every name they may have; `claims` those of them that
    the source may have. `result` sums up everything that was found and executed so far.
    """

    stages: tuple[StagePlan, ...]
    result: SyncResult
    needs: Needs
    keys: frozenset[Key]
    claims: frozenset[Key]
    desired: Mapping[Item, Desired]
    current: tuple[Desired, ...]
    prune: Prune | PrunePostponed | None = None

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Return the findings of the revision."""
        return self.result.failures

    def pending(self, done: Sequence[ExecutedStage] = ()) -> StagePlan | None:
        """Return the first stage that has something to execute."""
        rest = self.stages[len(done) :]
        return next((stage for stage in rest if stage.is_pending), None)

    def completed(
        self, stage: StagePlan, result: StageResult, inventory: Inventory
    ) -> "SourcePlan | None":
        """
        Return the complete plan if `stage` was the last, and all went well; None: plan again.

        Planning again would yield the same; this saves it in the case that is nearly every one.
        """
        if stage is not self.stages[-1] or self.faults or result.result.failures:
            return None
        if not result.is_complete or not inventory.keys() <= self.keys:
            return None
        total, current = self.result + result.result, (*self.current, *result.current)
        return replace(self, result=total, current=current)

    def executed(self, done: Sequence[ExecutedStage]) -> tuple[ExecutedStage, ...]:
        """Return `done` with the stages before the pending one, which need no execution."""
        found = list(done)
        for stage in self.stages[len(done) :]:
            if stage.is_pending:
                break
            current = tuple(step.desired for step in stage.keeps)
            found.append(ExecutedStage(stage, StageResult(current)))
        return tuple(found)
