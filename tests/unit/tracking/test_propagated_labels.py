import pytest

from kro_gitops.tracking.propagated_labels import ALL_LABELS, is_propagated, propagated_labels

ARGO_KEY = "argo.example.com/app"


@pytest.mark.parametrize(
    "key",
    [
        "team",
        "example.com/team",
        "app.kubernetes.io/name",
        "app.kubernetes.io/part-of",
        "notkro.run/x",
        "fluxcd.io/x",
        "mykubernetes.io/x",
    ],
)
def test_labels_for_people_flow(key: str) -> None:
    assert is_propagated(key)


@pytest.mark.parametrize(
    "key",
    [
        "argocd.argoproj.io/instance",
        "applications.argoproj.io/app-name",
        "kustomize.toolkit.fluxcd.io/name",
        "helm.toolkit.fluxcd.io/namespace",
        "kro.run/owned",
        "internal.kro.run/x",
        "gitops.kro.run/source",
        "applyset.kubernetes.io/part-of",
        "applyset.kubernetes.io/id",
        "helm.sh/chart",
        "kubernetes.io/metadata.name",
        "topology.kubernetes.io/zone",
        "k8s.io/x",
        "node.k8s.io/x",
        "app.kubernetes.io/instance",
        "app.kubernetes.io/managed-by",
    ],
)
def test_labels_that_tools_act_on_stay(key: str) -> None:
    assert not is_propagated(key)


@pytest.mark.parametrize(
    ("patterns", "flowing"),
    [
        pytest.param(ALL_LABELS, {"team": "a", "example.com/cost": "b"}, id="everything"),
        pytest.param((), {}, id="nothing"),
        pytest.param(("team",), {"team": "a"}, id="one key"),
        pytest.param(("example.com/*", "x"), {"example.com/cost": "b"}, id="a domain"),
        pytest.param(("kro.run/*",), {}, id="a pattern does not let out what must stay"),
    ],
)
def test_patterns_choose_among_what_may_flow(
    patterns: tuple[str, ...], flowing: dict[str, str]
) -> None:
    labels = {"team": "a", "example.com/cost": "b", "kro.run/owned": "true", ARGO_KEY: "web"}
    assert propagated_labels(labels, patterns, ARGO_KEY) == flowing
