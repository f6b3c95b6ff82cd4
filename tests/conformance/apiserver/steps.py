"""
A request as data that means the same on two servers.

What a server chose itself (versions, uids, tokens) is written as a mark, and filled in by each
side from what it answered before: `{ns}` the namespace, and in bodies `$version`, `$stale`, `$uid`,
`$continue`. A body may also be the object as it was last seen, with edits: `{"$live": edits}`.
"""

import json
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from tests.conformance.apiserver.sides import Reply

DROP = "$drop"
Edit = tuple[str, Any]  # a path like `spec/ports/0/port`, and the value to be there


@dataclass(frozen=True, slots=True)
class Step:
    """One request."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()
    about: str = ""  # kind and name of the object it is about, for whom answers are remembered
    pause: float = 0.0  # seconds after it, for what a server does in the background

    def __str__(self) -> str:
        query = f"?{urlencode(self.query)}" if self.query else ""
        headers = " ".join(f"{name}: {value}" for name, value in self.headers)
        body = "" if self.body is None else f"\n      {json.dumps(self.body)[:3000]}"
        return f"{self.method} {self.path}{query} {headers}{body}"


@dataclass(slots=True)
class Memory:
    """What one side has answered so far in a sequence."""

    namespace: str
    live: dict[str, Any] = field(default_factory=dict)
    stale: dict[str, str] = field(default_factory=dict)
    token: str = ""
    version: str = ""  # of the last list

    def note(self, step: Step, reply: Reply) -> None:
        """Remember what was answered."""
        body = reply.body
        if not reply.is_done or not isinstance(body, dict):
            return
        metadata = body.get("metadata") or {}
        if "items" in body or "rows" in body:
            self.token = metadata.get("continue") or self.token
            self.version = metadata.get("resourceVersion", "")
        elif step.about and metadata.get("uid") and body.get("kind") not in ("Scale", "Table"):
            former = self.live.get(step.about)
            if former is not None:
                self.stale[step.about] = former["metadata"].get("resourceVersion", "1")
            self.live[step.about] = body

    def path(self, step: Step) -> str:
        """Return the path and query of a step on this side."""
        path = step.path.replace("{ns}", self.namespace)
        pairs = [(name, self._text(step, value)) for name, value in step.query]
        return f"{path}?{urlencode(pairs)}" if pairs else path

    def body(self, step: Step) -> bytes | None:
        """Return the body of a step on this side."""
        if step.body is None:
            return None
        if isinstance(step.body, str):
            return self._text(step, step.body).encode()
        filled = self._filled(step, step.body)
        if isinstance(filled, dict) and "$live" in filled:
            found = deepcopy(self.live.get(step.about) or filled.get("otherwise") or {})
            for path, value in filled["$live"]:
                put(found, path, value)
            # The order of fields in an answer is nobody's promise, but messages may show it.
            return json.dumps(found, sort_keys=True).encode()
        return json.dumps(filled).encode()

    def _filled(self, step: Step, value: Any) -> Any:
        if isinstance(value, dict):
            return {self._text(step, k): self._filled(step, v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self._filled(step, each) for each in value]
        return self._text(step, value) if isinstance(value, str) else value

    def _text(self, step: Step, text: str) -> str:
        metadata = (self.live.get(step.about) or {}).get("metadata") or {}
        match text:
            case "$version":
                return str(metadata.get("resourceVersion", "1"))
            case "$stale":
                return self.stale.get(step.about, "1")
            case "$uid":
                return str(metadata.get("uid", "none"))
            case "$continue":
                return self.token
            case "$listed":
                return self.version
            case _:
                return text.replace("{ns}", self.namespace)


def put(obj: Any, path: str, value: Any) -> None:
    """Set a field, or drop it; what is missing on the way is made, what is in the way stays."""
    *way, last = path.split("/")
    last = last.replace("~1", "/")
    for part in way:
        part = part.replace("~1", "/")
        if isinstance(obj, list):
            if not part.isdigit() or int(part) >= len(obj):
                return
            obj = obj[int(part)]
        elif isinstance(obj, dict):
            if obj.get(part) is None:
                obj[part] = {}
            obj = obj[part]
        else:
            return
    if isinstance(obj, list):
        _put_item(obj, last, value)
    elif isinstance(obj, dict):
        if value == DROP:
            obj.pop(last, None)
        else:
            obj[last] = deepcopy(value)


def _put_item(items: list[Any], last: str, value: Any) -> None:
    if not last.isdigit() or int(last) >= len(items):
        if value != DROP:
            items.append(deepcopy(value))
    elif value == DROP:
        del items[int(last)]
    else:
        items[int(last)] = deepcopy(value)
