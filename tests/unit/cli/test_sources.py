"""The verbs about sources before there is a cluster; with one: tests/e2e/test_source_verbs.py."""

from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from kro_gitops.cli.argument_types import SourceName, duration, source_name
from tests.command import run


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Have no cluster anywhere."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "found"),
    [("shop", SourceName("shop")), ("gitops/shop", SourceName("shop", "gitops"))],
)
def test_sources_are_named_with_or_without_a_namespace(text: str, found: SourceName) -> None:
    assert source_name(text) == found


@pytest.mark.parametrize("text", ["", "/shop", "gitops/", "a/b/c"])
def test_what_names_no_source(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is not NAME or NAMESPACE/NAME"):
        source_name(text)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("5m", 300), ("1h30m", 5400), ("2d", 172800)]
)
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "5", "0s", "-5m", "5 m", "1.5h", "m", "5w", "9999999d"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is not a duration such as 90s, 5m or 1h30m"):
        duration(text)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sync",), "the following arguments are required: SOURCE"),
        (("sync", "a/b/c"), "argument SOURCE: 'a/b/c' is not NAME or NAMESPACE/NAME"),
        (("sync", "a/b", "-n", "c"), "SOURCE is in namespace 'a', but -n is 'c'"),
        (("sync", "a", "--timeout", "soon"), "argument --timeout: 'soon' is not a duration"),
        (("rollback", "a", "1", "--to", "b"), "REVISION and --to COMMIT cannot"),
        (
            ("rollback", "a", "--undo", "--reason", "x"),
            "--undo cannot be used with REVISION, --to",
        ),
        (("rollback", "a", "--undo", "2"), "--undo cannot be used with REVISION, --to"),
        (("suspend",), "SOURCE is missing: name a source, or give --all"),
        (("resume", "a", "--all"), "SOURCE and --all cannot be used together"),
        (("suspend", "a", "-A"), "-A needs --all"),
        (("history", "a", "-o", "wide"), "argument -o/--output: invalid choice: 'wide'"),
    ],
)
def test_a_wrong_command_line(words: tuple[str, ...], message: str) -> None:
    done = run(*words)
    assert (done.code, done.out) == (64, "")
    assert message in done.err
    assert f"Try 'kro-gitops {words[0]} --help'." in done.err


@pytest.mark.parametrize("verb", ["sync", "suspend", "resume", "history", "rollback"])
def test_without_a_cluster_nothing_is_done(verb: str) -> None:
    done = run(verb, "shop")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error[no-kubeconfig]")
