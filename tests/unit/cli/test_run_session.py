from pathlib import Path

import pytest

from kro_gitops.cli.progress import Item, Picture, State
from kro_gitops.cli.run_companion import ending
from kro_gitops.cli.run_session import announcement, look_around
from kro_gitops.settings.settings import parse_settings
from kube_objects.refs import Kind, ObjectRef

HERE = Path("/srv/data")


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")


def test_one_line_says_what_is_used_and_that_nothing_else_is() -> None:
    said = announcement("https://127.0.0.1:1", Path("/home/me/.local/share/kro-gitops"), {})
    assert said == (
        "embedded API at https://127.0.0.1:1, kept in ~/.local/share/kro-gitops; "
        "no cluster of yours is touched"
    )


def test_the_line_mentions_a_kubeconfig_that_is_not_used() -> None:
    said = announcement("https://127.0.0.1:1", None, {"KUBECONFIG": "/home/me/.kube/config"})
    assert said == (
        "embedded API at https://127.0.0.1:1, gone when this ends; "
        "KUBECONFIG is set and not used: --kubeconfig or --context names a cluster"
    )


@pytest.mark.parametrize(
    ("flags", "lines"),
    [
        pytest.param(
            {},
            [
                "look around, in another terminal:",
                "  export KUBECONFIG=/srv/data/kubeconfig",
                "  kubectl get webapps -A",
                "  kro-gitops tree -A",
            ],
            id="it goes on",
        ),
        pytest.param(
            {"once": "true", "data-dir": "/srv/data"},
            [
                "look around: `kro-gitops run --data-dir /srv/data` serves it again; then, in "
                "another terminal,",
                "  export KUBECONFIG=/srv/data/kubeconfig",
                "  kubectl get webapps -A",
                "  kro-gitops tree -A",
            ],
            id="it ends",
        ),
        pytest.param(
            {"once": "true", "ephemeral": "true"},
            ["nothing of it is kept; without --once it stays until Ctrl-C"],
            id="nothing is kept",
        ),
    ],
)
def test_how_to_look_around(flags: dict[str, str], lines: list[str]) -> None:
    settings = parse_settings(flags, {})
    assert look_around("webapps", HERE / "kubeconfig", settings).splitlines() == lines


def test_in_a_cluster_of_the_users_nothing_is_exported() -> None:
    settings = parse_settings({"context": "dev"}, {})
    assert look_around("", None, settings) == "look around:\n  kro-gitops tree -A"


FAILED = Item(
    ObjectRef(Kind("kro.run", "v1alpha1", "WebApp"), "shop", "front"), State.FAILED, "refused"
)


def test_an_ending_says_how_long_it_took_and_why() -> None:
    said = ending(Picture(instances=(FAILED,)), "3.0 s", lambda _: "x", is_good=False)
    assert said == (
        "\nnot ready after 3.0 s: 0 sources · 0 definitions · 0/1 instances · 0 children\n"
        "WebApp shop/front: refused\n"
    )


def test_an_ending_without_anything_says_what_to_give() -> None:
    said = ending(Picture(), "0.1 s", lambda _: "x", is_good=True)
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
    told = look_around("", Path(folder) / "kubeconfig", parse_settings({}, {}))
    assert f"  export KUBECONFIG={typed}\n" in told
