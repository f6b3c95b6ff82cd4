"""Waiting for a source: states in, lines and an outcome out."""

from typing import Any

import pytest

from kro_gitops.inspect.views.source_progress import Goal, Outcome, Seen, step, timed_out
from kube_objects.refs import KubeObject

OLD, NEW = "1a" * 20, "2b" * 20
REQUEST = "2026-03-01T12:00:00.000000001Z"


def condition(type_: str, status: str, message: str = "", **more: Any) -> KubeObject:
    return {"type": type_, "status": status, "reason": "Because", "message": message, **more}


READY = condition("Ready", "True", "applied")
BROKEN = condition("Ready", "False", "one failed")
BUSY = condition("Reconciling", "True")


def source(*conditions: KubeObject, suspend: bool = False, **status: Any) -> KubeObject:
    whole = {"observedGeneration": 2, "phase": "Healthy", "conditions": list(conditions)}
    whole |= {"lastAppliedRevision": f"main@sha1:{OLD}", "lastHandledReconcileAt": REQUEST}
    return {
        "apiVersion": "gitops.kro.run/v1alpha1",
        "kind": "GitSource",
        "metadata": {"name": "shop", "namespace": "gitops", "generation": 2},
        "spec": {"suspend": suspend},
        "status": {**whole, **status},
    }


SYNC, CHANGE = Goal(request=REQUEST), Goal(generation=2)


def told(goal: Goal, *states: KubeObject | None) -> tuple[list[str], Outcome | None]:
    """Play states through; return what is printed, and how it ends."""
    seen = Seen()
    lines: list[str] = []
    for state in states:
        found = step(seen, goal, state)
        seen = found.seen
        lines += found.lines
        if found.outcome:
            return lines, found.outcome
    return lines, None


def ends(goal: Goal, state: KubeObject | None) -> Outcome | None:
    return step(Seen(), goal, state).outcome


@pytest.mark.parametrize(
    ("goal", "state"),
    [
        pytest.param(
            SYNC, source(READY, lastHandledReconcileAt="before"), id="another was answered"
        ),
        pytest.param(SYNC, source(READY, BUSY), id="answered, and under way"),
        pytest.param(SYNC, source(condition("Ready", "Unknown")), id="nobody knows yet"),
        pytest.param(SYNC, source(), id="no conditions yet"),
        pytest.param(CHANGE, source(READY, observedGeneration=1), id="an older spec"),
        pytest.param(
            CHANGE,
            source(condition("Ready", "True", observedGeneration=1)),
            id="Ready is about an older spec",
        ),
        pytest.param(Goal(2, commit=NEW), source(READY), id="ready, at another commit"),
        pytest.param(
            Goal(2, suspended=True), source(READY, suspend=True), id="still at it when suspended"
        ),
    ],
)
def test_what_is_no_end(goal: Goal, state: KubeObject) -> None:
    assert ends(goal, state) is None


@pytest.mark.parametrize(
    ("goal", "state"),
    [
        pytest.param(SYNC, source(READY), id="answered"),
        pytest.param(CHANGE, source(READY), id="the change was read"),
        pytest.param(
            Goal(2, commit=NEW), source(READY, lastAppliedRevision=f"main@sha1:{NEW}"), id="pinned"
        ),
        pytest.param(
            Goal(2, suspended=True),
            source(condition("Suspended", "True"), suspend=True),
            id="at rest",
        ),
        pytest.param(
            Goal(2, suspended=True), source(suspend=True, phase="Suspended"), id="by its phase"
        ),
    ],
)
def test_what_is_a_good_end(goal: Goal, state: KubeObject) -> None:
    found = ends(goal, state)
    assert found is not None
    assert found.is_good


@pytest.mark.parametrize(
    ("goal", "state", "headline"),
    [
        pytest.param(SYNC, source(BROKEN), "gitops/shop is not ready: one failed", id="failed"),
        pytest.param(
            SYNC,
            source(BROKEN, {**BUSY, "reason": "ProgressingWithRetry"}),
            "gitops/shop is not ready: one failed",
            id="failed, and tried again later",
        ),
        pytest.param(
            Goal(2, commit=NEW), source(BROKEN), "gitops/shop is not ready: one failed", id="pin"
        ),
        pytest.param(
            SYNC, source(READY, suspend=True), "gitops/shop is suspended", id="suspended meanwhile"
        ),
        pytest.param(
            Goal(2, suspended=True),
            source(READY),
            "gitops/shop was resumed by another client",
            id="resumed meanwhile",
        ),
        pytest.param(SYNC, None, "the source was deleted", id="deleted"),
    ],
)
def test_what_is_a_bad_end(goal: Goal, state: KubeObject | None, headline: str) -> None:
    found = ends(goal, state)
    assert found is not None
    assert (found.is_good, found.headline) == (False, headline)


def test_a_source_that_begins_to_go_is_not_waited_for() -> None:
    going = source(READY)
    going["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    found = ends(SYNC, going)
    assert found is not None
    assert found.headline == "gitops/shop is being deleted"


def applying(ready: int) -> KubeObject:
    return source(
        *(condition("Ready", "Unknown"), BUSY),
        phase="Applying",
        lastAttemptedRevision=f"main@sha1:{NEW}",
        inventory={"objects": 40, "ready": ready},
    )


def test_a_line_for_each_change_and_none_for_numbers() -> None:
    fetching = source(READY, phase="Fetching", lastHandledReconcileAt="")
    blocked = condition("PruneBlocked", "True", "30 of 40 would go")
    lines, outcome = told(
        SYNC,
        fetching,
        fetching,
        applying(0),
        applying(12),
        source(BROKEN, blocked, BUSY, phase="Applying", lastAttemptedRevision=f"main@sha1:{NEW}"),
        source(READY, lastAttemptedRevision=f"main@sha1:{NEW}", inventory={"objects": 40}),
    )
    assert lines == [
        "Fetching",
        "Applying 0/40 · main@2b2b2b2",
        "Ready=Unknown (Because)",
        "PruneBlocked=True (Because: 30 of 40 would go)",
        "Ready=False (Because: one failed)",
        "Healthy · main@2b2b2b2",
        "Ready=True (Because: applied)",
        "PruneBlocked is over",
    ]
    assert outcome is not None
    assert outcome.headline == "gitops/shop is ready at main@1a1a1a1: 0/40 objects ready"


def test_the_live_line_counts() -> None:
    assert step(Seen(), SYNC, applying(12)).live == "Applying 12/40 · main@2b2b2b2"
    fresh = source()
    del fresh["status"]
    assert step(Seen(), SYNC, fresh).live == "waiting to be picked up"


def test_failures_come_with_their_place_and_a_hint() -> None:
    failure = {"object": "WebApp a/b", "file": "b.yaml", "line": 7, "column": 3, "message": "no"}
    found = ends(SYNC, source(BROKEN, failures=[failure], failuresOmitted=2))
    assert found is not None
    assert found.failures == ("b.yaml:7:3: WebApp a/b: no", "and 2 more")
    assert found.hint.startswith("correct the files in git")


def test_when_time_is_up_it_says_how_far_it_came() -> None:
    found = timed_out(applying(12), "5m")
    assert found == Outcome(
        is_good=False,
        headline="gitops/shop is not done after 5m: Applying 12/40 · main@2b2b2b2 · Because",
    )
