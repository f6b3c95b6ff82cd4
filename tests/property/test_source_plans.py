"""A source that was synced, and did not change, has nothing to do."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from objects_testing.budgets import examples

from kro_gitops.metadata import DEPENDS_ON, PRUNE, WAVE
from kro_gitops.source.api.types import Allow, Brake
from kro_gitops.source.files.revision import Snapshot
from kro_gitops.source.plan.model import Memory, Prune, SourcePlan
from kro_gitops.source.plan.steps import Keep
from kube_objects.refs import KubeObject
from tests.source_model import (
    SPEC,
    Model,
    config_map,
    crd,
    custom,
    definition,
    instance,
    namespace,
    snapshot,
)

KINDS = ("Alpha", "Beta", "Gamma")
NAMES = ("a", "b", "c")
ANNOTATIONS: tuple[dict[str, str], ...] = (
    {},
    {},
    {WAVE: "1"},
    {WAVE: "-3"},
    {DEPENDS_ON: "ConfigMap/team/a"},
    {WAVE: "many"},
    {PRUNE: "disabled"},
)
LIMITED = replace(SPEC, allow=Allow(kinds=("ConfigMap",), rgds=True))
SPECS = (SPEC, SPEC, LIMITED, replace(SPEC, brake=Brake(percent=0.0, count=0)))


@st.composite
def objects(draw: st.DrawFn) -> KubeObject:
    name, kind = draw(st.sampled_from(NAMES)), draw(st.sampled_from(KINDS))
    match draw(st.integers(0, 6)):
        case 0:
            return namespace(name)
        case 1:
            return crd(kind)
        case 2:
            return custom(kind, name)
        case 3:
            return definition(kind, *draw(st.lists(st.sampled_from(KINDS), max_size=2)))
        case 4:
            return instance(kind, name)
        case _:
            place = draw(st.sampled_from(("", "team", "prod")))
            text = draw(st.sampled_from(("x", "y")))
            return config_map(name, place, text, **draw(st.sampled_from(ANNOTATIONS)))


REVISIONS = st.lists(objects(), max_size=9).map(lambda found: snapshot(*found))


def settled(model: Model, found: Snapshot) -> SourcePlan:
    """Sync until a plan deletes nothing more: groups are deleted one after the other."""
    for _ in range(20):
        *_, last = model.sync(found)
        if not isinstance(last.prune, Prune) or not last.prune.plan.delete:
            return last
    raise AssertionError("there is always something to delete")


def idle(plan: SourcePlan) -> None:
    """Check that a plan has nothing to do."""
    written = [step for stage in plan.stages for step in stage.steps if not isinstance(step, Keep)]
    assert written == []
    assert not isinstance(plan.prune, Prune) or plan.prune.plan.delete == ()


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(REVISIONS, min_size=1, max_size=3), st.sampled_from(SPECS))
def test_planning_twice_without_a_change_has_nothing_to_do(
    revisions: list[Snapshot], spec: object
) -> None:
    model = Model(spec=spec)  # type: ignore[arg-type]
    for found in revisions:
        last = settled(model, found)
        again = model.sync(found)[-1]
        idle(again)
        # Faults do not change what exists, and are reported every time.
        assert [each.message for each in again.faults] == [each.message for each in last.faults]


@settings(max_examples=examples(100), deadline=None)
@given(REVISIONS)
def test_a_restarted_controller_has_nothing_to_do(found: Snapshot) -> None:
    model = Model()
    settled(model, found)
    before = list(model.inventory)
    model.memory = Memory()
    plans = model.sync(found)
    assert not [stage for plan in plans for stage in plan.stages if stage.applies]
    idle(plans[-1])
    assert list(model.inventory) == before


@settings(max_examples=examples(100), deadline=None)
@given(REVISIONS, REVISIONS)
def test_whatever_is_in_git_is_never_pruned(first: Snapshot, second: Snapshot) -> None:
    model = Model()
    settled(model, first)
    plan = model.sync(second)[-1]
    if isinstance(plan.prune, Prune):
        deleted = {each.ref for group in plan.prune.plan.delete for each in group}
        assert not deleted & {each.ref for each in plan.desired.values()}
        assert not plan.faults
