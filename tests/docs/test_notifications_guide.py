"""The guide about notifications names every event, and shows what a program gets."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kro_gitops.source.api.types import NotificationEvent, NotificationType
from kro_gitops.source.notify.events import Failed, Letter
from kro_gitops.source.notify.messages import body_of

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "notifications.md"
TEXT = GUIDE.read_text(encoding="utf-8")
_ROW = re.compile(r"^\| (`\w+`(?:, `\w+`)*) \| (\w+) \| ", re.MULTILINE)


def letter(event: NotificationEvent) -> Letter:
    failure = Failed("WebApp a", "bad", "bad", "a.yaml", 1, 1)
    counts = {"objects": 1, "ready": 1, "failed": 0}
    when = "2026-03-01T09:30:00Z"
    return Letter(event, "text", when, "team", "shop", failures=(failure,), counts=counts)


def shape(value: Any) -> Any:
    """Return the names of all fields, and nothing else."""
    if isinstance(value, Mapping):
        return {name: shape(each) for name, each in value.items()}
    return [shape(each) for each in value] if isinstance(value, list) else type(value).__name__


def test_every_event_has_a_row_with_its_severity() -> None:
    shown = {
        name.strip("`"): severity
        for names, severity in _ROW.findall(TEXT.split("## Events")[1])
        for name in names.split(", ")
    }
    assert shown == {each.value: letter(each).severity for each in NotificationEvent}


@pytest.mark.parametrize("type_", list(NotificationType))
def test_every_type_has_a_row(type_: NotificationType) -> None:
    assert f"\n| `{type_.value}` | " in TEXT


def test_what_a_program_gets_has_the_fields_that_are_shown() -> None:
    [example] = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
    sent = json.loads(body_of(letter(NotificationEvent.FAILED), NotificationType.GENERIC))
    assert shape(json.loads(example)) == shape(sent)
