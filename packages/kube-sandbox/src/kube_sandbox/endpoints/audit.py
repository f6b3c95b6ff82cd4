"""
The audit log: who asked for what, and what came of it; a line of JSON for each request.

As a real API server writes it at level Metadata, without bodies. A watch is noted when it begins.
It writes no file: a function receives the lines.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/endpoints/filters/audit.go WithAudit;
k8s.io/apiserver/pkg/audit/request.go LogRequestMetadata.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import orjson

from kube_sandbox.api_errors import StatusError
from kube_sandbox.authentication.user_info import UserInfo
from kube_sandbox.endpoints.interface import HTTPRequest
from kube_sandbox.endpoints.request_info import Query, parse_target, verb_of


class AuditLog:
    """Writes requests down."""

    def __init__(
        self,
        write: Callable[[bytes], object],
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
    ) -> None:
        self._write = write
        self._clock = clock
        self._new_id = new_id

    def note(self, call: HTTPRequest, user: UserInfo, code: int, began: datetime) -> None:
        """Write down a request that was answered."""
        target = parse_target(call.path)
        if target is None:
            verb = call.method.lower()
        else:
            try:
                verb = verb_of(call.method, target, Query.parse(call.query))
            except StatusError:
                verb = call.method.lower()
        person = {"username": user.user, "uid": user.uid, "groups": user.groups}
        event: dict[str, Any] = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "auditID": self._new_id(),
            "stage": "ResponseStarted" if verb == "watch" else "ResponseComplete",
            "requestURI": f"{call.path}?{call.query}" if call.query else call.path,
            "verb": verb,
            "user": {key: value for key, value in person.items() if value},
            "userAgent": call.headers.get("User-Agent", ""),
        }
        if target is not None:
            found = {
                "resource": target.plural,
                "namespace": target.namespace,
                "name": target.name,
                "apiGroup": target.group,
                "apiVersion": target.version,
                "subresource": target.subresource,
            }
            event["objectRef"] = {key: value for key, value in found.items() if value}
        event["responseStatus"] = {"metadata": {}, "code": code}
        event["requestReceivedTimestamp"] = _time(began)
        event["stageTimestamp"] = _time(self._clock())
        self._write(orjson.dumps(event) + b"\n")


def _time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z"
