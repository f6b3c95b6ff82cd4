"""`get` before there is a cluster; with one: tests/e2e/test_cluster_verbs.py."""

import json
from pathlib import Path

import pytest

from kro_gitops.cli.output import Style
from kro_gitops.cli.tables import Line, format_names, format_objects, format_table
from kube_objects.refs import KubeObject
from tests.command import run


class Terminal:
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have no cluster anywhere."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def kubeconfig(folder: Path, server: str) -> Path:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{"name": "x", "cluster": {"server": server}}],
        "users": [{"name": "x", "user": {}}],
    }
    file = folder / "kubeconfig"
    file.write_text(json.dumps(config))
    return file


@pytest.mark.parametrize("verb", [("get", "rgds"), ("tree",), ("explain", "webapp/front")])
def test_without_a_kubeconfig_it_says_how_to_name_a_cluster(verb: tuple[str, ...]) -> None:
    done = run(*verb)
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "error[no-kubeconfig]: there is no kubeconfig, so nobody knows which cluster is meant\n"
        "  hint: give --kubeconfig FILE, or set KUBECONFIG\n"
    )


def test_a_kubeconfig_that_is_not_there() -> None:
    done = run("get", "rgds", "--kubeconfig", "nowhere")
    assert (done.code, done.err) == (
        1,
        "error[no-kubeconfig]: there is no kubeconfig at nowhere\n",
    )


def test_a_server_that_does_not_answer(home: Path) -> None:
    done = run("get", "rgds", "--kubeconfig", kubeconfig(home, "http://127.0.0.1:9"))
    assert done.code == 1
    assert done.err.startswith("error[cluster-unavailable]: no response to get /api: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "the following arguments are required: WHAT"),
        (("pods",), "argument WHAT: invalid choice: 'pods'"),
        (("instances", "a/b/c"), "argument NAME: 'a/b/c' is not KIND/NAME"),
        (("instances", "webapp/"), "argument NAME: 'webapp/' is not KIND/NAME"),
        (("rgds", "-o", "xml"), "argument -o/--output: invalid choice: 'xml'"),
    ],
)
def test_a_wrong_command_line(words: tuple[str, ...], message: str) -> None:
    done = run("get", *words)
    assert (done.code, done.out) == (64, "")
    assert message in done.err


def test_columns_line_up_and_empty_ones_are_left_out() -> None:
    lines = [Line(("a", "", "日本", "x")), Line(("long name", "", "b", ""))]
    style = Style(Terminal())  # type: ignore[arg-type]  # all it asks for
    assert format_table(("NAME", "NONE", "CITY", "LAST"), lines, style) == (
        "NAME        CITY   LAST\na           日本   x\nlong name   b\n"
    )


def test_words_that_say_how_it_is_are_coloured() -> None:
    style = Style(Terminal())  # type: ignore[arg-type]  # all it asks for
    lines = [Line(("True", "x")), Line(("False", "y")), Line(("-", "z"), is_dim=True)]
    assert format_table(("READY", "NAME"), lines, style) == (
        "READY   NAME\n"
        "\x1b[32mTrue\x1b[0m    x\n"
        "\x1b[31mFalse\x1b[0m   y\n"
        "\x1b[2m-       z\x1b[0m\n"
    )


def test_text_of_strangers_does_not_steer_the_terminal() -> None:
    style = Style(Terminal())  # type: ignore[arg-type]  # all it asks for
    printed = format_table(("MESSAGE",), [Line(("a\x1b[31m\nb" + "c" * 1000,))], style)
    assert "\x1b" not in printed
    assert printed.count("\n") == 2
    assert len(printed) < 300


OBJECT: KubeObject = {
    "apiVersion": "kro.run/v1",
    "kind": "WebApp",
    "metadata": {"name": "front", "managedFields": [{}]},
}


def test_objects_as_lists_and_alone() -> None:
    alone = json.loads(format_objects([OBJECT], "json", is_one=True))
    assert alone == {"apiVersion": "kro.run/v1", "kind": "WebApp", "metadata": {"name": "front"}}
    assert format_objects([], "yaml", is_one=False) == "apiVersion: v1\nkind: List\nitems: []\n"
    core = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}
    assert format_names([OBJECT, core]) == "webapp.kro.run/front\npod/x\n"
