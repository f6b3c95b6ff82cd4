"""Whatever instance, template and policy: Argo CD leaves the children we stamp alone."""

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from objects_testing.budgets import examples

from kro_gitops.settings.tracking_options import INSTANCE_LABEL, Method, Mode
from kro_gitops.tracking.methods import ArgoCD
from kro_gitops.tracking.stamp import Child, Parent, Policy, stamp
from kube_objects.errors import RefusedError
from tests.argocd_model import Expected, expected_argocd

TRACKING = "argocd.argoproj.io/tracking-id"
INSTALLATION = "argocd.argoproj.io/installation-id"
SYNC = "argocd.argoproj.io/sync-options"
BUDGET = settings(max_examples=examples(200))

namespaces = st.sampled_from(("", "town", "city"))
ids = st.sampled_from(
    (
        "web:shops.example.com/Shop:town/corner",
        "web:apps/Deployment:town/web",
        "web:apps/Deployment:city/web",
        "other:apps/Deployment:/web",
        "web",
        "",
    )
)
label_keys = st.sampled_from((INSTANCE_LABEL, "example.com/app"))
labels = st.dictionaries(label_keys | st.just("team"), st.sampled_from(("web", "x")), max_size=3)
options = st.sampled_from(("ServerSideApply=true", "Prune=false", "Delete=confirm, Replace=true"))
annotations = st.fixed_dictionaries(
    {}, optional={TRACKING: ids, INSTALLATION: st.sampled_from(("blue", "green")), SYNC: options}
)


def objects(api_version: str, kind: str, name: str) -> st.SearchStrategy[dict[str, Any]]:
    def build(namespace: str, **metadata: Any) -> dict[str, Any]:
        about = {"name": name, "uid": "u-1", "namespace": namespace, **metadata}
        return {"apiVersion": api_version, "kind": kind, "metadata": about}

    return st.builds(build, namespaces, labels=labels, annotations=annotations)


instances = objects("shops.example.com/v2", "Shop", "corner")
templates = objects("apps/v1", "Deployment", "web")
installations = st.sampled_from(("", "blue", "green"))
argocds = st.builds(ArgoCD, st.sampled_from(Method), label_keys, installations)
policies = st.builds(
    Policy,
    st.sampled_from(Mode),
    argocds,
    st.sampled_from(((), ("*",))),
    st.booleans(),
)


def emitted(instance: dict[str, Any], template: dict[str, Any], policy: Policy) -> dict[str, Any]:
    """Return the child, or give up where the template is refused."""
    try:
        return stamp(Parent.of(instance), Child.of(template), policy).onto(template)
    except RefusedError:
        assume(False)
        raise


@BUDGET
@given(instances, templates, policies, installations)
def test_a_stamped_child_is_neither_pruned_nor_deleted_with_its_application(
    instance: dict[str, Any], template: dict[str, Any], policy: Policy, installation: str
) -> None:
    child = emitted(instance, template, policy)
    argocd = policy.argocd
    expected = expected_argocd(child, argocd.method, installation, argocd.label_key)
    assert not expected.prune
    assert not expected.cascade_delete


@BUDGET
@given(instances, templates, st.sampled_from(Method), installations)
def test_nor_if_nobody_told_us_how_argo_cd_tracks(
    instance: dict[str, Any], template: dict[str, Any], method: Method, installation: str
) -> None:
    # A label of the template's own is the author's: nobody can know what it means.
    assume(INSTANCE_LABEL not in template["metadata"]["labels"])
    child = emitted(instance, template, Policy())
    expected = expected_argocd(child, method, installation)
    assert not expected.prune
    assert not expected.cascade_delete


@BUDGET
@given(instances, templates, policies)
def test_a_child_refers_to_its_instance_exactly_where_kubernetes_would_find_it(
    instance: dict[str, Any], template: dict[str, Any], policy: Policy
) -> None:
    child = emitted(instance, template, policy)
    home = instance["metadata"]["namespace"]
    found = not home or home == template["metadata"]["namespace"]
    assert bool(child["metadata"].get("ownerReferences")) is found


@BUDGET
@given(instances, templates, policies)
def test_what_a_template_sets_stays(
    instance: dict[str, Any], template: dict[str, Any], policy: Policy
) -> None:
    child = emitted(instance, template, policy)["metadata"]
    written = template["metadata"]
    assert child["labels"] == {**child["labels"], **written["labels"]}
    for key in (TRACKING, INSTALLATION):
        assert child["annotations"].get(key) == written["annotations"].get(key) or (
            not {TRACKING, INSTALLATION} & set(written["annotations"])
        )
    options = child["annotations"].get(SYNC, "").replace(" ", "")
    assert options.startswith(written["annotations"].get(SYNC, "").replace(" ", ""))


OWNED: dict[str, Any] = {"ownerReferences": [{"uid": "u-1"}]}
COPIED = {"annotations": {TRACKING: "web:kro.run/Shop:town/corner"}}
NAMING = {"annotations": {TRACKING: "web:apps/Deployment:town/web"}}
LABELLED = {"labels": {INSTANCE_LABEL: "web"}}
SHIELDED = {**COPIED["annotations"], SYNC: "Prune=false,Delete=false"}


@pytest.mark.parametrize(
    ("carries", "by_annotation", "by_label"),
    [
        pytest.param(
            {},
            Expected(False, "", False, False, "nobody"),
            Expected(False, "", False, False, "nobody"),
            id="nothing: invisible",
        ),
        pytest.param(
            COPIED,
            Expected(True, "", False, True, "application"),
            Expected(False, "", False, False, "nobody"),
            id="a copied id: top level, goes with the application",
        ),
        pytest.param(
            {**COPIED, **OWNED},
            Expected(False, "", False, False, "owner"),
            Expected(False, "", False, False, "owner"),
            id="a copied id and an owner: nested",
        ),
        pytest.param(
            NAMING,
            Expected(True, "OutOfSync", True, True, "application"),
            Expected(False, "", False, False, "nobody"),
            id="an id of its own: pruned",
        ),
        pytest.param(
            LABELLED,
            Expected(False, "", False, False, "nobody"),
            Expected(True, "OutOfSync", True, True, "application"),
            id="a label: pruned where labels count",
        ),
        pytest.param(
            {**NAMING, **OWNED, **LABELLED},
            Expected(False, "", False, False, "owner"),
            Expected(False, "", False, False, "owner"),
            id="an owner protects whatever else there is",
        ),
        pytest.param(
            {"annotations": SHIELDED},
            Expected(True, "", False, False, "application"),
            Expected(False, "", False, False, "nobody"),
            id="a copied id and a shield: top level, left alone",
        ),
    ],
)
def test_the_model_does_what_a_real_argo_cd_did(
    carries: dict[str, Any], by_annotation: Expected, by_label: Expected
) -> None:
    metadata = {"name": "web", "namespace": "town", **carries}
    obj = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}
    assert expected_argocd(obj, "annotation") == by_annotation
    assert expected_argocd(obj, "annotation+label") == by_annotation
    assert expected_argocd(obj, "label") == by_label
