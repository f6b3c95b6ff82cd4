"""What happened while an instance was worked on, and was it us?"""

from typing import Any

from kro_gitops.engine.controllers.own_writes import Attention


def version(number: int) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": str(number)}}


def test_events_wake_at_once_who_is_not_in_work() -> None:
    attention: Attention[str] = Attention()
    assert not attention.hears("a", version(1))
    attention.begin("a")
    assert attention.hears("a", version(2))
    assert not attention.hears("b", version(2))


def test_what_others_did_is_news() -> None:
    attention: Attention[str] = Attention()
    attention.begin("a")
    assert not attention.end("a")
    attention.begin("a")
    attention.hears("a", version(1))
    assert attention.end("a")


def test_what_we_did_is_no_news_whichever_came_first() -> None:
    attention: Attention[str] = Attention()
    attention.begin("a")
    attention.hears("a", version(1))
    attention.wrote("a", version(1))
    attention.wrote("a", version(2))
    attention.hears("a", version(2))
    assert not attention.end("a")


def test_what_others_did_beside_us_is_news() -> None:
    attention: Attention[str] = Attention()
    attention.begin("a")
    attention.wrote("a", version(1))
    attention.hears("a", version(1))
    attention.hears("a", version(2))
    assert attention.end("a")


def test_work_begins_afresh() -> None:
    attention: Attention[str] = Attention()
    attention.begin("a")
    attention.hears("a", version(1))
    attention.end("a")
    assert not attention.hears("a", version(2))
    attention.wrote("a", version(3))
    attention.begin("a")
    assert not attention.end("a")
