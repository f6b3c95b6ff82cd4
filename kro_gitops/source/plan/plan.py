"""
The plan of a source: which objects are applied, kept, waited for and pruned.

`plan_source` is a pure function of the revision and of what is known of the cluster. Stages build
on each other (a CRD must be established before its objects can be compared), so a plan goes as far
as it can:

* `plan.needs` lists what must be observed before the plan can go on;
* `plan.pending` is the first stage with something to execute; later stages consist of `Wait`;
* with neither, the plan is complete and decides about pruning.

The controller observes, executes the pending stage and plans again, with the results in `done`.
Planning again without a change in between yields only `Keep`.

Whether an object must be replaced is known from a dry run only: `replacement` decides that.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from kro_gitops.errors import KroGitopsError
from kro_gitops.metadata import SOURCE_MANAGER
from kro_gitops.source.api.types import SourceSpec
from kro_gitops.source.files.revision import Item
from kro_gitops.source.files.selection import NOT_FOLLOWED
from kro_gitops.source.plan.apply_errors import explain, is_denied
from kro_gitops.source.plan.desired import Desired
from kro_gitops.source.plan.live_metadata import kept
from kro_gitops.source.plan.model import (
    ExecutedStage,
    Memory,
    Needs,
    Observed,
    PlanOptions,
    Prune,
    PrunePostponed,
    Revision,
    SourcePlan,
    StagePlan,
    StageResult,
)
from kro_gitops.source.plan.placement import Placement
from kro_gitops.source.plan.prune import (
    PruneFacts,
    find_candidates,
    generated_kinds,
    handover_text,
    instances_left,
    kept_warnings,
    plan_prune,
)
from kro_gitops.source.plan.result import Fault, SyncResult, manifest_faults
from kro_gitops.source.plan.stages import Stage, object_order
from kro_gitops.source.plan.steps import (
    Apply,
    Keep,
    OtherSources,
    Replace,
    Step,
    Wait,
    decide,
    kept_again,
)
from kro_gitops.tracking.health import Health, HealthStatus
from kro_gitops.tracking.ignored_fields import concerns, without_ignored
from kro_gitops.tracking.inventory import Inventory
from kube_objects.errors import RefusedError
from kube_objects.refs import KubeObject, ObjectRef

_ESTABLISHED = frozenset({("", "Namespace"), ("apiextensions.k8s.io", "CustomResourceDefinition")})

GroupKind = tuple[str, str]


def plan_source(
    revision: Revision,
    observed: Observed,
    inventory: Inventory,
    spec: SourceSpec,
    others: OtherSources,
    options: PlanOptions,
    memory: Memory | None = None,
    done: Sequence[ExecutedStage] = (),
) -> SourcePlan:
    """
    Plan a revision as far as it can be planned now.

    Neither reads nor changes anything but its arguments; `inventory` is only read. `done` are the
    stages that were executed in this sync: they are not planned again, whatever came of them.
    """
    memory = memory or Memory()
    snapshot = revision.snapshot
    placement = Placement(
        snapshot.commit, observed, inventory, spec, options, memory, snapshot.pinned
    )
    return _Planner(revision, observed, inventory, spec, others, options, placement, done).plan()


def must_be_established(desired: Desired, memory: Memory) -> bool:
    """Return True if a namespace or CRD has to be ready before the next stage starts."""
    kind = desired.ref.kind
    return (kind.group, kind.kind) in _ESTABLISHED and desired.key not in memory.established


@dataclass(slots=True)
class _Planner:
    """One call of `plan_source`; its lists are the plan that is being written."""

    _revision: Revision
    _observed: Observed
    _inventory: Inventory
    _spec: SourceSpec
    _others: OtherSources
    _options: PlanOptions
    _placement: Placement
    _done: Sequence[ExecutedStage]
    _stages: list[StagePlan] = field(default_factory=list)
    _waiting: list[StagePlan] = field(default_factory=list)  # stages after the pending one
    _results: list[SyncResult] = field(default_factory=list)
    _needs: Needs = field(default_factory=Needs)
    _current: list[Desired] = field(default_factory=list)
    _blocked: dict[GroupKind, str] = field(default_factory=dict)  # kinds without definition: why
    _is_cut_short: bool = False

    @property
    def _source(self) -> str:
        return self._options.source.place

    def plan(self) -> SourcePlan:
        placement, snapshot = self._placement, self._revision.snapshot
        self._add(manifest_faults(snapshot))
        is_planned = False
        desired = self._place(self._revision.items[Stage.NAMESPACES], Stage.NAMESPACES)
        if self._plan_stage(desired, Stage.NAMESPACES) is not None:
            is_planned = self._plan_definitions() and self._plan_objects()
        else:
            for stage in (Stage.DEFINITIONS, Stage.OBJECTS):
                self._wait(stage, (item.ref for item in self._revision.items[stage]))
        # Objects stay whose file or folder was replaced by a link or a submodule.
        places = [f.origin.file for f in snapshot.findings if f.problem.code in NOT_FOLLOWED]
        if places:
            exact, folders = frozenset(places), tuple(f"{place}/" for place in places)
            for entry in self._inventory:
                if entry.path in exact or entry.path.startswith(folders):
                    placement.keys.add(entry.key)
        prune = self._plan_prune() if is_planned else None
        if self._is_cut_short:
            self._add(SyncResult(is_cut_short=True))
        denied = {key for stage in self._done for key in stage.result.denied}
        unowned = {key for key in placement.rejected | denied if key not in self._inventory}
        keys = frozenset(placement.keys)
        return SourcePlan(
            (*self._stages, *self._waiting),
            SyncResult.total(self._results),
            self._needs,
            keys,
            keys - unowned if unowned else keys,
            placement.desired,
            tuple(self._current),
            prune,
        )

    # Stages

    def _plan_definitions(self) -> bool:
        by_ref = {item.ref: item for item in self._revision.items[Stage.DEFINITIONS]}
        waves = self._revision.waves
        for cycle in waves.cycles:
            path = " → ".join(ref.name for ref in cycle)  # ends with the first
            error = RefusedError("definition-cycle", f"definitions need each other: {path}")
            self._fail(by_ref[cycle[0]], cycle[0], error)
            for ref in cycle:
                self._placement.keep_names(by_ref[ref])
                self._block(ref, f"definition {ref.name} is in a cycle")
        for number, wave in enumerate(waves.waves, 1):
            ready: list[Item] = []
            for item in (by_ref[ref] for ref in wave):
                needed = waves.needs.get(item.ref, frozenset())
                kinds = [self._revision.generated.get(ref) for ref in sorted(needed)]
                reasons = (self._blocked.get((kind.group, kind.kind)) for kind in kinds if kind)
                reason = next(filter(None, reasons), "")
                if reason:
                    self._hold_back(item, reason)
                else:
                    ready.append(item)
            desired = self._place(ready, Stage.DEFINITIONS)
            result = self._plan_stage(desired, Stage.DEFINITIONS)
            if result is None:
                self._wait(Stage.DEFINITIONS, chain.from_iterable(waves.waves[number:]))
                objects = self._revision.items[Stage.OBJECTS]
                self._wait(Stage.OBJECTS, (item.ref for item in objects))
                return False
            self._block_failed(ready, result)
        ordered = {ref for group in (*waves.waves, *waves.cycles) for ref in group}
        for ref, item in by_ref.items():
            if ref not in ordered:
                self._hold_back(item, "it needs definitions that need each other")
        return True

    def _block_failed(self, wave: Iterable[Item], result: StageResult) -> None:
        """Block the kinds of definitions that were not applied, or not accepted by the engine."""
        applied = {each.item for each in result.current}  # a namespace in git is ignored
        for item in wave:
            if item not in applied:
                self._block(item.ref, f"definition {item.ref.name} was not applied")
        for each in result.current:
            verdict = result.verdicts.get(each.ref) or self._verdict(each)
            if verdict.health is not Health.HEALTHY:
                error = KroGitopsError("definition-refused", verdict.message)
                fault = Fault.of_item(each.item, each.ref, error, lasting=False)
                self._add(SyncResult(failures=(replace(fault, is_rejection=True),)))
                self._block(each.item.ref, f"definition {each.ref.name} was not accepted")

    def _plan_objects(self) -> bool:
        items: Sequence[Item] = self._revision.items[Stage.OBJECTS]
        held_back: dict[GroupKind, int] = {}
        if self._blocked:
            allowed = []
            for item in items:
                kind = (item.ref.kind.group, item.ref.kind.kind)
                if kind in self._blocked:
                    self._placement.keep_names(item)
                    held_back[kind] = held_back.get(kind, 0) + 1
                else:
                    allowed.append(item)
            items = allowed
        desired = self._place(items, Stage.OBJECTS)
        layers = [desired]
        if any(each.has_order for each in desired):  # seldom, and sorting thousands takes its time
            by_ref = {each.ref: each for each in desired}
            earlier = [each.ref for each in self._current]
            order = object_order([each.object for each in desired], earlier=earlier)
            findings = [by_ref[ref].item.finding(wrong) for ref, wrong in order.problems]
            self._add(SyncResult(failures=tuple(map(Fault.of_finding, findings))))
            layers = [[by_ref[ref] for ref in layer] for layer in order.layers]
        for number, layer in enumerate(layers, 1):
            is_last = number == len(layers)
            result = self._plan_stage(layer, Stage.OBJECTS, gates_health=not is_last)
            if result is None:
                later = chain.from_iterable(layers[number:])
                self._wait(Stage.OBJECTS, (each.ref for each in later))
                return False
            if not is_last and not result.is_complete:
                self._is_cut_short = True
                break
        for kind, count in held_back.items():
            objects = f"{count} {kind[1]} object{'s' if count > 1 else ''}"
            text = f"{objects} of this revision held back: {self._blocked[kind]}"
            self._add(SyncResult(failures=(Fault("held-back", text),)))
        return True

    def _plan_stage(
        self, desired: list[Desired], stage: Stage, *, gates_health: bool = False
    ) -> StageResult | None:
        """Plan the next stage; return its result, or None if it must be executed first."""
        if self._needs:
            return None
        number = len(self._stages)
        if number < len(self._done):
            plan, result = self._done[number].plan, self._done[number].result
        else:
            plan = self._compare(desired, stage, gates_health=gates_health)
            result = StageResult(tuple(step.desired for step in plan.keeps))
        self._stages.append(plan)
        self._add((plan.result + result.result).in_order())
        if self._needs or (plan.is_pending and number >= len(self._done)):
            return None
        self._current += result.current
        return result

    def _compare(self, desired: list[Desired], stage: Stage, *, gates_health: bool) -> StagePlan:
        """Decide about each object; what is as it was found last is nearly all, and goes first."""
        observed, known = self._observed, self._placement.memory.kept
        has_rules = bool(self._spec.ignore_differences)
        keeps: list[Keep] = []
        changes: list[Apply | Wait] = []
        results: list[SyncResult] = []
        unread: list[Desired] = []
        kind, find, is_watched, is_pending = None, None, False, False
        for each in desired:
            ref = each.ref
            if ref.kind is not kind:
                kind = ref.kind
                is_watched = kind not in observed.unwatched
                find = observed.finder(kind) if is_watched else None
            live = find(ref.namespace, ref.name) if find is not None else None
            if live is not None and not has_rules and (former := known.get(each.item)) is not None:
                keep = kept_again(former, each, live)
                if keep is not None:
                    keeps.append(keep)
                    continue
            decision = self._decide_observed(each, live, is_watched=is_watched)
            if decision is None:
                unread.append(each)
                continue
            step, result = decision
            results.append(result)
            match step:
                case Keep():
                    keeps.append(step)
                case Apply() | Wait():
                    changes.append(step)
                    is_pending = is_pending or isinstance(step, Apply)
                case Replace() | None:
                    pass
        if unread:
            self._needs = Needs(objects=tuple(unread))
        awaits = self._awaited((step.desired for step in keeps), stage)
        return StagePlan(
            stage,
            tuple(keeps),
            tuple(changes),
            SyncResult.total(results),
            awaits,
            gates_health,
            is_pending or bool(awaits) or gates_health,
            len(desired),
        )

    def _awaited(self, keeps: Iterable[Desired], stage: Stage) -> tuple[Desired, ...]:
        """Return the objects that are current, but not ready for the next stage."""
        match stage:
            case Stage.NAMESPACES:
                return tuple(
                    each for each in keeps if must_be_established(each, self._placement.memory)
                )
            case Stage.DEFINITIONS:
                progressing = Health.PROGRESSING
                return tuple(each for each in keeps if self._verdict(each).health is progressing)
            case Stage.OBJECTS:
                return ()

    def _decide_observed(
        self, desired: Desired, live: KubeObject | None, *, is_watched: bool
    ) -> tuple[Step | None, SyncResult] | None:
        """Decide about one object; None if the watch does not show enough, and it must be read."""
        rules = self._spec.ignore_differences
        ignored = tuple(rule for rule in rules if concerns(rule, desired.ref)) if rules else ()
        entry = self._inventory.find(desired.key)
        # One that was applied and is not seen was deleted, or its label was removed.
        is_lost = live is None and entry is not None and bool(entry.uid)
        if not is_watched or ignored or is_lost:
            if desired.key not in self._observed.read:
                return None
            found = self._observed.read[desired.key]
            if isinstance(found, KroGitopsError):
                if is_denied(found):
                    self._placement.rejected.add(desired.key)
                return None, explain(desired, found)
            if ignored:
                stripped = without_ignored(desired.object, found, ignored, SOURCE_MANAGER)
                desired = replace(desired, stripped=stripped)
            live = kept(found) if found is not None else None
        return decide(desired, live, entry, self._spec, self._others, self._source)

    def _verdict(self, desired: Desired) -> HealthStatus:
        """Return the health of a definition of the generation that is live."""
        find = self._observed.finder(desired.ref.kind)
        live = find(desired.ref.namespace, desired.ref.name) if find is not None else None
        generation = (live["metadata"].get("generation") or 0) if live is not None else 0
        return self._observed.definition(desired.ref, generation)

    def _wait(self, stage: Stage, refs: Iterable[ObjectRef]) -> None:
        """Append a stage that cannot start before the pending one is executed."""
        if not self._needs:
            reason = f"stage {self._stages[-1].stage.name.lower()} is not finished"
            steps = tuple(Wait(ref, reason) for ref in refs)
            if steps:
                self._waiting.append(StagePlan(stage, changes=steps))

    def _place(self, items: Sequence[Item], stage: Stage) -> list[Desired]:
        """Return the desired objects of manifests; record the findings of the others."""
        unknown = self._placement.unknown_kinds(items)
        if unknown:
            self._needs = Needs(kinds=unknown)
            return []
        desired, faults = self._placement.place(items, stage)
        if faults:
            self._add(SyncResult(failures=tuple(faults)))
        return desired

    # Definitions that block others

    def _hold_back(self, item: Item, reason: str) -> None:
        error = KroGitopsError("held-back", f"{item.ref} is held back: {reason}")
        self._fail(item, item.ref, error)
        self._placement.keep_names(item)
        self._block(item.ref, f"definition {item.ref.name} is held back")

    def _block(self, definition: ObjectRef, reason: str) -> None:
        """Hold back the objects of the kind that a definition generates."""
        kind = self._revision.generated.get(definition)
        if kind is not None:
            self._blocked[kind.group, kind.kind] = reason

    # Pruning

    def _plan_prune(self) -> Prune | PrunePostponed | None:
        if self._inventory.keys() <= self._placement.keys:
            return None
        obsolete = [entry for entry in self._inventory if entry.key not in self._placement.keys]
        if self._is_cut_short or any(result.failures for result in self._results):
            text = (
                f"{len(obsolete)} objects are no longer in git; they stay until all else is applied"
            )
            self._add(SyncResult(warnings=(Fault("prune-postponed", text),)))
            return PrunePostponed(len(obsolete))
        if self._others.is_behind:
            self._add(SyncResult(pending=len(obsolete)))
            return PrunePostponed(len(obsolete), is_for_others=True)
        missing = [entry for entry in obsolete if entry.key not in self._observed.recorded]
        if missing:
            self._needs = Needs(recorded=tuple(missing))
            return None
        recorded = [self._observed.recorded[entry.key] for entry in obsolete]
        entries = tuple(entry for entry, _ in recorded)
        candidates = find_candidates(
            recorded,
            source=self._source,
            claimant=self._others.claimant,
            argocd=self._options.argocd,
        )
        waiting = [handover_text(ref, other) for ref, other in candidates.handed_over]
        self._add(
            SyncResult(
                warnings=candidates.warnings,
                waiting=tuple(waiting),
                is_cut_short=bool(waiting),
            )
        )
        if not self._spec.prune or not candidates.own:
            return Prune(entries, candidates)
        counts = self._observed.instances
        if not counts.keys() >= set(generated_kinds(candidates.own)):
            self._needs = Needs(counted=candidates.own)
            return None
        facts = PruneFacts(
            total=len(self._inventory) - len(candidates.forgotten),
            brake=self._spec.brake,
            instances_left=lambda definition: instances_left(definition, counts),
            allows_empty=self._spec.allows_empty,
            is_empty=not self._revision.snapshot.items,
            message=self._revision.message,
            revision=self._revision.name,
            source=self._source,
            desired=[each.ref for each in self._placement.desired.values()],
            recorded=[entry.ref for entry in self._inventory],
            is_instance=self._observed.is_instance,
            children=self._observed.children,
        )
        plan = plan_prune(candidates.own, facts)
        self._add(SyncResult(warnings=kept_warnings(plan), braked=plan.braked))
        return Prune(entries, candidates, plan)

    # Results

    def _fail(self, item: Item, ref: ObjectRef, error: KroGitopsError) -> None:
        is_lasting = isinstance(error, RefusedError)
        self._add(SyncResult(failures=(Fault.of_item(item, ref, error, lasting=is_lasting),)))

    def _add(self, result: SyncResult) -> None:
        self._results.append(result)
