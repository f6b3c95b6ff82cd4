from datetime import UTC, datetime
from typing import Any

import pytest

from kro_gitops.source.api.types import Notification, NotificationEvent
from kro_gitops.source.notify.events import Chronicle, News, compose, concerns

A, B = f"main@sha1:{'a' * 40}", f"main@sha1:{'b' * 40}"
NOW = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
SOURCE: dict[str, Any] = {
    "metadata": {"namespace": "team", "name": "shop", "uid": "u1"},
    "spec": {"url": "https://git.example.com/team/shop.git"},
}


def condition(
    type_: str, status: str, reason: str = "Because", message: str = ""
) -> dict[str, str]:
    return {"type": type_, "status": status, "reason": reason, "message": message}


def status(
    phase: str, *conditions: dict[str, str], at: str = A, applied: str = ""
) -> dict[str, Any]:
    return {
        "phase": phase,
        "conditions": list(conditions),
        "lastAttemptedRevision": at,
        "lastAppliedRevision": applied,
        "inventory": {"objects": 2, "ready": 2},
    }


def healthy(at: str = A) -> dict[str, Any]:
    return status("Healthy", condition("Ready", "True", "Succeeded"), at=at, applied=at)


def failed(at: str = B, text: str = "web.yaml:3:1: bad", applied: str = A) -> dict[str, Any]:
    ready = condition("Ready", "False", "ApplyFailed", text)
    return status("Failed", ready, at=at, applied=applied)


def applying(at: str = B) -> dict[str, Any]:
    return status("Applying", condition("Ready", "Unknown", "Progressing"), at=at, applied=A)


def unreachable() -> dict[str, Any]:
    ready = condition("Ready", "False", "GitUnreachable")
    return status("Healthy", ready, condition("FetchFailed", "True", "Git", "no answer"), applied=A)


def degraded() -> dict[str, Any]:
    return status("Degraded", condition("Ready", "False", "Degraded", "x is broken"), applied=A)


def braked() -> dict[str, Any]:
    ready = condition("Ready", "False", "PruneBlocked")
    return status("Degraded", ready, condition("PruneBlocked", "True"), applied=A)


def unsigned() -> dict[str, Any]:
    said = [condition("FetchFailed", "True"), condition("SourceVerified", "False")]
    return status("Healthy", condition("Ready", "False", "Unsigned"), *said, applied=A)


def with_condition(type_: str, value: str = "True", **more: Any) -> dict[str, Any]:
    found = healthy() | more
    found["conditions"] = [*found["conditions"], condition(type_, value, "R", f"{type_} text")]
    return found


def told(*statuses: dict[str, Any], known: dict[str, Any] | None = None) -> list[list[str]]:
    """Say which events each status leads to, one after the other."""
    chronicle = Chronicle(known or {})
    return [sorted(news.event.value for news in chronicle.news(each)) for each in statuses]


SUSPENDED = with_condition("Suspended", phase="Suspended")
PINNED = [with_condition("Pinned", pin={"commit": each}) for each in "12"]


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        pytest.param([healthy(B)], ["Healthy Synced"], id="a revision"),
        pytest.param([healthy(B), healthy(B)], ["Healthy Synced", ""], id="nothing new"),
        pytest.param([failed(), failed(text="other")], ["Failed", ""], id="a failure, told once"),
        pytest.param([failed(), applying(), failed()], ["Failed", "", ""], id="tried again"),
        pytest.param([failed(A), failed(B)], ["Failed", "Failed"], id="each revision fails"),
        pytest.param(
            [failed(), applying(), healthy(B), failed(applied=B)],
            ["Failed", "", "Healthy Recovered Synced", "Failed"],
            id="a failure after it was put right",
        ),
        pytest.param(
            [unreachable(), unreachable(), healthy(), unreachable()],
            ["FetchFailed", "", "Recovered", "FetchFailed"],
            id="git goes and comes back",
        ),
        pytest.param([degraded(), healthy()], ["Degraded", "Recovered"], id="broken, and repaired"),
        pytest.param([*PINNED, healthy()], ["Pinned", "Pinned", "Unpinned"], id="pins"),
        pytest.param([SUSPENDED, healthy()], ["Suspended", "Resumed"], id="suspended, resumed"),
        pytest.param(
            [failed(), SUSPENDED, failed()],
            ["Failed", "Suspended", "Resumed"],
            id="suspended while it fails: the failure is known",
        ),
        pytest.param([with_condition("Conflict")], ["Conflict"], id="a conflict"),
        pytest.param([with_condition("ForeignOwner")], ["ForeignOwner"], id="another owner"),
        pytest.param([braked(), braked()], ["PruneBlocked", ""], id="a brake, and nothing else"),
        pytest.param([unsigned()], ["Unverified"], id="unsigned: that, and no failed fetch"),
    ],
)
def test_what_is_told_and_when(statuses: list[dict[str, Any]], expected: list[str]) -> None:
    assert told(*statuses, known=healthy(A)) == [each.split() for each in expected]


def test_the_first_revision_of_all_is_news() -> None:
    assert told(healthy()) == [["Healthy", "Synced"]]


def test_what_is_not_waited_for_is_not_called_healthy() -> None:
    ready = condition("Ready", "True", "Applied")
    assert told(status("Healthy", ready, applied=A)) == [["Synced"]]


def test_a_restart_repeats_nothing() -> None:
    assert told(failed(), known=failed()) == [[]]


def test_a_restart_in_the_middle_of_an_attempt_does_not_lose_the_recovery() -> None:
    known = applying() | {"history": [{"revision": B}, {"finished": "x", "result": "Failed"}]}
    assert told(healthy(B), known=known) == [["Healthy", "Recovered", "Synced"]]


@pytest.mark.parametrize(
    ("events", "hears"), [((), True), (("Failed",), True), (("Synced", "Healthy"), False)]
)
def test_who_hears_of_a_failure(events: tuple[str, ...], hears: bool) -> None:
    assert concerns(Notification("chat", events=events), NotificationEvent.FAILED) is hears


def test_a_letter_holds_what_belongs_to_it() -> None:
    failure = {"code": "bad", "message": "m", "object": "X a", "file": "f.yaml", "line": 3}
    written = failed() | {
        "commit": {"id": "b" * 40, "author": "Ann", "message": "Paint it"},
        "failures": [failure] * 7,
        "failuresOmitted": 4,
    }
    letter = compose(News(NotificationEvent.FAILED, "bad"), SOURCE, written, NOW)
    assert (letter.source, letter.severity, letter.time) == (
        *("team/shop", "error"),
        "2026-03-01T09:30:00Z",
    )
    assert letter.short_revision == "main@bbbbbbb"
    assert (len(letter.failures), letter.omitted) == (5, 6)
    assert letter.failures[0].place == "f.yaml:3:0"


def test_strangers_words_become_plain_short_and_free_of_secrets() -> None:
    commit = {
        "author": "Eve\u202e\x1b[31m",
        "message": "one\ntwo https://eve:hunter22@example.com/ " + "x" * 500,
    }
    written = healthy() | {"commit": commit}
    letter = compose(News(NotificationEvent.SYNCED, "y" * 9000), SOURCE, written, NOW)
    assert letter.author == "Eve��[31m"
    assert letter.subject.startswith("one two https://***@example.com/ xxx")
    assert len(letter.subject) <= 200
    assert len(letter.text) <= 1500


def test_a_letter_is_known_again_by_its_id() -> None:
    first = compose(News(NotificationEvent.SYNCED, "a"), SOURCE, healthy(), NOW)
    again = compose(News(NotificationEvent.SYNCED, "a"), SOURCE, healthy(), NOW)
    other = compose(News(NotificationEvent.SYNCED, "a"), SOURCE, healthy(B), NOW)
    assert first.id == again.id != other.id
