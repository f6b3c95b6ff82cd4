"""Each decision about an object of a source, by what is known of the cluster."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kro_gitops.errors import KroGitopsError
from kro_gitops.kube.responses import Cause, Invalid, Status
from kro_gitops.metadata import (
    DEPENDS_ON,
    FORCE,
    INSTANCE_NAME,
    INSTANCE_NAMESPACE,
    OWNED,
    PRUNE,
    SOURCE,
    SOURCE_HASH,
    WAVE,
)
from kro_gitops.source.api.types import Allow, Brake, DriftMode
from kro_gitops.source.plan.claims import Claimant
from kro_gitops.source.plan.model import ExecutedStage, Prune, PrunePostponed, StageResult
from kro_gitops.source.plan.prune import ALLOW_PRUNE
from kro_gitops.source.plan.result import Fault, SyncResult
from kro_gitops.source.plan.steps import (
    Apply,
    OtherSources,
    Replace,
    Wait,
    foreign_owner,
    kept_again,
    replacement,
)
from kro_gitops.tracking.health import Health, HealthStatus
from kro_gitops.tracking.ignored_fields import IgnoreRule
from kro_gitops.tracking.inventory import Entry
from kro_gitops.tracking.methods import ArgoCD
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.source_model import (
    SPEC,
    Model,
    codes,
    config_map,
    crd,
    custom,
    definition,
    instance,
    namespace,
    snapshot,
    steps,
)

KEY = ("", "ConfigMap", "team", "a")


def synced(*objects: KubeObject, model: Model | None = None) -> Model:
    model = model or Model()
    model.sync(snapshot(*objects))
    return model


# Apply and keep


def test_an_object_that_is_missing_is_applied() -> None:
    plan, _ = Model().plan(snapshot(config_map("a")))
    assert steps(plan) == {"a": "Apply"}
    assert plan.claims == {KEY}


def test_an_object_that_is_current_is_kept() -> None:
    plan, _ = synced(config_map("a")).plan(snapshot(config_map("a")))
    assert steps(plan) == {"a": "Keep"}
    assert plan.pending() is None


def test_only_what_changed_in_git_is_applied() -> None:
    model = synced(config_map("a"), config_map("b"))
    plan, _ = model.plan(snapshot(config_map("a"), config_map("b", data="new")))
    assert steps(plan) == {"a": "Keep", "b": "Apply"}


def test_a_field_that_another_manager_took_is_taken_back() -> None:
    model = synced(config_map("a"))
    live = model.live[KEY]
    model.live[KEY] = {**live, "metadata": {**live["metadata"], "managedFields": []}}
    plan, _ = model.plan(snapshot(config_map("a")))
    # Without our entry the object is not ours any more: it is applied without force.
    [step] = plan.stages[-1].applies
    assert not step.force


@pytest.mark.parametrize(
    ("mode", "step", "warnings"),
    [(DriftMode.CORRECT, "Apply", []), (DriftMode.WARN, "Keep", ["drifted"])],
)
def test_drift_is_corrected_or_reported(mode: DriftMode, step: str, warnings: list[str]) -> None:
    model = synced(config_map("a"))
    del model.live[KEY]
    model.spec = replace(SPEC, drift=mode)
    plan, _ = model.plan(snapshot(config_map("a")))
    assert steps(plan) == {"a": step}
    assert [fault.code for fault in plan.result.warnings] == warnings


def test_an_object_that_is_being_deleted_is_waited_for() -> None:
    model = synced(config_map("a"))
    model.put(model.live[KEY], deletionTimestamp="2026-01-01T00:00:00Z")
    plan, _ = model.plan(snapshot(config_map("a")))
    [step] = plan.stages[-1].steps
    assert isinstance(step, Wait)
    assert plan.result.waiting == ("ConfigMap team/a, which is being deleted",)
    assert plan.result.is_cut_short


def test_objects_of_a_kind_that_cannot_be_watched_are_read() -> None:
    model = Model(unwatched={Kind("", "v1", "ConfigMap")})
    model.sync(snapshot(config_map("a")))
    plan, observed = model.plan(snapshot(config_map("a")))
    assert KEY in observed.read
    assert steps(plan) == {"a": "Keep"}


def test_an_object_that_cannot_be_read_is_left_alone() -> None:
    model = Model(unwatched={Kind("", "v1", "ConfigMap")})
    found = snapshot(config_map("a"))
    _, observed = model.plan(found)
    broken = replace(observed, read={KEY: KroGitopsError("forbidden", "no")})
    plan, _ = model.plan(found, broken)
    assert steps(plan) == {}
    assert codes(plan) == ["forbidden"]
    assert KEY in plan.keys
    assert KEY not in plan.claims  # what the account may not touch is left to others


def test_ignored_fields_are_left_out_of_what_is_applied() -> None:
    model = Model(spec=replace(SPEC, ignore_differences=(IgnoreRule(("/data/x",)),)))
    model.sync(snapshot(config_map("a", data="git")))
    live = model.live[KEY]
    live["data"]["x"] = "theirs"
    plan, _ = model.plan(snapshot(config_map("a", data="git", note="changed")))
    [step] = plan.stages[-1].applies
    assert step.desired.object["data"] == {"x": "theirs"}


# Owners


def test_an_object_that_another_source_still_wants_is_left_to_it() -> None:
    model = Model()
    model.put(config_map("a", "team", gitops_kro_run="x"))
    live = model.live[KEY]
    live["metadata"]["annotations"] = {SOURCE: "team/other"}
    found = snapshot(config_map("a"))
    model.others = OtherSources(lambda _: Claimant("team/other"), lambda name: name == "team/other")
    plan, _ = model.plan(found)
    assert codes(plan) == ["foreign-owner"]
    assert plan.result.foreign == ("ConfigMap team/a: source team/other",)
    assert steps(plan) == {}
    model.spec = replace(SPEC, adopt=True)
    assert steps(model.plan(found)[0]) == {"a": "Apply"}
    model.spec, model.others = SPEC, OtherSources(exists=lambda _: True)  # it wants it no more
    assert steps(model.plan(found)[0]) == {"a": "Apply"}


def test_a_child_of_a_kro_instance_is_never_adopted() -> None:
    model = Model()
    plan, _ = model.plan(snapshot(config_map("a")))
    [step] = plan.stages[-1].applies
    labels = {OWNED: "true", INSTANCE_NAME: "shop", INSTANCE_NAMESPACE: "team"}
    manager = {"manager": "kro.run/applyset", "operation": "Apply", "fieldsV1": {}}
    answer = {
        **step.desired.object,
        "metadata": {**step.desired.object["metadata"], "labels": labels},
    }
    answer["metadata"]["managedFields"] = [manager]
    adopting = replace(step, adopts=True)
    rejected = foreign_owner(adopting, answer, ArgoCD())
    assert rejected is not None
    assert [fault.code for fault in rejected.failures] == ["foreign-owner"]


def test_an_object_that_is_new_has_no_foreign_owner() -> None:
    plan, _ = Model().plan(snapshot(config_map("a")))
    [step] = plan.stages[-1].applies
    assert foreign_owner(step, step.desired.object, ArgoCD()) is None


# Permissions


def test_what_a_source_may_not_have_is_neither_applied_nor_claimed_nor_pruned() -> None:
    model = Model(spec=replace(SPEC, allow=Allow()))
    model.inventory.put(Entry(ObjectRef(Kind("", "v1", "Namespace"), "", "prod"), "uid"))
    plan, _ = model.plan(snapshot(namespace("prod"), config_map("b", "prod"), config_map("a")))
    assert codes(plan) == ["not-allowed", "not-allowed"]
    assert steps(plan) == {"a": "Apply"}
    assert KEY in plan.claims
    assert ("", "ConfigMap", "prod", "b") not in plan.claims
    # It has the namespace from a time when that was allowed.
    assert ("", "Namespace", "", "prod") in plan.claims
    assert plan.prune is None


def test_reserved_metadata_is_rejected_with_its_place() -> None:
    plan, _ = Model().plan(snapshot(config_map("a", **{SOURCE: "team/other"})))
    [fault] = plan.faults
    assert (fault.code, fault.origin and fault.origin.file) == (
        "reserved-metadata",
        "configmap--a.yaml",
    )


def test_the_same_object_with_and_without_its_namespace_is_a_duplicate() -> None:
    plan, _ = Model().plan(snapshot(config_map("a"), config_map("a", "team")))
    assert codes(plan) == ["duplicate-object"]
    assert steps(plan) == {"a": "Apply"}


# Stages


def test_objects_wait_for_the_crd_of_their_kind() -> None:
    model, found = Model(), snapshot(custom("Widget", "w"), crd("Widget"))
    first, *_, last = model.sync(found)
    assert steps(first) == {"widgets.example.org": "Apply", "w": "Wait"}
    assert first.pending() is first.stages[0]
    assert last.faults == ()
    assert steps(model.plan(found)[0]) == {"widgets.example.org": "Keep", "w": "Keep"}


def test_a_crd_that_is_there_is_awaited_until_it_was_seen_established() -> None:
    model, found = synced(crd("Widget")), snapshot(crd("Widget"))
    model.memory = replace(model.memory, established=frozenset())  # after a restart
    plan, _ = model.plan(found)
    [stage] = plan.stages
    assert [each.ref.name for each in stage.awaits] == ["widgets.example.org"]
    assert stage.is_pending
    assert not stage.applies


def test_an_object_whose_kind_nobody_serves_is_a_fault() -> None:
    plan, _ = Model().plan(snapshot(custom("Widget", "w"), config_map("a")))
    assert codes(plan) == ["not-served"]
    assert steps(plan) == {"a": "Apply"}


def test_definitions_come_in_waves_and_instances_last() -> None:
    shop, base = definition("Shop", "Database"), definition("Database")
    first, second, third, *_ = Model().sync(snapshot(instance("Shop", "x"), shop, base))
    assert steps(first) == {"database": "Apply", "shop": "Wait", "x": "Wait"}
    assert steps(second) == {"database": "Apply", "shop": "Apply", "x": "Wait"}
    assert steps(third)["x"] == "Apply"


def test_a_definition_that_is_not_accepted_holds_back_its_instances_and_users() -> None:
    objects = (definition("Shop", "Database"), definition("Database"), instance("Database", "d"))
    model = Model(verdicts={"database": HealthStatus(Health.DEGRADED, "bad schema")})
    last = model.sync(snapshot(*objects, config_map("a")))[-1]
    assert codes(last) == ["definition-refused", "held-back", "held-back"]
    assert [each.ref.name for each in last.current] == ["database", "a"]
    assert last.faults[-1].message == (
        "1 Database object of this revision held back: definition database was not accepted"
    )


def test_a_definition_that_is_not_applied_holds_back_its_instances() -> None:
    model = Model(rejected={"shop"})
    last = model.sync(snapshot(definition("Shop"), instance("Shop", "x")))[-1]
    assert codes(last) == ["held-back"]
    assert "definition shop was not applied" in last.faults[0].message
    # Held back is still desired: nobody may prune it.
    assert ("kro.run", "Shop", "team", "x") in last.keys


def test_a_definition_that_progresses_is_awaited() -> None:
    model = synced(definition("Shop"))
    model.verdicts["shop"] = HealthStatus(Health.PROGRESSING, "not picked up yet")
    plan, _ = model.plan(snapshot(definition("Shop")))
    pending = plan.pending()
    assert pending is not None
    assert [each.ref.name for each in pending.awaits] == ["shop"]


def test_definitions_that_need_each_other_are_rejected_together() -> None:
    objects = (definition("A", "B"), definition("B", "A"), definition("C", "A"))
    last = Model().sync(snapshot(*objects, instance("A", "x")))[-1]
    assert codes(last) == ["definition-cycle", "held-back", "held-back"]
    assert last.current == ()


def test_a_later_layer_starts_when_the_earlier_one_is_complete() -> None:
    model = Model()
    found = snapshot(config_map("a"), config_map("b", **{DEPENDS_ON: "ConfigMap/team/a"}))
    plan, observed = model.plan(found)
    assert steps(plan) == {"a": "Apply", "b": "Wait"}
    stage = plan.pending()
    assert stage is not None
    assert stage.gates_health
    failed = (ExecutedStage(stage, StageResult(is_complete=False)),)
    blocked, _ = model.plan(found, observed, plan.executed(()) + failed)
    assert blocked.result.is_cut_short
    assert blocked.pending((*plan.executed(()), *failed)) is None
    *_, last = model.sync(found)
    assert [each.ref.name for each in last.current] == ["a", "b"]


def test_an_annotation_that_cannot_be_followed_is_a_fault_of_its_object() -> None:
    plan, _ = Model().plan(snapshot(config_map("a"), config_map("b", **{WAVE: "first"})))
    assert codes(plan) == ["invalid-wave"]
    assert steps(plan) == {"a": "Apply"}


def test_what_failed_in_this_sync_is_not_tried_again_in_it() -> None:
    model = Model(rejected={"a"})
    plans = model.sync(snapshot(namespace("prod"), config_map("a"), config_map("b")))
    assert sum(isinstance(s, Apply) for s in plans[-1].stages[-1].steps) == 2
    assert [each.ref.name for each in plans[-1].current] == ["prod", "b"]


# Replace

IMMUTABLE = "field is immutable when `immutable` is set"


def invalid(
    message: str, *, reason: str = "FieldValueForbidden", subject: str = "a", causes: bool = True
) -> Invalid:
    text = f'ConfigMap "{subject}" is invalid: data: Forbidden: {message}'
    found = (Cause(reason, f"Forbidden: {message}", "data"),) if causes else ()
    return Invalid(Status(422, "Invalid", text, found))


def changed(**annotations: str) -> Apply:
    model = synced(config_map("a", **annotations))
    plan, _ = model.plan(snapshot(config_map("a", data="new", **annotations)))
    [step] = plan.stages[-1].applies
    return step


def test_an_immutable_object_is_replaced_if_it_or_its_source_allows_that() -> None:
    error = invalid(IMMUTABLE)
    assert replacement(changed(), error, SPEC) is None
    found = replacement(changed(**{FORCE: "enabled"}), error, SPEC)
    assert isinstance(found, Replace)
    assert found.changes_uid("uid-1")
    assert replacement(changed(), error, replace(SPEC, force=True)) is not None


def test_only_an_immutable_field_is_a_reason_to_replace() -> None:
    step = changed(**{FORCE: "enabled"})
    assert replacement(step, invalid("must be a string"), SPEC) is None
    # The name of an object says nothing about its fields.
    assert replacement(step, invalid("must be a string", subject="immutable"), SPEC) is None
    other = invalid(IMMUTABLE, reason="FieldValueRequired")
    assert replacement(step, other, SPEC) is None
    assert replacement(step, KroGitopsError("invalid", IMMUTABLE), SPEC) is None


def test_a_status_without_causes_is_read_behind_the_name() -> None:
    step = changed(**{FORCE: "enabled"})
    assert replacement(step, invalid(IMMUTABLE, causes=False), SPEC) is not None
    named = invalid("must be a string", subject="immutable", causes=False)
    assert replacement(step, named, SPEC) is None


def test_what_others_hold_or_others_own_is_not_replaced() -> None:
    step, error = changed(**{FORCE: "enabled"}), invalid(IMMUTABLE)
    assert step.live is not None
    metadata = {**step.live["metadata"], "finalizers": ["example.org/wait"]}
    held = replace(step, live={**step.live, "metadata": metadata})
    assert replacement(held, error, SPEC) is None
    assert replacement(replace(step, is_ours=False), error, SPEC) is None
    assert replacement(replace(step, live=None), error, SPEC) is None


# Prune


def test_what_git_no_longer_has_is_deleted() -> None:
    model = synced(config_map("a"), config_map("b"))
    plan, _ = model.plan(snapshot(config_map("b")))
    assert isinstance(plan.prune, Prune)
    assert [[each.ref.name for each in group] for group in plan.prune.plan.delete] == [["a"]]


def test_nothing_is_deleted_while_something_fails() -> None:
    model = synced(config_map("a"))
    plan, _ = model.plan(snapshot(custom("Widget", "w")))
    assert isinstance(plan.prune, PrunePostponed)
    assert [fault.code for fault in plan.result.warnings] == ["prune-postponed"]


def test_nothing_is_deleted_while_another_source_may_take_it_over() -> None:
    model = synced(config_map("a"), config_map("b"))
    model.others = OtherSources(is_behind=True)
    plan, _ = model.plan(snapshot(config_map("b")))
    assert isinstance(plan.prune, PrunePostponed)
    assert plan.prune.is_for_others
    assert plan.result.pending == 1


def test_an_object_that_another_source_claims_is_handed_over() -> None:
    model = synced(config_map("a"), config_map("b"))
    model.others = claimed(Claimant("team/other"))
    plan, _ = model.plan(snapshot(config_map("b")))
    assert isinstance(plan.prune, Prune)
    assert plan.prune.plan.delete == ()
    assert plan.result.waiting == ("source team/other to take over ConfigMap team/a",)
    assert plan.result.is_cut_short


def claimed(claimant: Claimant) -> OtherSources:
    return OtherSources(lambda key: claimant if key == KEY else None, lambda _: True)


def test_the_claim_of_a_source_in_trouble_is_shown_and_ends() -> None:
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    model = synced(config_map("a"), config_map("b"))
    model.others = claimed(Claimant.of("team/other", "it is suspended", None, 600.0, now))
    plan, _ = model.plan(snapshot(config_map("b")))
    assert plan.result.waiting == (
        "source team/other to take over ConfigMap team/a "
        "(it is suspended: the object is deleted at 2026-03-01T12:10:00Z)",
    )
    later = now + timedelta(seconds=600)
    model.others = claimed(Claimant.of("team/other", "it is suspended", now, 600.0, later))
    plan, _ = model.plan(snapshot(config_map("b")))
    assert isinstance(plan.prune, Prune)
    assert [each.ref.name for group in plan.prune.plan.delete for each in group] == ["a"]
    assert plan.result.waiting == ()


@pytest.mark.parametrize(("trouble", "deleted"), [("", []), ("it fails", ["a"])])
def test_an_annotation_overrules_only_a_source_in_trouble(trouble: str, deleted: list[str]) -> None:
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    model = synced(config_map("a", **{PRUNE: "enabled"}), config_map("b"))
    model.others = claimed(Claimant.of("team/other", trouble, None, 600.0, now))
    plan, _ = model.plan(snapshot(config_map("b")))
    assert isinstance(plan.prune, Prune)
    assert [each.ref.name for group in plan.prune.plan.delete for each in group] == deleted


def test_more_than_the_limit_is_deleted_only_if_the_commit_says_so() -> None:
    objects = [config_map(f"c{number}") for number in range(9)]
    model = synced(*objects)
    model.spec = replace(SPEC, brake=Brake(percent=50.0, count=2))
    plan, _ = model.plan(snapshot(objects[0]))
    assert plan.result.braked.startswith("8 of 9 objects would be deleted")
    assert isinstance(plan.prune, Prune)
    assert plan.prune.plan.delete == ()
    model.message = f"Remove\n\n{ALLOW_PRUNE}"
    allowed, _ = model.plan(snapshot(objects[0]))
    assert isinstance(allowed.prune, Prune)
    assert len(allowed.prune.plan.delete[0]) == 8


def test_an_object_that_opts_out_is_kept_and_reported() -> None:
    model = synced(config_map("a", **{PRUNE: "disabled"}), config_map("b"))
    plan, _ = model.plan(snapshot(config_map("b")))
    assert isinstance(plan.prune, Prune)
    assert plan.prune.plan.delete == ()
    assert [fault.code for fault in plan.result.warnings] == ["kept"]


def test_an_object_of_another_owner_leaves_the_inventory_only() -> None:
    model = synced(config_map("a"), config_map("b"))
    model.live[KEY]["metadata"]["uid"] = "another"
    plan, _ = model.plan(snapshot(config_map("b")))
    assert isinstance(plan.prune, Prune)
    assert plan.prune.candidates.forgotten == (KEY,)
    assert plan.prune.plan.delete == ()


def test_a_definition_waits_for_its_last_instances() -> None:
    model = synced(definition("Shop"), instance("Shop", "x"), config_map("a"))
    plan, _ = model.plan(snapshot(config_map("a")))
    assert isinstance(plan.prune, Prune)
    assert [[each.ref.name for each in group] for group in plan.prune.plan.delete] == [["x"]]
    assert plan.prune.plan.waits


def test_a_source_that_does_not_prune_deletes_nothing() -> None:
    model = synced(config_map("a"), config_map("b"))
    model.spec = replace(SPEC, prune=False)
    plan, _ = model.plan(snapshot(config_map("b")))
    assert isinstance(plan.prune, Prune)
    assert plan.prune.plan.delete == ()
    assert model.inventory.find(KEY) is not None


# Purity


def test_planning_changes_nothing_that_it_is_given() -> None:
    model = synced(config_map("a"), config_map("b"))
    found = snapshot(config_map("b", data="new"), definition("Shop"))
    before = (dict(model.memory.desired), dict(model.memory.kept), list(model.inventory))
    model.plan(found)
    assert (dict(model.memory.desired), dict(model.memory.kept), list(model.inventory)) == before
    assert model.inventory.changes() == model.inventory.changes()


def test_what_did_not_change_at_all_is_the_very_same_step() -> None:
    model, found = synced(config_map("a")), snapshot(config_map("a"))
    plan, _ = model.plan(found)
    [step] = plan.stages[-1].keeps
    assert step.live is not None
    assert kept_again(step, step.desired, step.live) is step


def test_a_new_status_is_no_reason_to_compare_again() -> None:
    model, found = synced(config_map("a")), snapshot(config_map("a"))
    [step] = model.plan(found)[0].stages[-1].keeps
    live = model.finder(step.desired.ref.kind)
    assert live is not None
    again = kept_again(step, step.desired, live("team", "a") or {})
    assert again is not None
    assert again is not step
    assert again.uid == ""  # it is recorded already


def test_what_was_reverted_in_git_is_compared_again() -> None:
    model, found = synced(config_map("a")), snapshot(config_map("a"))
    [step] = model.plan(found)[0].stages[-1].keeps
    model.live[KEY]["metadata"]["labels"] = {SOURCE_HASH: "of another revision"}
    live = model.finder(step.desired.ref.kind)
    assert live is not None
    assert kept_again(step, step.desired, live("team", "a") or {}) is None
    assert steps(model.plan(found)[0]) == {"a": "Apply"}


# Completion


def test_a_last_stage_that_went_well_completes_its_plan() -> None:
    model, found = Model(), snapshot(config_map("a"))
    plan, _ = model.plan(found)
    stage = plan.pending()
    assert stage is not None
    result = model.execute(stage)
    completed = plan.completed(stage, result, model.inventory)
    again, _ = model.plan(found, done=(*plan.executed(()), ExecutedStage(stage, result)))
    assert completed is not None
    assert (completed.current, completed.claims) == (again.current, again.claims)
    assert completed.result == again.result
    assert again.prune is None


def test_a_stage_that_failed_or_leaves_something_to_prune_does_not() -> None:
    model, found = Model(), snapshot(config_map("a"))
    plan, _ = model.plan(found)
    [*_, stage] = plan.stages
    fault = SyncResult(failures=(Fault("api-error", "no"),))
    assert plan.completed(stage, StageResult(result=fault), model.inventory) is None
    result = model.execute(stage)
    model.inventory.put(Entry(ObjectRef(Kind("", "v1", "ConfigMap"), "team", "old"), "uid"))
    assert plan.completed(stage, result, model.inventory) is None
