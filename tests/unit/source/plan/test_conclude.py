"""What follows from a result: conditions, history, and when the source is reconciled again."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kro_gitops.errors import KroGitopsError, UserError
from kro_gitops.source.api.types import Pin, SourceSpec, Verify, VerifyMode
from kro_gitops.source.plan.conclude import (
    Attempt,
    CommitFacts,
    Conclusion,
    History,
    Now,
    UnverifiedError,
    begin_run,
    conclude,
    conclude_without_revision,
    fetch_delay,
    overdue_after,
    report_error,
    report_suspended,
)
from kro_gitops.source.plan.result import Fault, Phase, SyncResult
from kro_gitops.source.plan.status import Report, Run
from kube_objects.conditions import Condition

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
SPEC = SourceSpec(url="https://example.org/shop", interval=60.0, health_timeout=300.0)
COMMIT = CommitFacts("main@sha1:abc", "Ann", "Change the colour", "Ann (ssh SHA256:x)")
FAILED = SyncResult(failures=(Fault("api-error", "no answer"),))
LASTING = SyncResult(failures=(Fault("unknown-field", "no such field", is_lasting=True),))


def concluded(
    result: SyncResult,
    history: History | None = None,
    *,
    seconds: float = 0.0,
    spec: SourceSpec = SPEC,
    attempt: Attempt | None = None,
) -> Conclusion:
    now = Now(AT + timedelta(seconds=seconds), 1000.0 + seconds)
    draft = Report(1, Phase.HEALTHY)
    return conclude(
        result, history or History(), now, draft, COMMIT, spec, attempt or Attempt("asked")
    )


def condition(found: Conclusion, type_: str) -> tuple[str, str | None] | None:
    condition = found.report.conditions.get(type_)
    return (condition.status, condition.reason) if condition is not None else None


def test_a_source_without_trouble_is_healthy_and_waits_for_a_change() -> None:
    found = concluded(SyncResult(ready=3))
    assert found.report.phase is Phase.HEALTHY
    assert condition(found, "Ready") == ("True", "Succeeded")
    assert condition(found, "Healthy") == ("True", "Healthy")
    assert found.report.applied == COMMIT.revision
    assert found.report.handled == "asked"
    assert found.requeue is None


def test_a_failure_is_retried_less_and_less_often_until_it_is_stalled() -> None:
    found = concluded(FAILED)
    assert found.report.phase is Phase.FAILED
    assert condition(found, "Stalled") is None
    delays = [found.requeue]
    for _ in range(7):
        found = concluded(FAILED, found.history)
        delays.append(found.requeue)
    assert delays == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
    assert condition(found, "Stalled") == ("True", "Stalled")
    other = concluded(SyncResult(failures=(Fault("api-error", "another"),)), found.history)
    assert other.requeue == 1.0
    assert condition(other, "Stalled") is None


def test_a_failure_that_only_git_can_end_is_stalled_at_once() -> None:
    found = concluded(LASTING)
    assert found.requeue is None
    assert condition(found, "Stalled") == ("True", "Stalled")
    assert condition(found, "Ready") == ("False", "InvalidManifests")


def test_objects_that_are_not_ready_are_checked_often_at_first() -> None:
    waiting = SyncResult(waiting=("Shop a: starting",))
    found = concluded(waiting)
    assert (found.report.phase, found.requeue) == (Phase.WAITING, 0.5)
    later = concluded(waiting, found.history, seconds=20.0)
    assert later.requeue == 2.0
    assert concluded(waiting, found.history, seconds=200.0).requeue == 5.0


def test_objects_that_are_not_ready_in_time_are_degraded() -> None:
    waiting = SyncResult(waiting=("Shop a: starting",))
    history = concluded(waiting).history
    found = concluded(waiting, history, seconds=301.0)
    assert found.report.phase is Phase.DEGRADED
    assert condition(found, "Ready") == ("False", "HealthTimeout")
    assert condition(found, "Reconciling") is None
    assert found.requeue == 5.0
    ready = concluded(SyncResult(ready=1), found.history, seconds=302.0)
    assert ready.history.waiting_since is None


def test_a_source_that_does_not_wait_is_ready_when_all_is_applied() -> None:
    spec = replace(SPEC, wait=False)
    found = concluded(SyncResult(waiting=("Shop a: starting",)), spec=spec)
    assert found.report.phase is Phase.HEALTHY
    assert condition(found, "Ready") == ("True", "Applied")


def test_deletions_under_way_are_waited_for() -> None:
    found = concluded(SyncResult(pending=2))
    assert (found.report.phase, found.requeue) == (Phase.WAITING, 0.5)
    assert condition(found, "Ready") == ("Unknown", "Progressing")


def test_a_limit_of_pruning_degrades_a_source() -> None:
    found = concluded(SyncResult(braked="9 of 10 objects would be deleted"))
    assert found.report.phase is Phase.DEGRADED
    assert condition(found, "PruneBlocked") == ("True", "Brake")


def test_an_error_of_git_is_reported_beside_what_was_applied() -> None:
    attempt = Attempt(error=KroGitopsError("git-auth-failed", "denied"), retry=1.0)
    found = concluded(SyncResult(ready=1), attempt=attempt)
    assert condition(found, "Ready") == ("False", "GitAuthFailed")
    assert condition(found, "FetchFailed") == ("True", "GitAuthFailed")
    assert condition(found, "Applied") == ("True", "Applied")
    assert found.requeue == 1.0
    running = concluded(SyncResult(ready=1), attempt=replace(attempt, retry=None))
    assert running.requeue is None, "the end of the fetch reconciles the source again"


def test_a_fetch_that_fails_is_repeated_less_and_less_often_up_to_the_interval() -> None:
    spec = replace(SPEC, interval=10.0)
    assert [fetch_delay(failures, spec) for failures in (1, 2, 3, 4, 5, 99)] == [1, 2, 4, 8, 10, 10]


def test_a_sync_that_takes_long_and_fails_is_followed_by_a_rest() -> None:
    short = concluded(FAILED, attempt=Attempt(seconds=0.9))
    assert short.requeue == 1.0
    long = concluded(FAILED, attempt=Attempt(seconds=61.0))
    assert long.requeue == 600.0
    assert long.retry_at == 1600.0
    assert concluded(FAILED, attempt=Attempt(seconds=9999.0)).requeue == 3600.0


def test_a_reconcile_without_a_sync_does_not_put_a_retry_off() -> None:
    first = concluded(FAILED, attempt=Attempt(seconds=61.0))
    again = concluded(FAILED, first.history, attempt=Attempt(seconds=61.0, pause=12.0))
    assert again.requeue == 12.0
    assert again.history.attempts == first.history.attempts


def test_a_revision_that_may_be_outdated_is_not_ready() -> None:
    due = datetime(2026, 3, 1, 11, 58, tzinfo=UTC)
    found = concluded(SyncResult(ready=1), attempt=Attempt(overdue=due))
    assert condition(found, "Ready") == ("Unknown", "FetchOverdue")
    assert condition(found, "Stale") == ("True", "FetchOverdue")
    text = found.report.conditions["Stale"].message
    assert (
        text
        == f"git should have been read at 2026-03-01T11:58:00Z: {COMMIT.revision} may be outdated"
    )


def test_a_failure_weighs_more_than_an_outdated_revision() -> None:
    due = datetime(2026, 3, 1, 11, 58, tzinfo=UTC)
    found = concluded(FAILED, attempt=Attempt(overdue=due))
    assert condition(found, "Ready") == ("False", "ApplyFailed")
    assert condition(found, "Stale") == ("True", "FetchOverdue")


def test_a_poll_is_overdue_after_its_interval_within_limits() -> None:
    assert [overdue_after(replace(SPEC, interval=each)) for each in (1.0, 60.0, 3600.0)] == [
        *(15.0, 60.0, 120.0)
    ]


def test_a_commit_without_a_valid_signature_is_reported_as_such() -> None:
    spec = replace(SPEC, verify=Verify(VerifyMode.HEAD, "keys"))
    assert condition(concluded(SyncResult(), spec=spec), "SourceVerified") == ("True", "Verified")
    error = UnverifiedError(UserError("unsigned", "nobody signed it"))
    found = concluded(SyncResult(), spec=spec, attempt=Attempt(error=error))
    assert condition(found, "SourceVerified") == ("False", "Unverified")


def test_without_any_revision_there_is_only_the_error() -> None:
    error = KroGitopsError("git-unreachable", "no route")
    draft = Report(1, Phase.FAILED)
    attempt = Attempt("asked", error=error, retry=2.0)
    found = conclude_without_revision(draft, History(), SPEC, attempt)
    assert condition(found, "Ready") == ("False", "GitUnreachable")
    assert found.requeue == 2.0
    assert draft.conditions == {}


def test_the_first_fetch_is_reported_while_it_takes_its_time() -> None:
    found = conclude_without_revision(Report(1, Phase.FAILED), History(), SPEC, Attempt())
    assert found.report.phase is Phase.WAITING
    assert condition(found, "Ready") == ("Unknown", "Fetching")
    assert condition(found, "Reconciling") == ("True", "Fetching")
    assert found.requeue is None


def test_a_pin_is_reported_and_ends_on_time() -> None:
    pin = Pin("f" * 40, "an incident", "2026-03-01T12:00:30Z")
    found = concluded(SyncResult(), attempt=Attempt(pin=pin))
    assert condition(found, "Pinned") == ("True", "Pinned")
    assert found.requeue == pytest.approx(30.1)


# History


def test_a_run_counts_what_all_its_syncs_did_and_ends_once() -> None:
    history = begin_run(History(), COMMIT, {}, AT)
    first = concluded(SyncResult(created=2, waiting=("a",)), history)
    assert first.history.run is not None
    assert (first.history.run.created, first.history.run.finished) == (2, "")
    assert first.result.created == 0  # counted
    second = concluded(SyncResult(created=1, ready=3), first.history, seconds=5.0)
    run = second.history.run
    assert run is not None
    assert (run.created, run.result, run.finished) == (3, "Healthy", "2026-03-01T12:00:05Z")
    third = concluded(SyncResult(changed=1), second.history, seconds=9.0)
    assert third.history.run == run


def test_a_run_that_failed_ends_again_when_it_becomes_healthy() -> None:
    failed = concluded(FAILED, begin_run(History(), COMMIT, {}, AT))
    assert failed.history.run is not None
    assert failed.history.run.result == "Failed"
    healthy = concluded(SyncResult(), failed.history)
    assert healthy.history.run is not None
    assert healthy.history.run.result == "Healthy"


def test_a_restarted_controller_goes_on_with_the_run_in_the_status() -> None:
    recorded = Run(COMMIT.revision, "2026-03-01T11:00:00Z", created=7)
    assert begin_run(History(), COMMIT, recorded.to_json(), AT).run == recorded
    other = begin_run(History(), COMMIT, Run("main@sha1:old", "").to_json(), AT).run
    assert other is not None
    assert (other.started, other.author) == ("2026-03-01T12:00:00Z", "Ann")


def test_nothing_that_is_handed_in_changes() -> None:
    history, draft = begin_run(History(), COMMIT, {}, AT), Report(1, Phase.HEALTHY)
    before = replace(draft, conditions=dict(draft.conditions))
    now = Now(AT, 0.0)
    one = conclude(FAILED, history, now, draft, COMMIT, SPEC, Attempt())
    two = conclude(FAILED, history, now, draft, COMMIT, SPEC, Attempt())
    assert draft == before
    assert one == two


# Other outcomes


def test_an_invalid_spec_is_stalled() -> None:
    report = Report(1, Phase.FAILED)
    report_error(report, "Stalled", UserError("invalid-spec", "no url"))
    assert report.conditions["Stalled"].reason == "InvalidSpec"


def test_a_suspended_source_is_as_ready_as_it_was() -> None:
    report = Report(1, Phase.SUSPENDED)
    report_suspended(report, Condition("Ready", "True", "Succeeded", "applied"))
    assert report.conditions["Ready"].status == "True"
    assert report.conditions["Suspended"].status == "True"
    never = Report(1, Phase.SUSPENDED)
    report_suspended(never, None)
    assert never.conditions["Ready"].status == "Unknown"
