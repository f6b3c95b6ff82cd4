"""The verbs about sources before there is a cluster; with one: tests/e2e/test_source_verbs.py."""

from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from kro_gitops.cli.kubeconfig_users import read_kubeconfigs, user_of_context
from kro_gitops.cli.source_options import SourceName, duration, source_name
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
        (("sync", "a/b", "-n", "c"), "SOURCE is in namespace 'a', and -n says another"),
        (("sync", "a", "--timeout", "soon"), "argument --timeout: 'soon' is not a duration"),
        (("rollback", "a"), "--reason TEXT is required"),
        (("rollback", "a", "--reason", "  "), "--reason TEXT is required"),
        (("rollback", "a", "0", "--reason", "x"), "argument N: '0' is not a number above 0"),
        (("rollback", "a", "1", "--to", "b", "--reason", "x"), "either N or --to COMMIT"),
        (("rollback", "a", "--undo", "--reason", "x"), "--undo goes with no N, --to, --reason"),
        (("rollback", "a", "--undo", "2"), "--undo goes with no N, --to, --reason"),
        (("history", "a", "-o", "wide"), "argument -o/--output: invalid choice: 'wide'"),
    ],
)
def test_a_wrong_command_line(words: tuple[str, ...], message: str) -> None:
    done = run(*words)
    assert (done.code, done.out) == (64, "")
    assert message in done.err
    assert f"Try 'kro-gitops {words[0]} --help'." in done.err


@pytest.mark.parametrize("verb", ["sync", "suspend", "resume", "history"])
def test_without_a_cluster_nothing_is_done(verb: str) -> None:
    done = run(verb, "shop")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error[no-kubeconfig]")


FIRST = """
current-context: work
contexts:
- {name: work, context: {cluster: c, user: ann}}
users:
- {name: ann, user: {token: s3cr3t}}
"""
SECOND = """
current-context: other
contexts:
- {name: work, context: {user: nobody}}
- {name: play, context: {user: bob}}
- {name: bare}
"""


@pytest.mark.parametrize(
    ("context", "user"), [("", "ann"), ("work", "ann"), ("play", "bob"), ("bare", ""), ("x", "")]
)
def test_the_user_of_a_context_is_a_name(context: str, user: str, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("first", "second", "broken", "missing")]
    for path, text in zip(paths, (FIRST, SECOND, "{"), strict=False):
        path.write_text(text, encoding="utf-8")
    assert user_of_context(read_kubeconfigs(paths), context) == user
