from pathlib import Path

import pytest

from kro_gitops.cli.run.companion import ending
from kro_gitops.cli.run.embedded_api import announcement
from kro_gitops.cli.run.progress import ClusterState, Item, State
from kro_gitops.cli.run.session import next_commands
from kro_gitops.settings.settings import parse_settings
from kube_objects.refs import Kind, ObjectRef

HERE = Path("/srv/data")


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")


def test_one_line_says_what_is_used_and_that_nothing_else_is() -> None:
    said = announcement("https://127.0.0.1:1", Path("/home/me/.local/share/kro-gitops"), {})
    assert said == (
        "embedded API at https://127.0.0.1:1, data in ~/.local/share/kro-gitops; "
        "no cluster is accessed"
    )


def test_the_line_mentions_a_kubeconfig_that_is_not_used() -> None:
    said = announcement("https://127.0.0.1:1", None, {"KUBECONFIG": "/home/me/.kube/config"})
    assert said == (
        "embedded API at https://127.0.0.1:1, data is discarded at the end; "
        "KUBECONFIG is set but ignored: use --kubeconfig or --context for a cluster"
    )


@pytest.mark.parametrize(
    ("flags", "lines"),
    [
        pytest.param(
            {},
            [
                "next, in another terminal:",
                "  export KUBECONFIG=/srv/data/kubeconfig",
                "  kubectl get webapps -A",
                "  kro-gitops tree -A",
            ],
            id="it goes on",
        ),
        pytest.param(
            {"once": "true", "data-dir": "/srv/data"},
            [
                "next: `kro-gitops run --data-dir /srv/data` serves it again; then, in "
                "another terminal,",
                "  export KUBECONFIG=/srv/data/kubeconfig",
                "  kubectl get webapps -A",
                "  kro-gitops tree -A",
            ],
            id="it ends",
        ),
        pytest.param(
            {"once": "true", "ephemeral": "true"},
            ["the data is discarded; without --once it is served until Ctrl-C"],
            id="nothing is kept",
        ),
    ],
)
def test_how_to_next_commands(flags: dict[str, str], lines: list[str]) -> None:
    settings = parse_settings(flags, {})
    assert next_commands("webapps", HERE / "kubeconfig", settings).splitlines() == lines


def test_in_a_cluster_of_the_users_nothing_is_exported() -> None:
    settings = parse_settings({"context": "dev"}, {})
    assert next_commands("", None, settings) == "next:\n  kro-gitops tree -A"


FAILED = Item(
    ObjectRef(Kind("kro.run", "v1alpha1", "WebApp"), "shop", "front"), State.FAILED, "refused"
)


def test_an_ending_says_how_long_it_took_and_why() -> None:
    said = ending(ClusterState(instances=(FAILED,)), "3.0 s", lambda _: "x", is_good=False)
    assert said == (
        "\nnot ready after 3.0 s: 0 sources · 0 definitions · 0/1 instances · 0 children\n"
        "WebApp shop/front: refused\n"
    )


def test_an_ending_without_anything_says_what_to_give() -> None:
    said = ending(ClusterState(), "0.1 s", lambda _: "x", is_good=True)
    assert said == "there is nothing to reconcile: --repo names a repository to follow\n"


@pytest.mark.parametrize(
    ("folder", "typed"),
    [
        ("/home/me/my data", "~/'my data/kubeconfig'"),
        ("/srv/my data", "'/srv/my data/kubeconfig'"),
        ("/home/me/data", "~/data/kubeconfig"),
    ],
)
def test_what_is_to_be_typed_can_be(folder: str, typed: str) -> None:
    told = next_commands("", Path(folder) / "kubeconfig", parse_settings({}, {}))
    assert f"  export KUBECONFIG={typed}\n" in told
