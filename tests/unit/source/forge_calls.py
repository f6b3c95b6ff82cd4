"""Calls as forges make them: the headers they send, and a body signed as they sign it."""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

PAYLOADS = Path(__file__).parent / "payloads"
TOKEN = b"correct horse battery staple"
SIGNING_TOKEN = b"whsec_" + base64.b64encode(bytes(range(32)))
NOW = 1_795_000_000.0
JSON = {"Content-Type": "application/json"}


@dataclass(frozen=True)
class Call:
    """What is sent."""

    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    def having(self, **headers: str) -> "Call":
        """Return the same call with more headers, or others; `_` is a hyphen."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        kept = {name: value for name, value in self.headers.items() if name.lower() not in named}
        return replace(self, headers={**kept, **named})

    def without(self, *names: str) -> "Call":
        """Return the same call with fewer headers."""
        kept = {name: v for name, v in self.headers.items() if name.lower() not in names}
        return replace(self, headers=kept)

    def saying(self, body: bytes) -> "Call":
        """Return the same headers with another body."""
        return replace(self, body=body)


def payload(name: str) -> bytes:
    return (PAYLOADS / f"{name}.json").read_bytes()


def digest(body: bytes, token: bytes = TOKEN, algorithm: str = "sha256") -> str:
    return hmac.new(token, body, algorithm).hexdigest()


def github(body: bytes, event: str = "push", token: bytes = TOKEN) -> Call:
    return Call(
        body,
        {
            **JSON,
            "User-Agent": "GitHub-Hookshot/044aadd",
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": "72d3162e-cc78-11e3-81ab-4c9367dc0958",
            "X-Hub-Signature": f"sha1={digest(body, token, 'sha1')}",
            "X-Hub-Signature-256": f"sha256={digest(body, token)}",
        },
    )


def gitea(body: bytes, event: str = "push", token: bytes = TOKEN, name: str = "Gitea") -> Call:
    """Make a call of Gitea or Forgejo, which say that they are all the others, too."""
    names = {"Gogs", "Gitea", name}
    delivery = "f6266f16-1bf3-46a5-9ea4-602e06ead473"
    headers = {**github(body, event, token).headers, "X-GitHub-Delivery": delivery}
    for each in sorted(names):
        headers[f"X-{each}-Event"] = event
        headers[f"X-{each}-Delivery"] = delivery
        headers[f"X-{each}-Signature"] = digest(body, token)
    return Call(body, headers)


def gogs(body: bytes, event: str = "push", token: bytes = TOKEN) -> Call:
    return Call(
        body,
        {
            **JSON,
            "X-Github-Event": event,
            "X-Gogs-Event": event,
            "X-Gogs-Delivery": "f6266f16-1bf3-46a5-9ea4-602e06ead473",
            "X-Gogs-Signature": digest(body, token),
        },
    )


def gitlab(body: bytes, event: str = "Push Hook", token: bytes = TOKEN) -> Call:
    return Call(
        body,
        {
            **JSON,
            "User-Agent": "GitLab/19.0.0",
            "X-Gitlab-Event": event,
            "X-Gitlab-Event-UUID": "13792a34-cac6-4fda-95a8-c58e00a3954e",
            "X-Gitlab-Token": token.decode(),
        },
    )


def gitlab_signed(
    body: bytes, event: str = "Push Hook", token: bytes = SIGNING_TOKEN, at: float = NOW
) -> Call:
    key = base64.b64decode(token.removeprefix(b"whsec_"))
    name, moment = "a5a9ce1c-3ad0-4c3f-9e4e-3e3f3d8a6c1b", f"{at:.0f}"
    signed = hmac.digest(key, f"{name}.{moment}.".encode() + body, hashlib.sha256)
    return (
        gitlab(body, event)
        .without("x-gitlab-token")
        .having(
            webhook_id=name,
            webhook_timestamp=moment,
            webhook_signature=f"v1,{base64.b64encode(signed).decode()}",
        )
    )


def bitbucket(body: bytes, event: str = "repo:push", token: bytes = TOKEN) -> Call:
    return Call(
        body,
        {
            **JSON,
            "X-Event-Key": event,
            "X-Hook-UUID": "{ccd8b8a1-1d3e-4d0e-8b5f-0a2f1d8f0f4a}",
            "X-Request-UUID": "c2f7f5a0-2f43-4d7c-b6a4-8f8d3fd5a7f1",
            "X-Attempt-Number": "1",
            "X-Hub-Signature": f"sha256={digest(body, token)}",
        },
    )


def bitbucket_server(body: bytes, event: str = "repo:refs_changed", token: bytes = TOKEN) -> Call:
    return Call(
        body,
        {
            "Content-Type": "application/json; charset=utf-8",
            "X-Event-Key": event,
            "X-Request-Id": "f6b5a1a1-4a8f-4d0f-8a4f-4d6f0f6b3c11",
            "X-Hub-Signature": f"sha256={digest(body, token)}",
        },
    )


def azure(body: bytes, token: bytes = TOKEN, user: bytes = b"hook") -> Call:
    login = base64.b64encode(user + b":" + token).decode()
    return Call(
        body,
        {
            "Content-Type": "application/json; charset=utf-8",
            "X-VSS-ActivityId": "5e4b7f0e-2b9f-4ad2-b0c6-0f6f1ac0cf35",
            "Authorization": f"Basic {login}",
        },
    )


def generic(body: bytes = b"", token: bytes = TOKEN, algorithm: str = "sha256") -> Call:
    return Call(body, {"X-Signature": f"{algorithm}={digest(body, token, algorithm)}"})
