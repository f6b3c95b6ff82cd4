"""Counting back in what a source ran, and pins."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kro_gitops.errors import UserError
from kro_gitops.inspect.views.source_history import (
    Reason,
    attempts,
    commit_named,
    last_healthy,
    last_healthy_of,
    named_commit,
    pin,
    with_pin_of,
)
from kro_gitops.metadata import REVISION
from kube_objects.refs import KubeObject, ObjectRef

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


def attempted(commit: str, found: KubeObject) -> KubeObject:
    found["status"]["lastAttemptedRevision"] = f"main@sha1:{commit}"
    return found


@pytest.mark.parametrize(
    ("found", "commit"),
    [
        pytest.param(
            attempted(A, source(B, (A, "Failed"), (B, "Healthy"), (C, "Healthy"))),
            B,
            id="the running one, after a revision of which a part failed",
        ),
        pytest.param(
            attempted(A, source(A, (A, "Degraded"), (B, "Healthy"), (C, "Healthy"))),
            B,
            id="the one before a degraded one",
        ),
        pytest.param(
            attempted(A, source(A, (A, "Healthy"), (B, "Degraded"), (C, "Healthy"))),
            C,
            id="the one before a healthy one whose fault nobody sees but its users",
        ),
        pytest.param(
            attempted(A, source(B, (A, ""), (D, "Failed"), (B, "Healthy"))),
            B,
            id="the running one, while the next is applied",
        ),
        pytest.param(
            attempted(B, source(B, (B, "Healthy"), (A, "Healthy"), (B, "Healthy"), (C, "Applied"))),
            C,
            id="further back after a rollback, not forth to what was left",
        ),
        pytest.param(
            attempted(A, source(A, (A, "Healthy"), (B, "Healthy"), (A, "Healthy"), (C, "Failed"))),
            B,
            id="forth if nothing further back was healthy",
        ),
        pytest.param(
            attempted(D, source(A, (A, "Healthy"), (B, "Healthy"))),
            A,
            id="the newest, if the one attempted is not listed yet",
        ),
    ],
)
def test_a_rollback_goes_to_the_newest_healthy_revision(found: KubeObject, commit: str) -> None:
    assert last_healthy(found).commit == commit


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(attempted(A, source(A, (A, "Healthy"))), id="one revision"),
        pytest.param(attempted(A, source(A, (A, "Degraded"), (B, "Degraded"))), id="none healthy"),
        pytest.param({}, id="no status"),
    ],
)
def test_without_a_healthy_revision_there_is_none_to_go_back_to(found: KubeObject) -> None:
    with pytest.raises(UserError) as raised:
        last_healthy(found)
    assert raised.value.code == "no-healthy-revision"


def test_commits_by_number() -> None:
    assert [named_commit(PAST, text) for text in ("0", "1", "2")] == [A, B, C]


def test_the_running_revision_is_named_only_if_it_was_healthy() -> None:
    with pytest.raises(UserError) as raised:
        named_commit(source(A, (A, "Degraded"), (B, "Healthy")), "0")
    assert raised.value.message == (
        "revision 0, main@1a1a1a1, was not healthy: it ended as Degraded"
    )
    assert raised.value.hint.endswith("name its commit: 1a1a1a1a1a1a")


def test_an_earlier_revision_may_be_named_whatever_came_of_it() -> None:
    assert named_commit(source(A, (A, "Healthy"), (B, "Degraded")), "1") == B


def test_a_number_that_is_not_there_says_what_is() -> None:
    with pytest.raises(UserError) as raised:
        named_commit(PAST, "3")
    assert raised.value.code == "no-such-revision"
    assert raised.value.hint.split("\n    ")[1:] == [
        "0  main@1a1a1a1  Healthy",
        "1  main@2b2b2b2  Healthy",
        "2  main@3c3c3c3  Healthy",
    ]


@pytest.mark.parametrize(
    ("text", "commit"),
    [
        pytest.param(D[:7], D, id="the start of one in the history"),
        pytest.param(f"main@{D[:7]}", D, id="as the history shows it"),
        pytest.param(f"main@sha1:{D}", D, id="as the status has it"),
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


FRONT: KubeObject = {
    "apiVersion": "kro.run/v1alpha1",
    "kind": "WebApp",
    "metadata": {"namespace": "shop", "name": "front", "annotations": {REVISION: B}},
}


def test_an_object_goes_back_to_another_content_of_it() -> None:
    found = attempted(A, source(A, (A, "Healthy"), (B, "Healthy"), (D, "Failed"), (C, "Healthy")))
    assert last_healthy_of(found, FRONT).commit == C


def test_an_object_whose_new_version_was_rejected_stays_as_it_is() -> None:
    found = attempted(A, source(B, (A, "Failed"), (B, "Healthy"), (C, "Healthy")))
    found["status"]["failures"] = [{"object": str(ObjectRef.of(FRONT))}]
    assert last_healthy_of(found, FRONT).commit == B


def test_an_object_that_never_changed_has_nothing_to_go_back_to() -> None:
    with pytest.raises(UserError, match="no healthy revision with another content of"):
        last_healthy_of(attempted(A, source(A, (A, "Healthy"), (C, "Healthy"))), FRONT)


def test_a_pin_of_an_object_replaces_its_older_one_and_keeps_the_others() -> None:
    other = {"kind": "ConfigMap", "name": "front", "commit": A}
    metadata = {"namespace": "shop", "name": "repo"}
    found: KubeObject = {"metadata": metadata, "spec": {"pins": [other]}}
    for commit in (A, B):
        found["spec"]["pins"] = with_pin_of(found, FRONT, commit, Reason("red", "ann"))
    assert found["spec"]["pins"] == [
        other,
        {
            **{"group": "kro.run", "kind": "WebApp", "namespace": "shop", "name": "front"},
            **{"commit": B, "reason": "red", "by": "ann"},
        },
    ]
    assert with_pin_of(found, FRONT, "", None) == [other]
