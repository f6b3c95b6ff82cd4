"""The command line of `explain`; on a cluster: tests/e2e/test_cluster_verbs.py."""

import pytest

from tests.command import run


@pytest.mark.parametrize("word", ["webapp", "webapp/", "/front", "a/b/c", ""])
def test_one_instance_must_be_named(word: str) -> None:
    done = run("explain", word)
    assert (done.code, done.out) == (64, "")
    assert f"'{word}' is not KIND/NAME, as in webapp/front" in done.err


def test_an_instance_is_in_one_namespace() -> None:
    done = run("explain", "webapp/front", "-A")
    assert done.code == 64
    assert "unrecognized arguments: -A" in done.err


def test_the_help_says_what_the_exit_code_means() -> None:
    assert "exit codes: 0 healthy and what git says, 1 not" in run("explain", "--help").out
