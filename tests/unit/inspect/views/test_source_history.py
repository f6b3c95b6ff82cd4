"""Counting back in what a source ran, and pins."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kro_gitops.errors import UserError
from kro_gitops.inspect.views.source_history import (
    Reason,
    attempts,
    commit_before,
    commit_named,
    pin,
)
from kube_objects.refs import KubeObject

A, B, C, D = ("1a" * 20, "2b" * 20, "3c" * 20, "4d" * 20)


def source(running: str, *history: tuple[str, str]) -> KubeObject:
    listed = [{"revision": f"main@sha1:{each}", "result": result} for each, result in history]
    return {"status": {"lastAppliedRevision": f"main@sha1:{running}", "history": listed}}


@pytest.mark.parametrize(
    ("found", "numbers"),
    [
        pytest.param(
            source(A, (A, "Healthy"), (B, "Healthy"), (C, "Applied")), [0, 1, 2], id="all"
        ),
        pytest.param(
            source(B, (A, "Failed"), (B, "Healthy"), (C, "Healthy")),
            [None, 0, 1],
            id="newer than what runs",
        ),
        pytest.param(
            source(A, (A, "Healthy"), (B, "Failed"), (C, "Degraded")), [0, None, 1], id="never ran"
        ),
        pytest.param(
            source(A, (A, "Healthy"), (B, "Healthy"), (A, "Healthy"), (C, "Healthy")),
            [0, 1, None, 2],
            id="ran twice",
        ),
        pytest.param(
            source(D, (A, "Healthy"), (B, "Healthy")), [1, 2], id="what runs is forgotten"
        ),
        pytest.param({}, [], id="no status"),
    ],
)
def test_numbers_count_back_from_what_runs(found: KubeObject, numbers: list[int | None]) -> None:
    assert [each.number for each in attempts(found)] == numbers


def test_an_attempt_says_what_it_did() -> None:
    raw: dict[str, Any] = {
        "revision": f"main@sha1:{A}",
        "started": "2026-03-01T12:00:00Z",
        "finished": "2026-03-01T12:00:07Z",
        "created": 3,
        "changed": 0,
        "pruned": 1,
        "failed": 2,
        "message": "Add the cart\n\nAt last.",
    }
    (found,) = attempts({"status": {"history": [raw]}})
    assert (found.changes, found.message, found.took) == (
        *("+3 -1 !2", "Add the cart …"),
        timedelta(seconds=7),
    )


PAST = source(A, (A, "Healthy"), (B, "Healthy"), (D, "Failed"), (C, "Healthy"))


def test_commits_by_number() -> None:
    assert (commit_before(PAST, 1), commit_before(PAST, 2)) == (B, C)


def test_a_number_that_is_not_there_says_what_is() -> None:
    with pytest.raises(UserError) as raised:
        commit_before(PAST, 3)
    assert raised.value.code == "no-such-revision"
    assert raised.value.hint.split("\n    ")[1:] == [
        "1  main@2b2b2b2  Healthy",
        "2  main@3c3c3c3  Healthy",
    ]


def test_nothing_to_go_back_to() -> None:
    with pytest.raises(UserError) as raised:
        commit_before(source(A, (A, "Healthy")), 1)
    assert raised.value.hint == "there is no other one"


@pytest.mark.parametrize(
    ("text", "commit"),
    [
        pytest.param(D[:7], D, id="the start of one in the history"),
        pytest.param("5e" * 20, "5e" * 20, id="any other in full"),
        pytest.param(("5E" * 20), "5e" * 20, id="in capitals"),
        pytest.param("6f" * 32, "6f" * 32, id="a SHA-256"),
    ],
)
def test_commits_by_name(text: str, commit: str) -> None:
    assert commit_named(PAST, text) == commit


@pytest.mark.parametrize("text", [D[:6], "5e5e5e5", "main", "HEAD~1", "v1.2.3", ""])
def test_what_names_no_commit(text: str) -> None:
    with pytest.raises(UserError) as raised:
        commit_named(PAST, text)
    assert "any other commit is named in full" in raised.value.hint


def test_a_pin_leaves_nothing_of_an_older_one() -> None:
    expires = datetime(2026, 3, 1, 14, tzinfo=UTC)
    assert pin(A, Reason("checkout fails", "ann", expires)) == {
        "spec": {
            "pin": {
                "commit": A,
                "reason": "checkout fails",
                "by": "ann",
                "expires": "2026-03-01T14:00:00Z",
            }
        }
    }
    assert pin(A, Reason("x", ""))["spec"]["pin"] == {
        "commit": A,
        "reason": "x",
        "by": None,
        "expires": None,
    }
