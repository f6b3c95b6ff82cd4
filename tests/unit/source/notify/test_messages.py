import hashlib
import hmac
import json
from typing import Any

import pytest

from kro_gitops.source.api.types import NotificationEvent, NotificationType
from kro_gitops.source.notify.events import Failed, Letter
from kro_gitops.source.notify.messages import body_of, signature

HOSTILE = '<!channel> *bold* [x](https://evil.example) `code` "quoted" & {{ 7*7 }}'


def letter(**more: Any) -> Letter:
    given: dict[str, Any] = {
        "event": NotificationEvent.FAILED,
        "text": "web.yaml is bad",
        "time": "2026-03-01T09:30:00Z",
        "namespace": "team",
        "name": "shop",
        "uid": "u1",
        "url": "https://git.example.com/team/shop.git",
        "revision": f"main@sha1:{'b' * 40}",
        "commit": "b" * 40,
        "author": "Ann",
        "subject": "Paint it",
        "counts": {"objects": 3, "ready": 2, "failed": 1},
    }
    return Letter(**{**given, **more})


def written(type_: NotificationType, **more: Any) -> Any:
    return json.loads(body_of(letter(**more), type_))


def test_the_generic_form_is_stable() -> None:
    failure = Failed("WebApp a", "bad-value", "must be a number", "web.yaml", 3, 1)
    made = letter(failures=(failure,), omitted=2)
    assert json.loads(body_of(made, NotificationType.GENERIC)) == {
        "version": 1,
        "id": made.id,
        "event": "Failed",
        "severity": "error",
        "time": "2026-03-01T09:30:00Z",
        "message": "web.yaml is bad",
        "source": {
            "namespace": "team",
            "name": "shop",
            "uid": "u1",
            "url": "https://git.example.com/team/shop.git",
        },
        "revision": f"main@sha1:{'b' * 40}",
        "commit": {"id": "b" * 40, "author": "Ann", "subject": "Paint it"},
        "objects": {"objects": 3, "ready": 2, "failed": 1},
        "failures": [
            {
                "object": "WebApp a",
                "code": "bad-value",
                "message": "must be a number",
                "file": "web.yaml",
                "line": 3,
                "column": 1,
            }
        ],
        "failuresOmitted": 2,
    }


def test_slack_is_told_what_where_and_by_whom() -> None:
    body = written(NotificationType.SLACK)
    headline, details, commit = body["blocks"]
    assert headline["text"]["text"] == "🔴 *Failed* `team/shop` at `main@bbbbbbb`"
    assert details["text"]["text"] == "web.yaml is bad"
    assert commit["elements"][0]["text"] == "bbbbbbbbbbbb Ann: Paint it"
    assert body["text"] == headline["text"]["text"]


def test_failures_are_listed_with_their_places() -> None:
    failures = (Failed("WebApp a", "c", "bad", "a.yaml", 3, 1), Failed("", "c", "worse"))
    body = written(NotificationType.SLACK, failures=failures, omitted=9)
    assert body["blocks"][1]["text"]["text"] == "a.yaml:3:1: WebApp a: bad\nworse\nand 9 more"


def test_slack_reads_no_markup_of_strangers() -> None:
    hostile = {"text": HOSTILE, "subject": HOSTILE, "author": HOSTILE}
    body = written(NotificationType.SLACK, **hostile, revision="<!here>`x@sha1:" + "c" * 40)
    headline, *others = body["blocks"]
    assert headline["text"]["text"].endswith("at `&lt;!here&gt;'x@ccccccc`")
    shown = [*(o["text"] for o in others[:1]), *others[1]["elements"]]
    assert {each["type"] for each in shown} == {"plain_text"}
    assert HOSTILE in shown[0]["text"]


def test_teams_reads_no_markup_of_strangers() -> None:
    body = written(NotificationType.TEAMS, text=HOSTILE)
    card = body["attachments"][0]["content"]
    assert {each["type"] for each in card["body"]} == {"RichTextBlock"}
    runs = [run for block in card["body"] for run in block["inlines"]]
    assert [run["text"] for run in runs] == [
        "🔴 Failed: team/shop at main@bbbbbbb",
        HOSTILE,
        "bbbbbbbbbbbb Ann: Paint it",
    ]
    assert runs[0]["color"] == "attention"


@pytest.mark.parametrize("type_", list(NotificationType))
def test_a_letter_about_next_to_nothing_can_be_written(type_: NotificationType) -> None:
    bare = Letter(NotificationEvent.RESUMED, "", "2026-03-01T09:30:00Z", "team", "shop")
    body = body_of(bare, type_).decode()
    assert "team" in body
    assert '"text":""' not in body  # Slack refuses empty texts


@pytest.mark.parametrize("type_", list(NotificationType))
def test_bodies_stay_small(type_: NotificationType) -> None:
    failure = Failed("x" * 255, "c" * 255, "m" * 300, "f" * 255, 1, 1)
    body = body_of(letter(text="é" * 1500, failures=(failure,) * 5, subject="é" * 200), type_)
    assert len(body) < 24_000


def test_a_body_is_signed() -> None:
    expected = hmac.new(b"key", b"body", hashlib.sha256).hexdigest()
    assert signature(b"body", b"key") == f"sha256={expected}"
