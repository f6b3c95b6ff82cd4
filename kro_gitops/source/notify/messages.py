"""
A notification in the format of its target: JSON for programs, Slack's blocks, Teams' cards.

Jinja2 renders the sentences: every value that a template shows goes through the target's
`finalize`, so no template can forget to escape it. Templates never write JSON: the sentences are
values in it. Untrusted text stands where the target parses no markup (Slack's `plain_text`, Teams'
text runs); only the headline has markup.

The generic form is stable: fields may be added, none is removed or changes its meaning.
"""

import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined

from kro_gitops.source.api.types import NotificationType
from kro_gitops.source.notify.events import Letter

_MARKS = {"error": "🔴", "warning": "🟠", "info": "🟢"}
_COLORS = {"error": "attention", "warning": "warning", "info": "good"}

_TEMPLATES = {
    "headline": "{{ mark }} {{ letter.event.value }}: {{ letter.source }}"
    "{% if letter.revision %} at {{ letter.short_revision }}{% endif %}",
    "slack-headline": "{{ mark }} *{{ letter.event.value }}* `{{ letter.source }}`"
    "{% if letter.revision %} at `{{ letter.short_revision }}`{% endif %}",
    "details": "{% if letter.failures %}"
    "{% for each in letter.failures %}"
    "{% if each.place %}{{ each.place }}: {% endif %}"
    "{% if each.object %}{{ each.object }}: {% endif %}{{ each.message }}\n"
    "{% endfor %}"
    "{% if letter.omitted %}and {{ letter.omitted }} more{% endif %}"
    "{% else %}{{ letter.text }}{% endif %}",
    "commit": "{% if letter.commit %}{{ letter.commit[:12] }}"
    "{% if letter.author %} {{ letter.author }}{% endif %}"
    "{% if letter.subject %}: {{ letter.subject }}{% endif %}{% endif %}",
}


def _mrkdwn(value: object) -> str:
    """Escape what Slack reads as mentions and links, or as the end of `code`."""
    text = str(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text.replace("`", "'")


def _environment(finalize: Callable[[object], str]) -> Environment:
    # No HTML here: each target's `finalize` is what autoescape would be.
    return Environment(
        loader=DictLoader(_TEMPLATES),
        finalize=finalize,
        undefined=StrictUndefined,
        autoescape=False,
    )


_PLAIN = _environment(str)
_MRKDWN = _environment(_mrkdwn)


def body_of(letter: Letter, type_: NotificationType) -> bytes:
    """Format a notification for a target."""
    written = _FORMS[type_](letter)
    return json.dumps(written, separators=(",", ":")).encode()


def signature(body: bytes, token: bytes) -> str:
    """Sign a body as our own generic webhooks expect it: `sha256=` and the HMAC in hex."""
    return f"sha256={hmac.new(token, body, hashlib.sha256).hexdigest()}"


def _generic(letter: Letter) -> dict[str, Any]:
    return {
        "version": 1,
        "id": letter.id,
        "event": letter.event.value,
        "severity": letter.severity,
        "time": letter.time,
        "message": letter.text,
        "source": {
            "namespace": letter.namespace,
            "name": letter.name,
            "uid": letter.uid,
            "url": letter.url,
        },
        "revision": letter.revision,
        "commit": {"id": letter.commit, "author": letter.author, "subject": letter.subject},
        "objects": dict(letter.counts),
        "failures": [
            {
                "object": failed.object,
                "code": failed.code,
                "message": failed.message,
                "file": failed.file,
                "line": failed.line,
                "column": failed.column,
            }
            for failed in letter.failures
        ],
        "failuresOmitted": letter.omitted,
    }


def _slack(letter: Letter) -> dict[str, Any]:
    headline = _rendered(_MRKDWN, "slack-headline", letter)
    details, commit = _sentences(letter)
    blocks: list[dict[str, Any]] = [
        {"type": "section", "text": {"type": "mrkdwn", "text": headline, "verbatim": True}}
    ]
    if details:
        blocks.append({"type": "section", "text": _plain_text(details)})
    if commit:
        blocks.append({"type": "context", "elements": [_plain_text(commit)]})
    return {"text": headline, "blocks": blocks, "unfurl_links": False}


def _plain_text(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def _teams(letter: Letter) -> dict[str, Any]:
    headline = _run(_rendered(_PLAIN, "headline", letter))
    headline |= {"weight": "bolder", "color": _COLORS[letter.severity]}
    runs = [headline, *map(_run, filter(None, _sentences(letter)))]
    card = {
        "type": "AdaptiveCard",
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "version": "1.4",
        "body": [{"type": "RichTextBlock", "inlines": [each]} for each in runs],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return {"type": "message", "attachments": [attachment]}


def _run(text: str) -> dict[str, Any]:
    return {"type": "TextRun", "text": text}


def _sentences(letter: Letter) -> tuple[str, str]:
    """Return what happened, and in which commit."""
    return _rendered(_PLAIN, "details", letter).strip(), _rendered(_PLAIN, "commit", letter)


def _rendered(environment: Environment, name: str, letter: Letter) -> str:
    template = environment.get_template(name)
    return template.render(letter=letter, mark=_MARKS[letter.severity])


_FORMS: dict[NotificationType, Callable[[Letter], dict[str, Any]]] = {
    NotificationType.GENERIC: _generic,
    NotificationType.SLACK: _slack,
    NotificationType.TEAMS: _teams,
}
