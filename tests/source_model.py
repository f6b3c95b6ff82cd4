"""A cluster as the planner of a source sees it, and the execution of its plans in memory."""

from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import yaml

from kro_gitops.metadata import SOURCE_MANAGER
from kro_gitops.source.api.resources import GIT_SOURCE_KIND
from kro_gitops.source.api.types import EVERYTHING, SourceSpec
from kro_gitops.source.files.revision import Library, Snapshot
from kro_gitops.source.plan.desired import Desired
from kro_gitops.source.plan.live_metadata import kept
from kro_gitops.source.plan.model import (
    ExecutedStage,
    Finder,
    Memory,
    Observed,
    PlanOptions,
    Prune,
    Revision,
    SourcePlan,
    StagePlan,
    StageResult,
)
from kro_gitops.source.plan.plan import must_be_established, plan_source
from kro_gitops.source.plan.stages import Stage, generated_kind, stage_of
from kro_gitops.source.plan.steps import Apply, Keep, OtherSources, Wait
from kro_gitops.tracking.health import Health, HealthStatus
from kro_gitops.tracking.inventory import Entry, Inventory, Key, key_of
from kube_objects.managed_fields import CachedObject
from kube_objects.refs import Kind, KubeObject, ObjectRef

SOURCE = ObjectRef(GIT_SOURCE_KIND, "team", "shop")
SPEC = SourceSpec(url="https://example.org/shop", allow=EVERYTHING)
CLUSTER_SCOPED = frozenset(
    {"Namespace", "CustomResourceDefinition", "ClusterRole", "ResourceGraphDefinition"}
)
HEALTHY = HealthStatus(Health.HEALTHY, "")
_BUILT_IN = frozenset({"", "apps", "rbac.authorization.k8s.io", "apiextensions.k8s.io", "kro.run"})
_MAX_ROUNDS = 100


@dataclass(frozen=True)
class File:
    path: str
    id: str


def snapshot(*objects: KubeObject, commit: str = "c" * 40) -> Snapshot:
    """Read objects as the files of a commit, one in each, named after it."""
    contents: dict[str, bytes] = {}
    for each in objects:
        ref = ObjectRef.of(each)
        name = "-".join((ref.kind.kind, ref.namespace, ref.name)).lower()
        while name in contents:
            name += "-again"
        contents[name] = yaml.safe_dump(each).encode()
    files = [File(f"{name}.yaml", name) for name in contents]
    return Library().snapshot(commit, files, contents)


def config_map(name: str, namespace: str = "", data: str = "", **annotations: str) -> KubeObject:
    metadata: dict[str, Any] = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    if annotations:
        metadata["annotations"] = {k.replace("__", "/"): v for k, v in annotations.items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": data}}


def namespace(name: str) -> KubeObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def crd(kind: str) -> KubeObject:
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.org"},
        "spec": {"group": "example.org", "names": {"kind": kind, "plural": plural}},
    }


def custom(kind: str, name: str) -> KubeObject:
    return {"apiVersion": "example.org/v1", "kind": kind, "metadata": {"name": name}}


def definition(kind: str, *uses: str) -> KubeObject:
    resources = [
        {"id": use.lower(), "template": {"apiVersion": "kro.run/v1alpha1", "kind": use}}
        for use in uses
    ]
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "ResourceGraphDefinition",
        "metadata": {"name": kind.lower()},
        "spec": {"schema": {"apiVersion": "v1alpha1", "kind": kind}, "resources": resources},
    }


def instance(kind: str, name: str) -> KubeObject:
    return {"apiVersion": "kro.run/v1alpha1", "kind": kind, "metadata": {"name": name}}


def owned_fields(value: object) -> dict[str, Any]:
    """Return what the API server records of an applied value; lists are one field."""
    if not isinstance(value, dict):
        return {}
    return {f"f:{name}": owned_fields(each) for name, each in value.items()}


@dataclass
class Model:
    """The live objects, the inventory, and what the controller remembers."""

    spec: SourceSpec = SPEC
    others: OtherSources = field(default_factory=OtherSources)
    live: dict[Key, KubeObject] = field(default_factory=dict)
    inventory: Inventory = field(default_factory=Inventory)
    memory: Memory = field(default_factory=Memory)
    verdicts: dict[str, HealthStatus] = field(
        default_factory=dict
    )  # of definitions that are not healthy
    rejected: set[str] = field(default_factory=set)  # names that the API server rejects
    unwatched: set[Kind] = field(default_factory=set)
    message: str = ""
    uids: Any = field(default_factory=lambda: count(1))

    # The cluster

    def put(self, obj: KubeObject, manager: str = SOURCE_MANAGER, **metadata: Any) -> KubeObject:
        """Create or change an object as a field manager does it."""
        key = key_of(ObjectRef.of(obj))
        former = self.live.get(key)
        uid = former["metadata"]["uid"] if former else f"uid-{next(self.uids)}"
        entry = {"manager": manager, "operation": "Apply", "fieldsV1": owned_fields(obj)}
        made = {**obj["metadata"], "uid": uid, "managedFields": [entry], **metadata}
        self.live[key] = {**obj, "metadata": made}
        return self.live[key]

    def is_served(self, kind: Kind) -> bool:
        if kind.group in _BUILT_IN and kind not in self._generated(healthy_only=False):
            return kind.group != "kro.run" or kind.kind == "ResourceGraphDefinition"
        crds = (each for each in self.live.values() if each["kind"] == "CustomResourceDefinition")
        names = {(each["spec"]["group"], each["spec"]["names"]["kind"]) for each in crds}
        return (kind.group, kind.kind) in names or kind in self._generated(healthy_only=True)

    def _generated(self, *, healthy_only: bool) -> set[Kind]:
        found = set()
        for each in self.live.values():
            if stage_of(ObjectRef.of(each).kind) is Stage.DEFINITIONS:
                is_healthy = self.verdict(ObjectRef.of(each), 0) is HEALTHY
                kind = generated_kind(each) if is_healthy or not healthy_only else None
                if kind is not None:
                    found.add(kind)
        return found

    def verdict(self, ref: ObjectRef, _generation: int) -> HealthStatus:
        return self.verdicts.get(ref.name, HEALTHY)

    def finder(self, kind: Kind) -> Finder | None:
        def find(place: str, name: str) -> CachedObject | None:
            found = self.live.get((kind.group, kind.kind, place, name))
            return kept(found) if found is not None else None

        return find

    # Observe, plan, execute

    def observed(self) -> Observed:
        return Observed(
            lambda kind: kind in self._generated(healthy_only=True), self.finder, self.verdict
        )

    def plan(
        self,
        found: Snapshot,
        observed: Observed | None = None,
        done: tuple[ExecutedStage, ...] = (),
    ) -> tuple[SourcePlan, Observed]:
        """Plan until nothing is needed to go on; nothing is executed."""
        observed = observed or self.observed()
        revision = Revision.of(found, "main@sha1:c", self.message, self.memory.desired)
        for _ in range(_MAX_ROUNDS):
            plan = plan_source(
                revision,
                observed,
                self.inventory,
                self.spec,
                self.others,
                PlanOptions(SOURCE),
                self.memory,
                done,
            )
            if not plan.needs:
                return plan, observed
            observed = self.observe(observed, plan)
        raise AssertionError("the plan always needs something more")

    def observe(self, observed: Observed, plan: SourcePlan) -> Observed:
        scopes = {
            kind: (kind.kind not in CLUSTER_SCOPED) if self.is_served(kind) else None
            for kind in plan.needs.kinds
        }
        live = {key: kept(obj) for key, obj in self.live.items()}
        recorded = {}
        for entry in plan.needs.recorded:
            found = live.get(entry.key)
            if found is not None and "spec" in self.live[entry.key]:
                found = CachedObject({**found, "spec": self.live[entry.key]["spec"]}, found.owned)
            recorded[entry.key] = (entry, found)
        counts = {
            kind: sum(ObjectRef.of(each).kind == kind for each in self.live.values())
            for candidate in plan.needs.counted
            if candidate.live is not None and (kind := generated_kind(candidate.live)) is not None
        }
        return replace(
            observed,
            namespaced={**observed.namespaced, **scopes},
            unwatched=self.unwatched,
            read={**observed.read, **{e.key: self.live.get(e.key) for e in plan.needs.objects}},
            recorded={**observed.recorded, **recorded},
            instances={**observed.instances, **counts},
        )

    def sync(self, found: Snapshot) -> list[SourcePlan]:
        """Plan and execute until nothing is left; return every plan, the last one is complete."""
        plans: list[SourcePlan] = []
        observed = self.observed()
        done: tuple[ExecutedStage, ...] = ()
        for _ in range(_MAX_ROUNDS):
            plan, observed = self.plan(found, observed, done)
            plans.append(plan)
            self.memory = replace(self.memory, desired={**self.memory.desired, **plan.desired})
            stage, done = plan.pending(done), plan.executed(done)
            if stage is None:
                self.finish(plan)
                return plans
            done = (*done, ExecutedStage(stage, self.execute(stage)))
        raise AssertionError("there is always something to execute")

    def execute(self, stage: StagePlan) -> StageResult:
        current: list[Desired] = []
        for step in stage.steps:
            match step:
                case Keep():
                    current.append(step.desired)
                case Apply() if step.desired.ref.name not in self.rejected:
                    made = self.put(step.desired.object)
                    self.inventory.put(step.desired.entry(made["metadata"]["uid"]))
                    current.append(step.desired)
        ready = {each.key for each in current if must_be_established(each, self.memory)}
        self.memory = replace(self.memory, established=self.memory.established | ready)
        verdicts: dict[ObjectRef, HealthStatus] = {}
        if stage.stage is Stage.DEFINITIONS:
            verdicts = {each.ref: self.verdict(each.ref, 0) for each in current}
        return StageResult(tuple(current), verdicts=verdicts)

    def finish(self, plan: SourcePlan) -> None:
        """Record what was kept, and delete everything that is to be pruned, group by group."""
        keeps = [step for stage in plan.stages for step in stage.keeps]
        for step in keeps:
            if step.uid:
                self.inventory.put(step.desired.entry(step.uid))
        self.memory = replace(self.memory, kept={e.desired.item: e for e in keeps if e.live})
        if isinstance(plan.prune, Prune):
            for key in plan.prune.candidates.forgotten:
                self.inventory.drop(key)
            for candidate, _ in plan.prune.plan.forget:
                self.inventory.drop(key_of(candidate.ref))
            for group in plan.prune.plan.delete[:1]:
                for candidate in group:
                    del self.live[key_of(candidate.ref)]

    def recorded(self, obj: KubeObject, place: str = "team") -> Entry | None:
        ref = ObjectRef.of(obj)
        return self.inventory.find(key_of(replace(ref, namespace=ref.namespace or place)))


def steps(plan: SourcePlan) -> dict[str, str]:
    """Return the step of each object by name."""
    found: dict[str, str] = {}
    for stage in plan.stages:
        for step in stage.steps:
            ref = step.ref if isinstance(step, Wait) else step.desired.ref
            found[ref.name] = type(step).__name__
    return found


def codes(plan: SourcePlan) -> list[str]:
    """Return the codes of a plan's faults."""
    return [fault.code for fault in plan.faults]
