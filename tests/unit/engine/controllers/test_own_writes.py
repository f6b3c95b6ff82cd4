"""What happened while an instance was worked on, and was it us?"""

from typing import Any

from kro_gitops.engine.controllers.own_writes import OwnWrites


def version(number: int) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": str(number)}}


def test_events_wake_at_once_who_is_not_in_work() -> None:
    attention: OwnWrites[str] = OwnWrites()
    assert not attention.defer_event("a", version(1))
    attention.begin("a")
    assert attention.defer_event("a", version(2))
    assert not attention.defer_event("b", version(2))


def test_what_others_did_is_news() -> None:
    attention: OwnWrites[str] = OwnWrites()
    attention.begin("a")
    assert not attention.end("a")
    attention.begin("a")
    attention.defer_event("a", version(1))
    assert attention.end("a")


def test_what_we_did_is_no_news_whichever_came_first() -> None:
    attention: OwnWrites[str] = OwnWrites()
    attention.begin("a")
    attention.defer_event("a", version(1))
    attention.record_write("a", version(1))
    attention.record_write("a", version(2))
    attention.defer_event("a", version(2))
    assert not attention.end("a")


def test_what_others_did_beside_us_is_news() -> None:
    attention: OwnWrites[str] = OwnWrites()
    attention.begin("a")
    attention.record_write("a", version(1))
    attention.defer_event("a", version(1))
    attention.defer_event("a", version(2))
    assert attention.end("a")


def test_work_begins_afresh() -> None:
    attention: OwnWrites[str] = OwnWrites()
    attention.begin("a")
    attention.defer_event("a", version(1))
    attention.end("a")
    assert not attention.defer_event("a", version(2))
    attention.record_write("a", version(3))
    attention.begin("a")
    assert not attention.end("a")
