"""
What follows from a source's account: what is said of it, and when it is looked at again.
"""

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from kro_gitops.control.outcome import DONE, Result
from kro_gitops.errors import KroGitopsError
from kro_gitops.source import status
from kro_gitops.source.accounts import Account, Phase
from kro_gitops.source.controllers.fetching import UnverifiedError
from kro_gitops.source.controllers.registry import Fetched, Held
from kro_gitops.source.controllers.reporting import (
    Reporter,
    of_account,
    of_error,
    status_of,
)
from kro_gitops.source.spec import Pin, SourceSpec
from kro_gitops.source.status import Report, Run
from kube_objects.conditions import FALSE, TRUE
from kube_objects.times import format_time, parse_time

_SOON = 0.5  # seconds until an unfinished source is looked at again
_LATER = 5.0
_STALLED_AFTER = 5  # attempts with the same outcome
_LONGEST_SUBJECT = 200  # characters
_RESULTS = {Phase.HEALTHY: "Healthy", Phase.DEGRADED: "Degraded", Phase.FAILED: "Failed"}


@dataclass(frozen=True, slots=True)
class Attempt:
    """What a source was asked for: by whom, held at what, and what git said to it."""

    asked: str = ""  # the request that is answered
    pin: Pin | None = None
    trouble: KroGitopsError | None = None


class Conclusions:
    """Draws them."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter

    async def without_revision(self, held: Held, spec: SourceSpec, attempt: Attempt) -> Result:
        """Conclude that nothing could be read, ever."""
        report = self._reporter.begin(held, Phase.FAILED)
        report.handled = attempt.asked
        if attempt.trouble is not None:
            _say_trouble(report, attempt.trouble)
        await self._reporter.write(held, report)
        return Result(_fetch_delay(held, spec))

    async def conclude(
        self, held: Held, spec: SourceSpec, fetched: Fetched, attempt: Attempt
    ) -> Result:
        """Report, and say when to look again."""
        account = held.account or Account()
        phase, late = _phase(held, spec, account)
        report = self._reporter.begin(held, phase)
        report.handled = attempt.asked
        of_account(report, account, fetched.revision, waits=spec.wait)
        if late:
            text = f"not ready after {spec.health_timeout:g} s: {status.waiting_for(account)}"
            report.say(status.READY, FALSE, "HealthTimeout", text)
            report.conditions.pop(status.RECONCILING, None)
        if account.is_applied:
            report.applied = fetched.revision
        if spec.verify is not None:
            report.say(status.VERIFIED, TRUE, "Verified", fetched.signature)
        _say_pin(report, attempt.pin)
        delay = _delay(held, spec, account, late=late)
        if held.attempts >= _STALLED_AFTER or (account.failures and delay is None):
            report.say(status.STALLED, TRUE, "Stalled", status.told(account.failures))
        if attempt.trouble is not None:
            _say_trouble(report, attempt.trouble)
            delay = min(_fetch_delay(held, spec), spec.interval if delay is None else delay)
        _end_run(held, report, phase, account, spec)
        await self._reporter.write(held, report)
        return _result(delay, attempt.pin)


def begin_run(held: Held, fetched: Fetched) -> None:
    """Note in the history that a revision is on its way."""
    revision = fetched.revision
    if held.run is not None and held.run.revision == revision:
        return
    last = Run.parse((status_of(held.source).get("history") or [{}])[0])
    if held.run is None and last.revision == revision:
        held.run = last  # we were started anew on the way, or after it
        return
    subject = status.shortened(fetched.commit.subject)[:_LONGEST_SUBJECT]
    now = format_time(datetime.now(UTC))
    held.run = Run(revision, now, fetched.commit.author, subject)


def _end_run(held: Held, report: Report, phase: Phase, account: Account, spec: SourceSpec) -> None:
    run = held.run
    is_better = phase is Phase.HEALTHY and run is not None and run.result in ("Failed", "Degraded")
    if run is None or (run.finished and not is_better):
        return
    run = replace(
        run,
        created=run.created + account.created,
        changed=run.changed + account.changed,
        pruned=run.pruned + account.pruned,
        failed=len(account.failures),
    )
    account.created = account.changed = account.pruned = 0  # counted
    if phase in _RESULTS:
        result = "Applied" if phase is Phase.HEALTHY and not spec.wait else _RESULTS[phase]
        run = replace(run, result=result, finished=format_time(datetime.now(UTC)))
    held.run = run
    report.history = status.with_run(report.history, run)


def _phase(held: Held, spec: SourceSpec, account: Account) -> tuple[Phase, bool]:
    """Say how far a source is, and whether it takes too long."""
    now = asyncio.get_running_loop().time()
    if not account.waiting and not account.pending:
        held.unfinished_since = None
    elif held.unfinished_since is None:
        held.unfinished_since = now
    if not account.waiting or account.failures:
        held.waiting_since = None
    elif held.waiting_since is None:
        held.waiting_since = now
    if account.failures:
        return Phase.FAILED, False
    if account.degraded or account.braked:
        return Phase.DEGRADED, False
    late = held.waiting_since is not None and now - held.waiting_since > spec.health_timeout
    if late and spec.wait:
        return Phase.DEGRADED, True
    is_waiting = (account.waiting and spec.wait) or account.pending
    return (Phase.WAITING if is_waiting else Phase.HEALTHY), False


def _delay(held: Held, spec: SourceSpec, account: Account, *, late: bool) -> float | None:
    """Say when to look again; `None`: when something changes, or the clock says so."""
    outcome = repr([(each.code, each.message, each.subject) for each in account.failures])
    is_same, held.outcome = outcome == held.outcome, outcome
    if account.may_be_tried_again:
        held.attempts = held.attempts + 1 if is_same else 1
        return min(2.0 ** min(held.attempts - 1, 20), max(spec.interval, _SOON))
    held.attempts = 0
    if account.waiting or account.pending:
        return _LATER if late else _pause(held)
    return None


def _pause(held: Held) -> float:
    """Look often at first, and more seldom at what takes long: it may never come."""
    now = asyncio.get_running_loop().time()
    waited = now - held.unfinished_since if held.unfinished_since is not None else 0.0
    return min(max(waited / 10, _SOON), _LATER)


def _fetch_delay(held: Held, spec: SourceSpec) -> float:
    held.fetch_failures += 1
    return min(2.0 ** min(held.fetch_failures - 1, 20), max(spec.interval, _SOON))


def _result(delay: float | None, pin: Pin | None) -> Result:
    until = parse_time(pin.expires) if pin is not None and pin.expires else None
    if until is not None:
        left = max((until - datetime.now(UTC)).total_seconds(), 0.0) + 0.1
        delay = left if delay is None else min(delay, left)
    return DONE if delay is None else Result(delay)


def _say_trouble(report: Report, trouble: KroGitopsError) -> None:
    """Say that git could not be read, whatever was read before."""
    if isinstance(trouble, UnverifiedError):
        report.say(status.VERIFIED, FALSE, "Unverified", trouble.full_text)
    of_error(report, status.FETCH_FAILED, trouble)


def _say_pin(report: Report, pin: Pin | None) -> None:
    if pin is None:
        return
    written = {"commit": pin.commit, "reason": pin.reason, "expires": pin.expires, "by": pin.by}
    report.pin = {key: value for key, value in written.items() if value}
    until = f" until {pin.expires}" if pin.expires else ""
    why = f": {pin.reason}" if pin.reason else ""
    report.say(status.PINNED, TRUE, "Pinned", f"held at {pin.commit[:12]}{until}{why}")
