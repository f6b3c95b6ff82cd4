"""`get` before there is a cluster; with one: tests/e2e/test_cluster_verbs.py."""

import io
import json
import re
import sys
from pathlib import Path

import pytest

from kro_gitops.cli.tables import Row, format_names, format_objects, format_table
from kro_gitops.cli.terminal_tables import console_for, live_table, print_table
from kube_objects.refs import KubeObject
from tests.command import run

PAINT = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.StringIO):
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
        "error[no-kubeconfig]: no cluster is configured: there is no kubeconfig\n"
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
    rows = [Row(("a", "", "日本", "x")), Row(("long name", "", "b", ""))]
    assert format_table(("NAME", "NONE", "CITY", "LAST"), rows) == (
        "NAME        CITY   LAST\na           日本   x\nlong name   b\n"
    )


def printed(
    monkeypatch: pytest.MonkeyPatch, header: tuple[str, ...], rows: list[Row], width: int = 80
) -> list[str]:
    """Return what a terminal of some width gets, without the blanks at the end of lines."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", str(width))
    print_table(header, rows)
    return [line.rstrip() for line in terminal.getvalue().splitlines()]


def test_words_that_tell_a_status_are_coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Row(("True", "x")), Row(("False", "y")), Row(("-", "z"), is_dim=True)]
    assert printed(monkeypatch, ("READY", "NAME"), rows) == [
        "READY   NAME",
        "\x1b[32mTrue \x1b[0m   x",
        "\x1b[31mFalse\x1b[0m   y",
        "\x1b[2m-    \x1b[0m   \x1b[2mz   \x1b[0m",
    ]


def test_a_message_is_wrapped_in_its_column_and_a_name_is_never_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "n" * 50
    rows = [Row((name, "one two three four five six seven eight nine"))]
    assert printed(monkeypatch, ("NAME", "MESSAGE"), rows) == [
        "NAME" + " " * 49 + "MESSAGE",
        f"{name}   one two three four five six",
        " " * 53 + "seven eight nine",
    ]
    assert printed(monkeypatch, ("NAME", "MESSAGE"), rows, width=30)[1].startswith(f"{name}   one")


@pytest.mark.parametrize("width", [40, 80, 200])
def test_rows_of_a_live_view_fit_on_one_line_each(width: int) -> None:
    rows = [
        Row(("WebApp/" + "long-" * 10, "Progressing", "2m", "waiting for " + "things " * 10)),
        Row(("short", "Healthy", "1h", "")),
    ]
    terminal = Terminal()
    console = console_for(terminal)
    console.width = width
    console.print(live_table(("OBJECT", "HEALTH", "AGE", "MESSAGE"), rows, width))
    lines = [PAINT.sub("", line) for line in terminal.getvalue().splitlines()]
    assert len(lines) == 3
    assert all(len(line) <= width for line in lines)
    assert "Progressing" in lines[1]
    assert ("…" in lines[1]) is (width < 200)


def test_no_colour_means_no_escape_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    rows = [Row(("True",)), Row(("-",), is_dim=True)]
    assert printed(monkeypatch, ("READY",), rows) == ["READY", "True", "-"]


def test_text_of_the_cluster_cannot_control_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Row(("a\x1b[31m\nb [red]not markup[/red] :smile: " + "c" * 1000,))
    (_, *lines) = printed(monkeypatch, ("NAME",), [row], width=400)
    assert "\x1b" not in "".join(lines)
    assert lines[0].startswith("a\N{REPLACEMENT CHARACTER}[31m b [red]not markup[/red] :smile: ccc")
    plain = format_table(("NAME",), [row])
    assert "\x1b" not in plain
    assert (plain.count("\n"), len(plain) < 300) == (2, True)


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
