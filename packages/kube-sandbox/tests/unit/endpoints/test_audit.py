"""Lines of the audit log, as a real API server writes them at level Metadata."""

from datetime import UTC, datetime

import orjson
import pytest

from kube_sandbox.authentication.user_info import UserInfo
from kube_sandbox.endpoints.audit import AuditLog
from kube_sandbox.endpoints.interface import HTTPRequest

NOW = datetime(2026, 1, 2, 3, 4, 5, 60_000, UTC)
JANE = UserInfo("jane", ("people", "system:authenticated"))


def noted(method: str, path: str, query: str = "", code: int = 200) -> dict[str, object]:
    lines: list[bytes] = []
    audit = AuditLog(lines.append, lambda: NOW, lambda: "some-id")
    audit.note(HTTPRequest(method, path, query, {"User-Agent": "tests"}, b""), JANE, code, NOW)
    (line,) = lines
    assert line.endswith(b"\n")
    found: dict[str, object] = orjson.loads(line)
    return found


def test_a_change_is_noted_with_who_and_what() -> None:
    path = "/apis/apps/v1/namespaces/town/deployments/shop/status"
    assert noted("PATCH", path, "force=true", 409) == {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": "some-id",
        "stage": "ResponseComplete",
        "requestURI": f"{path}?force=true",
        "verb": "patch",
        "user": {"username": "jane", "groups": ["people", "system:authenticated"]},
        "userAgent": "tests",
        "objectRef": {
            "resource": "deployments",
            "namespace": "town",
            "name": "shop",
            "apiGroup": "apps",
            "apiVersion": "v1",
            "subresource": "status",
        },
        "responseStatus": {"metadata": {}, "code": 409},
        "requestReceivedTimestamp": "2026-01-02T03:04:05.060000Z",
        "stageTimestamp": "2026-01-02T03:04:05.060000Z",
    }


@pytest.mark.parametrize(
    ("method", "path", "query", "verb", "stage"),
    [
        ("GET", "/api/v1/pods", "", "list", "ResponseComplete"),
        ("GET", "/api/v1/pods", "watch=1", "watch", "ResponseStarted"),
        ("GET", "/version", "", "get", "ResponseComplete"),
        ("DELETE", "/api/v1/namespaces/a/pods", "", "deletecollection", "ResponseComplete"),
        ("PUT", "/api/v1/namespaces/a/pods", "", "put", "ResponseComplete"),  # no such verb
    ],
)
def test_requests_are_told_by_their_verb(
    method: str, path: str, query: str, verb: str, stage: str
) -> None:
    found = noted(method, path, query)
    assert (found["verb"], found["stage"]) == (verb, stage)


def test_a_request_for_no_resource_names_none() -> None:
    assert "objectRef" not in noted("GET", "/readyz")
