from typing import Any

import pytest

from kro_gitops.engine.labels import definition_labels, instance_labels
from kro_gitops.metadata import (
    APPLYSET_PART_OF,
    ARGOCD_INSTALLATION_ID,
    ARGOCD_TRACKING_ID,
    MANAGED_BY,
    SOURCE_MANAGER,
)
from kro_gitops.settings.tracking_options import INSTANCE_LABEL, Method
from kro_gitops.tracking.foreign_owners import ForeignOwner, find_foreign_owner
from kro_gitops.tracking.methods import ArgoCD
from kube_objects.refs import Kind, KubeObject, ObjectRef

OWN_ID = {ARGOCD_TRACKING_ID: "web:apps/Deployment:prod/api"}
BY_LABEL = ArgoCD(Method.LABEL)
SHOP = ObjectRef(Kind("kro.run", "v1alpha1", "WebApp"), "prod", "shop")
FLUX = "kustomize.toolkit.fluxcd.io"
HELM_RELEASE = {
    "meta.helm.sh/release-name": "web",
    "meta.helm.sh/release-namespace": "prod",
}


def deployment(
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    managers: list[dict[str, Any]] | None = None,
) -> KubeObject:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "api",
            "namespace": "prod",
            "labels": labels or {},
            "annotations": annotations or {},
            "managedFields": managers or [],
        },
    }


def manager(name: str, operation: str = "Update", **more: Any) -> dict[str, Any]:
    return {"manager": name, "operation": operation, "fieldsV1": {"f:spec": {}}, **more}


def applied_by_us(section: str, *keys: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"f:metadata": {f"f:{section}": {f"f:{key}": {} for key in keys}}}
    return manager(SOURCE_MANAGER, "Apply", fieldsV1=fields)


def owner(live: KubeObject, argocd: ArgoCD | None = None, part_of: str = "") -> str:
    found = find_foreign_owner(live, argocd=argocd or ArgoCD(), part_of=part_of)
    return "" if found is None else str(found)


@pytest.mark.parametrize(
    ("live", "said"),
    [
        pytest.param(
            deployment(annotations=OWN_ID),
            "Argo CD application web (tracking id)",
            id="a tracking id that names the object",
        ),
        pytest.param(
            deployment(annotations={**OWN_ID, ARGOCD_INSTALLATION_ID: "other"}),
            "Argo CD application web (tracking id)",
            id="of another Argo CD",
        ),
        pytest.param(
            deployment({f"{FLUX}/name": "apps", f"{FLUX}/namespace": "flux-system"}),
            "Flux Kustomization flux-system/apps (labels)",
            id="a Kustomization",
        ),
        pytest.param(
            deployment(
                {"helm.toolkit.fluxcd.io/name": "web", "helm.toolkit.fluxcd.io/namespace": "prod"}
            ),
            "Flux HelmRelease prod/web (labels)",
            id="a HelmRelease",
        ),
        pytest.param(
            deployment({MANAGED_BY: "Helm"}, HELM_RELEASE),
            "Helm release prod/web (release annotations)",
            id="a release of Helm's",
        ),
        pytest.param(
            deployment({APPLYSET_PART_OF: "applyset-x-v1"}),
            "apply set applyset-x-v1 (label applyset.kubernetes.io/part-of)",
            id="another apply set",
        ),
        pytest.param(
            deployment(instance_labels(SHOP, "uid-1", "v1")),
            "kro instance WebApp prod/shop (labels)",
            id="a child of an instance",
        ),
        pytest.param(
            deployment(managers=[manager("kubectl"), manager("argocd-controller", "Apply")]),
            "Argo CD (field manager argocd-controller)",
            id="applied by Argo CD",
        ),
        pytest.param(
            deployment(managers=[manager("argocd-application-controller")]),
            "Argo CD (field manager argocd-application-controller)",
            id="updated by an older Argo CD",
        ),
        pytest.param(
            deployment(managers=[manager("kustomize-controller", "Apply")]),
            "Flux (field manager kustomize-controller)",
            id="applied by a Kustomization",
        ),
        pytest.param(
            deployment(managers=[manager("helm-controller")]),
            "Flux (field manager helm-controller)",
            id="installed by a HelmRelease",
        ),
        pytest.param(
            deployment(managers=[manager("helm")]),
            "Helm (field manager helm)",
            id="installed by Helm",
        ),
    ],
)
def test_an_owner_is_named(live: KubeObject, said: str) -> None:
    assert owner(live) == said


@pytest.mark.parametrize(
    "live",
    [
        pytest.param(deployment(), id="an object without marks"),
        pytest.param(
            deployment(annotations={ARGOCD_TRACKING_ID: "web:kro.run/WebApp:prod/shop"}),
            id="a copied tracking id",
        ),
        pytest.param(
            deployment(annotations={ARGOCD_TRACKING_ID: "web:apps/Deployment:other/api"}),
            id="an id of the same name elsewhere",
        ),
        pytest.param(deployment(annotations={ARGOCD_TRACKING_ID: "web"}), id="no id at all"),
        pytest.param(deployment({INSTANCE_LABEL: "web"}), id="the default label"),
        pytest.param(deployment({f"{FLUX}/name": "apps"}), id="half of Flux's labels"),
        pytest.param(deployment({MANAGED_BY: "Helm"}), id="rendered from a chart"),
        pytest.param(deployment(annotations=HELM_RELEASE), id="annotations of a release alone"),
        pytest.param(
            deployment(managers=[manager("argocd-controller", subresource="status")]),
            id="only its status was written",
        ),
        pytest.param(
            deployment(managers=[manager("kubectl-client-side-apply"), manager("kubelet")]),
            id="written by people and by Kubernetes",
        ),
        pytest.param(deployment({"kro.run/owned": "true"}), id="owned by kro, but no child"),
        pytest.param(
            deployment({**instance_labels(SHOP, "u", "v1"), "kro.run/owned": "false"}),
            id="a child that was let go",
        ),
        pytest.param({"apiVersion": "v1", "kind": "ConfigMap"}, id="no metadata"),
        pytest.param({"metadata": {"labels": [], "managedFields": [None]}}, id="nonsense"),
    ],
)
def test_what_names_no_owner_is_nobodys(live: KubeObject) -> None:
    assert owner(live) == ""


def test_under_label_tracking_the_label_counts_and_the_id_does_not() -> None:
    assert owner(deployment({INSTANCE_LABEL: "web"}), BY_LABEL) == (
        f"Argo CD application web (label {INSTANCE_LABEL})"
    )
    assert owner(deployment(annotations=OWN_ID), BY_LABEL) == ""


def test_argo_cd_may_have_a_label_of_its_own() -> None:
    argocd = ArgoCD(Method.LABEL, "argocd.argoproj.io/instance")
    assert owner(deployment({INSTANCE_LABEL: "web"}), argocd) == ""
    assert "web" in owner(deployment({"argocd.argoproj.io/instance": "web"}), argocd)


def test_our_own_apply_set_is_no_foreigner() -> None:
    live = deployment({APPLYSET_PART_OF: "applyset-ours-v1"})
    assert owner(live, part_of="applyset-ours-v1") == ""


def test_an_instance_belongs_into_git_though_its_kind_is_kros() -> None:
    instance = {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "WebApp",
        "metadata": {"name": "shop", "labels": definition_labels("webapp", "uid", "v1")},
    }
    assert owner(instance) == ""


def test_a_generated_crd_belongs_to_its_definition() -> None:
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "webapps.kro.run",
            "labels": definition_labels("webapp", "uid", "v1"),
        },
    }
    assert owner(crd) == "kro definition webapp (labels)"


@pytest.mark.parametrize(
    ("live", "argocd"),
    [
        pytest.param(
            deployment(
                annotations=OWN_ID, managers=[applied_by_us("annotations", ARGOCD_TRACKING_ID)]
            ),
            ArgoCD(),
            id="the id of a bridge",
        ),
        pytest.param(
            deployment({INSTANCE_LABEL: "web"}, managers=[applied_by_us("labels", INSTANCE_LABEL)]),
            BY_LABEL,
            id="a label that stands in git",
        ),
    ],
)
def test_a_mark_that_we_wrote_is_no_owner(live: KubeObject, argocd: ArgoCD) -> None:
    assert owner(live, argocd) == ""


def test_a_tool_that_writes_what_we_marked_shows_by_its_manager() -> None:
    live = deployment(
        annotations=OWN_ID,
        managers=[
            applied_by_us("annotations", ARGOCD_TRACKING_ID),
            manager("argocd-controller", "Apply"),
        ],
    )
    assert owner(live) == "Argo CD (field manager argocd-controller)"


def test_a_mark_that_we_merely_updated_is_still_somebody_elses() -> None:
    entry = {**applied_by_us("annotations", ARGOCD_TRACKING_ID), "operation": "Update"}
    assert "web" in owner(deployment(annotations=OWN_ID, managers=[entry]))


def test_the_parts_of_an_owner_can_be_told_apart() -> None:
    found = find_foreign_owner(deployment(annotations=OWN_ID), argocd=ArgoCD())
    assert found == ForeignOwner("Argo CD", "web", "tracking id")
