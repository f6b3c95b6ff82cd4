"""
Who asked the API server for what: its audit log.

One line a request, with verb, resource and user agent. The benchmarks' own requests carry a user
agent of theirs; whatever else comes in under the administrator's name is the controller's.
"""

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

USER_AGENT = "kro-gitops-benchmark"

# Those who only ask whether the server is there are no part of any measurement.
_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "Panic"],
    "rules": [
        {"level": "None", "nonResourceURLs": ["/readyz*", "/livez*", "/healthz*", "/metrics"]},
        {"level": "Metadata", "users": ["admin"]},
    ],
}
_READS = frozenset({"get", "list"})
_NOT_COUNTED = frozenset({"events", "leases"})
_POLL = 0.1


@dataclass(frozen=True, slots=True, order=True)
class Asked:
    """One kind of request: what was done to which resource, and whether it was refused."""

    resource: str  # with its subresource; empty for discovery
    verb: str
    refusal: int = 0  # the HTTP code

    @property
    def is_watch(self) -> bool:
        """Say whether this is a stream that was opened."""
        return self.verb == "watch"

    @property
    def is_read(self) -> bool:
        """Say whether nothing was changed; watches are neither."""
        return self.verb in _READS

    @property
    def is_write(self) -> bool:
        """Say whether something may have been changed."""
        return not (self.is_read or self.is_watch)

    def __str__(self) -> str:
        refusal = f" → {self.refusal}" if self.refusal else ""
        return f"{self.verb} {self.resource or 'discovery'}{refusal}"


@dataclass(frozen=True, slots=True)
class Requests:
    """What a controller asked for within a window."""

    counts: Counter[Asked]

    @property
    def total(self) -> int:
        """Return how many requests there were, watches left out."""
        return self.reads + self.writes

    @property
    def reads(self) -> int:
        """Return how many requests only asked."""
        return sum(count for asked, count in self.counts.items() if asked.is_read)

    @property
    def writes(self) -> int:
        """Return how many requests changed something."""
        return sum(count for asked, count in self.counts.items() if asked.is_write)

    @property
    def watches(self) -> int:
        """Return how many watches were opened."""
        return sum(count for asked, count in self.counts.items() if asked.is_watch)

    def per(self, instances: int) -> str:
        """Return the requests of an instance, kind by kind, those of everybody left out."""
        found = [
            f"{count / instances:.3g} × {asked}"
            for asked, count in sorted(self.counts.items())
            if not asked.is_watch and count * 20 >= instances
        ]
        return ", ".join(found) or "none"

    def __str__(self) -> str:
        found = [f"{count} × {asked}" for asked, count in sorted(self.counts.items())]
        return ", ".join(found) or "none"


def requests_in(lines: Iterable[str]) -> Requests:
    """Count what the controller asked for; Events and Leases are not counted."""
    return Requests(Counter(_asked(lines)))


def _asked(lines: Iterable[str]) -> Iterator[Asked]:
    for line in lines:
        event = json.loads(line)
        if event.get("userAgent") == USER_AGENT or not _is_first_word(event):
            continue
        target = event.get("objectRef", {})
        resource = target.get("resource", "")
        if resource in _NOT_COUNTED:
            continue
        if sub := target.get("subresource"):
            resource += f"/{sub}"
        code = event.get("responseStatus", {}).get("code", 0)
        yield Asked(resource, event["verb"], code if code >= 400 else 0)


def _is_first_word(event: dict[str, Any]) -> bool:
    """Say whether a request is reported for the first time: a watch has a start and an end."""
    started = "ResponseStarted" if event["verb"] == "watch" else "ResponseComplete"
    return bool(event["stage"] == started)


@dataclass(frozen=True, slots=True)
class Patched:
    """One patch of one object that was accepted, and when, by the API server's clock."""

    name: str
    manager: str
    received: datetime
    answered: datetime


def patches_in(lines: Iterable[str], resource: str) -> list[Patched]:
    """Return the patches of a resource, whoever made them, in the order they came in."""
    events = (json.loads(line) for line in lines)
    found = [
        Patched(
            event["objectRef"]["name"],
            parse_qs(urlsplit(event["requestURI"]).query).get("fieldManager", [""])[0],
            datetime.fromisoformat(event["requestReceivedTimestamp"]),
            datetime.fromisoformat(event["stageTimestamp"]),
        )
        for event in events
        if event["verb"] == "patch"
        and event["objectRef"]["resource"] == resource
        and event["responseStatus"]["code"] < 400
    ]
    return sorted(found, key=lambda patched: patched.received)


class AuditLog:
    """The log of one API server; `mark` says where a window begins."""

    def __init__(self, folder: Path) -> None:
        self.path = self._log = folder / "audit.log"
        self._policy = folder / "audit-policy.json"
        self._policy.write_text(json.dumps(_POLICY))

    @property
    def flags(self) -> list[str]:
        """Return what makes an API server write this log; JSON is YAML enough for it."""
        return [
            f"--audit-policy-file={self._policy}",
            f"--audit-log-path={self._log}",
            "--audit-log-maxsize=10000",  # megabytes, so that it is never turned over
        ]

    def mark(self) -> int:
        """Return where the log ends now; each line is written at once, so at the end of one."""
        return self._log.stat().st_size if self._log.exists() else 0

    def since(self, mark: int) -> Requests:
        """Return what the controller asked for since then."""
        return requests_in(self.lines_since(mark))

    def lines_since(self, mark: int) -> list[str]:
        """Return what was written since then, as it is."""
        with self._log.open("rb") as log:
            log.seek(mark)
            return log.read().decode().splitlines()

    def wait_until_quiet(self, seconds: float, limit: float = 60.0) -> bool:
        """Return when the controller has asked for nothing for a while, or False if it goes on."""
        deadline = time.monotonic() + limit
        mark, quiet_since = self.mark(), time.monotonic()
        while time.monotonic() < deadline:
            time.sleep(_POLL)
            end = self.mark()
            if end > mark and self.since(mark).total:
                mark, quiet_since = end, time.monotonic()
            elif time.monotonic() - quiet_since >= seconds:
                return True
        return False
