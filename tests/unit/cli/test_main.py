import re
from pathlib import Path

import pytest

from kro_gitops import __version__
from kro_gitops.cli.verbs import VERBS
from tests.command import EXAMPLES, run

WEBAPP = EXAMPLES / "rgds" / "webapp.yaml"


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_every_verb_says_what_it_does_and_ends_with_examples(verb: str) -> None:
    shown = run(verb, "--help")
    assert shown.code == 0
    assert shown.out.startswith(f"usage: kro-gitops {verb} ")
    examples = re.findall(rf"\n  kro-gitops {verb}\b", shown.out)
    assert len(examples) >= 2 or verb in ("completion", "validate")
    assert "\nexamples:\n" in shown.out
    assert shown.out.index("\nexamples:\n") > shown.out.index("\noptions:\n")


def test_the_help_lists_every_verb_with_its_summary() -> None:
    shown = " ".join(run("--help").out.split())
    for verb, declared in VERBS.items():
        assert f"{verb} {declared.summary}" in shown


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("valdate", "(did you mean 'validate'?)"),
        ("reneder", "(did you mean 'render'?)"),
        ("xyzzy", "(choose from validate, render, graph, "),
    ],
)
def test_a_typo_in_a_verb_gets_a_suggestion(typed: str, hint: str) -> None:
    assert f"argument VERB: invalid choice: '{typed}' {hint}" in run(typed).err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("validate", "--strct", "."), "validate: unrecognized arguments: --strct (did you mean "),
        (("run", "--ephemral=true"), "(did you mean '--ephemeral'?)"),
        (("run", "-leader-elekt"), "(did you mean '-leader-elect'?)"),
        (("get", "rgds", "--selctor", "a=b"), "(did you mean '--selector'?)"),
        (
            ("get", "instnces"),
            "argument WHAT: invalid choice: 'instnces' (did you mean 'instances'",
        ),
        (("graph", "x.yaml", "-o", "mermad"), "invalid choice: 'mermad' (did you mean 'mermaid'?)"),
        (("help", "rnu"), "argument VERB: invalid choice: 'rnu' (did you mean 'run'?)"),
    ],
)
def test_a_typo_in_an_option_or_a_value_gets_a_suggestion(
    words: tuple[str, ...], hint: str
) -> None:
    ended = run(*words)
    assert (ended.code, ended.out) == (64, "")
    assert hint in ended.err


def test_an_option_like_no_other_gets_no_suggestion() -> None:
    assert "unrecognized arguments: --xyzzy\n" in run("validate", "--xyzzy", ".").err


def test_the_version_is_printed() -> None:
    assert run("--version").out.startswith("kro-gitops 0.")
    assert run("version").out == f"kro-gitops {__version__}, compatible with kro v0.9.4\n"
    shown = run("version", "-o", "json").json
    assert shown == {"version": __version__, "kroVersion": "v0.9.4"}


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_is_what_its_option_prints(verb: str) -> None:
    asked = run("help", verb)
    assert (asked.code, asked.out) == (0, run(verb, "--help").out)


def test_help_alone_lists_the_verbs() -> None:
    assert run("help").out == run("--help").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param([], "the following arguments are required: VERB", id="no verb"),
        pytest.param(["valdate"], "invalid choice: 'valdate'", id="a verb that is none"),
        pytest.param(["validate"], "required: PATH", id="validate nothing"),
        pytest.param(["render"], "required: PATH", id="render nothing"),
        pytest.param(["graph"], "required: RGD", id="graph of nothing"),
        pytest.param(["generate", "crd"], "required: RGD", id="generate from nothing"),
        pytest.param(["generate", "helm", "x.yaml"], "invalid choice: 'helm'", id="generate what"),
        pytest.param(["eval"], "required: EXPRESSION", id="eval nothing"),
        pytest.param(["completion", "tcsh"], "invalid choice: 'tcsh'", id="another shell"),
        pytest.param(["validate", "-o", "xml", "."], "invalid choice: 'xml'", id="another form"),
        pytest.param(["validate", "--strct", "."], "--strct", id="an option that is none"),
        pytest.param(["validate", "--stri", "."], "--stri", id="an abbreviated option"),
        pytest.param(
            ["validate", "--max-dimensions", "0", "."], "'0' is not a whole number above 0", id="0"
        ),
        pytest.param(
            ["render", "--max-collection-size", "-1", "."], "whole number above 0", id="below 0"
        ),
        pytest.param(["render", ".", "--out", "x", "-o", "json"], "--out writes YAML", id="json"),
        pytest.param(["eval", "1", "--instance", "x"], "need --rgd", id="an instance of what"),
        pytest.param(["eval", "1", "--name", "x"], "need --rgd", id="the name of what"),
    ],
)
def test_a_wrong_command_line_exits_with_64_and_points_to_the_help(
    words: list[str], said: str
) -> None:
    ended = run(*words)
    assert ended.code == 64
    assert ended.out == ""
    assert said in ended.err
    assert "--help'." in ended.err


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["validate", "nowhere.yaml"], id="validate"),
        pytest.param(["render", "nowhere.yaml"], id="render"),
        pytest.param(["render", EXAMPLES, "--set-status", "nowhere.yaml"], id="set-status"),
        pytest.param(["graph", "nowhere.yaml"], id="graph"),
        pytest.param(["generate", "crd", "nowhere.yaml"], id="generate"),
        pytest.param(["eval", "1", "--rgd", "nowhere.yaml"], id="eval --rgd"),
        pytest.param(["eval", "1", "--data", "nowhere.yaml"], id="eval --data"),
        pytest.param(
            ["eval", "1", "--rgd", WEBAPP, "--instance", "nowhere.yaml"], id="eval --instance"
        ),
    ],
)
def test_a_missing_file_is_a_problem_of_one_line(words: list[str | Path]) -> None:
    ended = run(*words)
    assert ended.code == 1
    said = ended.out + ended.err
    assert "nowhere.yaml" in said
    assert "does not exist" in said or "No such file" in said


@pytest.mark.parametrize("words", [("run",), ("render", ".")])
def test_settings_that_are_wrong_do_not_control_the_terminal(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRO_GITOPS_TRACKING_MODE", "\x1b[31mred")
    done = run(*words)
    assert done.code == 64
    assert "\x1b" not in done.err
    assert f"Try 'kro-gitops {words[0]} --help'." in done.err
