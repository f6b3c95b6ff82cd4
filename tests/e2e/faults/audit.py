"""
Who wrote what, and when: the API server's own account, for tests that fail.

What a killed controller did last is in no log of its own.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any


class Audit:
    """The writes that an API server was asked for."""

    def __init__(self, log: Path) -> None:
        self.log = log

    def about(self, names: Iterable[str], controllers: Path) -> str:
        """Tell all that was written of objects and their children, among starts of controllers."""
        wanted = tuple(names)
        lines = [*self._writes(wanted), *_starts(controllers)]
        return "\n".join(sorted(lines))

    def _writes(self, wanted: tuple[str, ...]) -> Iterator[str]:
        if not self.log.exists():
            return
        with self.log.open(encoding="utf-8") as log:
            for line in log:
                if not any(name in line for name in wanted):
                    continue
                event = json.loads(line)
                name = event.get("objectRef", {}).get("name", "")
                if any(name == each or name.startswith(f"{each}-") for each in wanted):
                    yield _told(event, name)


def _told(event: dict[str, Any], name: str) -> str:
    target, answer = event["objectRef"], event.get("responseObject") or {}
    about = answer.get("metadata") or {}
    where = "/".join(filter(None, (target["resource"], target.get("subresource"), name)))
    facts = {
        "uid": about.get("uid") or (answer.get("details") or {}).get("uid"),
        "version": about.get("resourceVersion"),
        "finalizers": about.get("finalizers"),
        "going": about.get("deletionTimestamp"),
        "message": answer.get("message"),
    }
    said = ", ".join(f"{key} {value}" for key, value in facts.items() if value)
    return (
        f"{event['requestReceivedTimestamp']} until {event['stageTimestamp']} "
        f"{event.get('userAgent', '')}: {event['verb']} {where} → "
        f"{event.get('responseStatus', {}).get('code', '?')} {said}"
    )


def _starts(controllers: Path) -> Iterator[str]:
    text = controllers.read_text(errors="replace") if controllers.exists() else ""
    for line in text.splitlines():
        if '"msg":"starting"' in line or '"msg":"ready"' in line:
            event = json.loads(line)
            yield f"{event['time']} controller {event['msg']}"
