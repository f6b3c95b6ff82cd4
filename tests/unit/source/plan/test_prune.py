from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kro_gitops.metadata import (
    ARGOCD_SYNC_OPTIONS,
    DEPENDS_ON,
    PRUNE,
    PRUNE_APPROVED,
    SOURCE,
    WAVE,
)
from kro_gitops.source.api.types import Brake
from kro_gitops.source.plan.prune import (
    ALLOW_PRUNE,
    Candidate,
    PruneFacts,
    PrunePlan,
    plan_prune,
)
from kro_gitops.source.plan.stages import stage_of
from kube_objects.refs import KubeObject, ObjectRef

COMMIT = "0123456789abcdef0123456789abcdef01234567"
REVISION = f"main@sha1:{COMMIT}"
FLUX_PRUNE = "kustomize.toolkit.fluxcd.io/prune"
HELM_POLICY = "helm.sh/resource-policy"


def live(kind: str, name: str, namespace: str = "prod", **metadata: Any) -> KubeObject:
    version, kind = kind.split()
    place = {"namespace": namespace} if namespace else {}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name, "uid": f"uid-{name}", **place, **metadata},
    }


def config_map(name: str = "settings", namespace: str = "prod", **annotations: str) -> KubeObject:
    return live("v1 ConfigMap", name, namespace, annotations=annotations)


def annotated(annotations: dict[str, str]) -> KubeObject:
    return live("v1 ConfigMap", "settings", annotations=annotations)


def namespace(name: str, annotations: dict[str, str] | None = None) -> KubeObject:
    return live("v1 Namespace", name, "", annotations=annotations or {})


def definition(name: str, kind: str, *uses: str) -> KubeObject:
    found = live("kro.run/v1alpha1 ResourceGraphDefinition", name, "")
    resources = [
        {"id": use.lower(), "template": {"apiVersion": "kro.run/v1alpha1", "kind": use}}
        for use in uses
    ]
    found["spec"] = {"schema": {"apiVersion": "v1alpha1", "kind": kind}, "resources": resources}
    return found


def crd(annotations: dict[str, str] | None = None) -> KubeObject:
    kind = "apiextensions.k8s.io/v1 CustomResourceDefinition"
    found = live(kind, "widgets.example.io", "", annotations=annotations or {})
    found["spec"] = {"group": "example.io", "names": {"kind": "Widget"}}
    return found


def candidate(obj: KubeObject, uid: str | None = None) -> Candidate:
    ref = ObjectRef.of(obj)
    found = obj["metadata"]["uid"] if uid is None else uid
    return Candidate(ref, found, stage_of(ref.kind), obj)


def plan(objects: Sequence[KubeObject | Candidate], **facts: Any) -> PrunePlan:
    told: dict[str, Any] = {
        "total": 100,
        "brake": Brake(),
        "allows_empty": False,
        "is_empty": False,
        "message": "Remove things",
        "revision": REVISION,
        "instances_left": lambda _: 0,
    }
    candidates = [each if isinstance(each, Candidate) else candidate(each) for each in objects]
    return plan_prune(candidates, PruneFacts(**{**told, **facts}))


def deleted(found: PrunePlan) -> list[list[str]]:
    return [[each.ref.name for each in group] for group in found.delete]


def forgotten(found: PrunePlan) -> dict[str, str]:
    return {each.ref.name: reason for each, reason in found.forget}


def kept(found: PrunePlan) -> dict[str, str]:
    return {each.ref.name: reason for each, reason in found.kept}


def test_what_is_no_longer_wanted_goes() -> None:
    found = plan([config_map()])
    assert deleted(found) == [["settings"]]
    assert (found.kept, found.braked, found.forget) == ((), "", ())


def test_nothing_to_prune_is_an_empty_plan() -> None:
    assert plan([], is_empty=True) == PrunePlan()


def test_what_is_not_in_the_cluster_is_forgotten() -> None:
    gone = replace(candidate(config_map()), live=None)
    found = plan([gone])
    assert found.forget == ((gone, "it is gone"),)
    assert (found.delete, found.kept) == ((), ())


OPT_OUTS = [
    {PRUNE: "disabled"},
    {PRUNE: "Disabled"},
    {PRUNE: "false"},
    {PRUNE: "never"},
    {PRUNE: "confirm"},
    {PRUNE: "confirm", PRUNE_APPROVED: "fedcba9876543210"},
    {PRUNE: "confirm", PRUNE_APPROVED: "012345"},
    {PRUNE: "confirm", PRUNE_APPROVED: ""},
    {PRUNE: "confirm", PRUNE_APPROVED: "main"},
    {ARGOCD_SYNC_OPTIONS: "Prune=false"},
    {ARGOCD_SYNC_OPTIONS: "Delete=false, Prune=false"},
    {ARGOCD_SYNC_OPTIONS: "Prune=confirm"},
    {ARGOCD_SYNC_OPTIONS: "Prune=false", PRUNE: "enabled"},
    {FLUX_PRUNE: "disabled"},
    {HELM_POLICY: "keep"},
    {HELM_POLICY: "keep", PRUNE: "confirm", PRUNE_APPROVED: COMMIT},
]
CONSENTS = [
    {},
    {PRUNE: "enabled"},
    {PRUNE: "confirm", PRUNE_APPROVED: REVISION},
    {PRUNE: "confirm", PRUNE_APPROVED: COMMIT},
    {PRUNE: "confirm", PRUNE_APPROVED: COMMIT[:7]},
    {PRUNE: "confirm", PRUNE_APPROVED: f"sha1:{COMMIT}"},
    {ARGOCD_SYNC_OPTIONS: "Prune=confirm", PRUNE_APPROVED: COMMIT},
    {ARGOCD_SYNC_OPTIONS: "Delete=false,PruneLast=true"},
    {FLUX_PRUNE: "enabled"},
    {HELM_POLICY: "delete"},
]


@pytest.mark.parametrize("annotations", OPT_OUTS, ids=str)
def test_an_object_may_say_no(annotations: dict[str, str]) -> None:
    found = plan([annotated(annotations)])
    assert deleted(found) == []
    assert list(kept(found)) == ["settings"]


@pytest.mark.parametrize("annotations", CONSENTS, ids=str)
def test_an_object_that_does_not_say_no_goes(annotations: dict[str, str]) -> None:
    assert deleted(plan([annotated(annotations)])) == [["settings"]]


def test_flux_takes_a_no_from_a_label_too() -> None:
    found = plan([live("v1 ConfigMap", "settings", labels={FLUX_PRUNE: "disabled"})])
    assert FLUX_PRUNE in kept(found)["settings"]


def test_the_reason_says_how_to_approve() -> None:
    assert kept(plan([annotated({PRUNE: "confirm"})]))["settings"] == (
        f"it waits for approval: annotate it {PRUNE_APPROVED}: {COMMIT}"
    )


def test_an_approval_without_a_revision_is_none() -> None:
    found = plan([annotated({PRUNE: "confirm", PRUNE_APPROVED: ""})], revision="")
    assert deleted(found) == []


def test_an_object_made_anew_by_somebody_is_not_ours() -> None:
    found = plan([candidate(config_map(), uid="uid-of-before")])
    assert "uid differs" in forgotten(found)["settings"]
    assert (found.delete, found.kept) == ((), ())


def test_an_object_never_seen_made_is_ours_only_with_our_mark() -> None:
    found = plan([candidate(config_map(), uid="")])
    assert "never recorded" in forgotten(found)["settings"]
    assert found.delete == ()
    marked = candidate(annotated({SOURCE: "team/shop"}), uid="")
    assert deleted(plan([marked], source="team/shop")) == [["settings"]]


def test_an_object_that_moved_to_another_source_is_left_to_it() -> None:
    found = plan([annotated({SOURCE: "team/other"})], source="team/shop")
    assert forgotten(found) == {"settings": "it belongs to source team/other now"}
    assert found.delete == ()


def test_what_is_not_ours_still_holds_its_namespace() -> None:
    moved = annotated({SOURCE: "team/other"})
    found = plan([namespace("prod", {PRUNE: "enabled"}), moved], source="team/shop")
    assert "ConfigMap prod/settings" in kept(found)["prod"]


def test_objects_go_before_definitions_and_those_before_namespaces() -> None:
    found = plan(
        [
            namespace("prod", {PRUNE: "enabled"}),
            definition("webapp", "WebApp"),
            live("kro.run/v1alpha1 Other", "front"),
            config_map(),
        ]
    )
    assert deleted(found) == [["front", "settings"], ["webapp"], ["prod"]]


def test_objects_go_in_the_reverse_of_their_order() -> None:
    found = plan(
        [
            config_map("base", **{WAVE: "-1"}),
            config_map("db"),
            config_map("app", **{DEPENDS_ON: "ConfigMap/prod/db"}),
        ]
    )
    assert deleted(found) == [["app"], ["db"], ["base"]]


def test_definitions_go_before_those_whose_kinds_they_use() -> None:
    found = plan([definition("database", "Database"), definition("shop", "Shop", "Database")])
    assert deleted(found) == [["shop"], ["database"]]


def test_definitions_in_a_ring_go_too() -> None:
    ring = [definition("a", "A", "B"), definition("b", "B", "A"), definition("free", "Free")]
    assert deleted(plan(ring)) == [["a", "b"], ["free"]]


def test_a_version_that_is_no_longer_recorded_is_no_obstacle() -> None:
    newer = live("autoscaling/v2 HorizontalPodAutoscaler", "scaler")
    older = live("autoscaling/v1 HorizontalPodAutoscaler", "scaler")
    found = plan([replace(candidate(older), live=newer)])
    assert deleted(found) == [["scaler"]]


def test_a_definition_stays_while_instances_are_left_anywhere() -> None:
    found = plan([definition("webapp", "WebApp")], instances_left=lambda _: 3)
    assert kept(found) == {
        "webapp": "3 instances of its kind are left, and would be deleted with it"
    }
    assert not found.waits


def test_a_definition_waits_for_instances_that_go_in_the_same_revision() -> None:
    objects = [definition("webapp", "WebApp"), live("kro.run/v1alpha1 WebApp", "front")]
    found = plan(objects, instances_left=lambda _: 1)
    assert deleted(found) == [["front"]]
    assert "waits" in kept(found)["webapp"]
    assert found.waits


def test_a_definition_is_asked_about_with_its_own_object() -> None:
    left = {"Kept": 1, "Free": 0}
    found = plan(
        [definition("kept", "Kept"), definition("free", "Free")],
        instances_left=lambda live: left[live["spec"]["schema"]["kind"]],
    )
    assert deleted(found) == [["free"]]


def test_a_definition_stays_with_an_instance_that_is_kept_or_wanted() -> None:
    front = live("kro.run/v1alpha1 WebApp", "front", annotations={PRUNE: "disabled"})
    found = plan([definition("webapp", "WebApp"), front])
    assert kept(found)["webapp"] == "WebApp prod/front would be deleted with it, and stays"
    wanted = plan([definition("webapp", "WebApp")], desired=[ObjectRef.of(front)])
    assert list(kept(wanted)) == ["webapp"]


@pytest.mark.parametrize("obj", [namespace("prod"), crd()], ids=["namespace", "crd"])
def test_what_holds_things_of_others_stays_unless_it_asks(obj: KubeObject) -> None:
    name = obj["metadata"]["name"]
    assert f"{PRUNE}: enabled" in kept(plan([obj]))[name]
    for annotations in ({PRUNE: "enabled"}, {PRUNE: "confirm", PRUNE_APPROVED: COMMIT}):
        consenting = {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}
        assert deleted(plan([consenting])) == [[name]]


def test_a_namespace_stays_with_what_stays_in_it() -> None:
    keeping = annotated({PRUNE: "disabled"})
    found = plan([namespace("prod", {PRUNE: "enabled"}), keeping])
    assert "ConfigMap prod/settings" in kept(found)["prod"]
    wanted = plan([namespace("prod", {PRUNE: "enabled"})], desired=[ObjectRef.of(keeping)])
    assert "ConfigMap prod/settings" in kept(wanted)["prod"]
    elsewhere = ObjectRef.of(config_map(namespace="dev"))
    assert deleted(plan([namespace("prod", {PRUNE: "enabled"})], desired=[elsewhere])) == [["prod"]]


def test_a_crd_stays_with_an_object_of_its_kind() -> None:
    widget = live("example.io/v1 Widget", "w", annotations={PRUNE: "disabled"})
    assert "Widget prod/w" in kept(plan([crd({PRUNE: "enabled"}), widget]))["widgets.example.io"]


def many(count: int) -> list[KubeObject]:
    return [config_map(f"c{number:02}") for number in range(count)]


@pytest.mark.parametrize(
    ("count", "total", "brakes"),
    [
        pytest.param(6, 10, True, id="more than both"),
        pytest.param(5, 10, False, id="few, though half"),
        pytest.param(30, 100, False, id="many, and just as many as allowed"),
        pytest.param(31, 100, True, id="one more"),
        pytest.param(6, 0, True, id="a total that cannot be"),
    ],
)
def test_too_many_at_once_are_held_back(count: int, total: int, brakes: bool) -> None:
    found = plan(many(count), total=total)
    assert bool(found.braked) is brakes
    assert (found.delete == ()) is brakes


def test_a_brake_says_what_it_holds_and_how_to_let_go() -> None:
    said = plan(many(8), total=10).braked
    assert "8 of 10 objects would be deleted" in said
    assert "ConfigMap prod/c00, ConfigMap prod/c01, ConfigMap prod/c02, and 5 more" in said
    assert ALLOW_PRUNE in said
    assert "spec.maxPrune" in said


def test_an_empty_revision_deletes_nothing() -> None:
    found = plan(many(1), is_empty=True)
    assert found.delete == ()
    assert "spec.allowEmpty: true" in found.braked


def test_an_empty_revision_may_be_allowed() -> None:
    found = plan(many(8), total=8, is_empty=True, allows_empty=True)
    assert len(found.delete[0]) == 8
    assert plan(many(8), total=8, allows_empty=True).braked != ""


@pytest.mark.parametrize(
    ("message", "lifts"),
    [
        (f"Tidy up\n\n{ALLOW_PRUNE}\n", True),
        (f"Tidy up\r\n\r\n  {ALLOW_PRUNE}  \r\nSigned-off-by: me", True),
        (f"Revert {ALLOW_PRUNE}", False),
        (f"Tidy up\n\n> {ALLOW_PRUNE}", False),
        ("kro-gitops: allow-prunes", False),
        ("", False),
    ],
)
def test_a_commit_message_lifts_the_brakes(message: str, lifts: bool) -> None:
    assert (plan(many(8), total=8, message=message).braked == "") is lifts
    assert (plan(many(8), total=8, message=message, is_empty=True).braked == "") is lifts


def test_what_is_on_its_way_out_counts_no_more() -> None:
    going = [
        live("v1 ConfigMap", f"g{number}", deletionTimestamp="2026-01-01T00:00:00Z")
        for number in range(8)
    ]
    found = plan([*going, *many(3)], total=11)
    assert found.braked == ""
    assert len(found.delete[0]) == 11


def test_what_stays_anyway_does_not_count() -> None:
    stays = [config_map(f"s{number}", **{PRUNE: "disabled"}) for number in range(8)]
    assert plan([*stays, *many(3)], total=11).braked == ""


_ANNOTATIONS = st.sampled_from([*OPT_OUTS, *CONSENTS])
_KINDS: tuple[Callable[[str], KubeObject], ...] = (
    config_map,
    namespace,
    lambda name: definition(name, name.title()),
    lambda name: live(f"kro.run/v1alpha1 {name.title()}", f"{name}-instance", "beta"),
    lambda name: crd(),
)


@st.composite
def _candidates(draw: st.DrawFn) -> list[Candidate]:
    found: dict[ObjectRef, Candidate] = {}
    for name in draw(st.lists(st.sampled_from(["alpha", "beta", "gamma"]), max_size=9)):
        obj = draw(st.sampled_from(_KINDS))(name)
        obj["metadata"]["annotations"] = draw(_ANNOTATIONS)
        each = candidate(obj, draw(st.sampled_from([None, None, "", "uid-other"])))
        found[each.ref] = each
    return list(found.values())


@given(
    _candidates(),
    st.integers(0, 2),
    st.sampled_from(["", ALLOW_PRUNE]),
    st.booleans(),
    st.booleans(),
)
def test_whatever_comes_nothing_protected_is_deleted(
    candidates: list[Candidate], left: int, message: str, is_empty: bool, allows_empty: bool
) -> None:
    found = plan(
        candidates,
        total=len(candidates),
        instances_left=lambda _: left,
        message=message,
        is_empty=is_empty,
        allows_empty=allows_empty,
    )
    going = [each for group in found.delete for each in group]
    assert not found.braked or not going
    for each in going:
        assert each.live is not None
        assert each.live["metadata"]["annotations"] not in OPT_OUTS
        assert each.uid == each.live["metadata"]["uid"]
        assert not (each.ref.kind.kind == "ResourceGraphDefinition" and left)
    stays = {each.ref for each in candidates} - {each.ref for each in going}
    for each in going:
        if each.ref.kind.kind == "Namespace":
            assert all(ref.namespace != each.ref.name for ref in stays)
    stages = [each.stage for each in going]
    assert stages == sorted(stages, reverse=True)


@given(_candidates())
def test_every_candidate_is_accounted_for_once(candidates: list[Candidate]) -> None:
    found = plan(candidates, message=ALLOW_PRUNE)
    listed = [each.ref for group in found.delete for each in group]
    listed += [each.ref for each, _ in (*found.kept, *found.forget)]
    assert sorted(listed) == sorted(each.ref for each in candidates)
