"""What the API server answered → what went wrong."""

import json
from typing import Any

import pytest

from kro_gitops.errors import ClusterUnavailable, Unavailable
from kro_gitops.kube.responses import (
    AlreadyExists,
    ApiError,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    error_of,
)


def body(reason: str, code: int, **details: Any) -> bytes:
    status = {"kind": "Status", "reason": reason, "code": code, "message": "told"}
    return json.dumps({**status, "details": details}).encode()


@pytest.mark.parametrize(
    ("reason", "code", "expected"),
    [
        ("NotFound", 404, NotFound),
        ("AlreadyExists", 409, AlreadyExists),
        ("Conflict", 409, Conflict),
        ("Invalid", 422, Invalid),
        ("Unauthorized", 401, Unauthorized),
        ("Forbidden", 403, Forbidden),
        ("Expired", 410, Expired),
        ("Gone", 410, Expired),
        ("TooManyRequests", 429, TooManyRequests),
        ("InternalError", 500, ServerError),
        ("ServiceUnavailable", 503, ServerError),
        ("Timeout", 504, ServerError),
        ("BadRequest", 400, ApiError),
    ],
)
def test_the_reason_decides(reason: str, code: int, expected: type[ApiError]) -> None:
    error = error_of(code, body(reason, code))
    assert type(error) is expected
    assert error.message == "told"
    assert isinstance(error, Unavailable)


@pytest.mark.parametrize(
    ("code", "expected"),
    [(404, NotFound), (410, Expired), (429, TooManyRequests), (502, ServerError)],
)
def test_without_a_reason_the_code_decides(code: int, expected: type[ApiError]) -> None:
    error = error_of(code, b"<html>from a proxy</html>")
    assert type(error) is expected
    assert error.message == f"HTTP {code}: <html>from a proxy</html>"


def test_a_long_answer_is_quoted_in_part() -> None:
    assert len(error_of(502, b"x" * 100_000).message) < 300


@pytest.mark.parametrize("answer", [b"", b"[]", b"null", b"\xff\xfe"])
def test_any_answer_is_understood_somehow(answer: bytes) -> None:
    assert error_of(503, answer).message.startswith("HTTP 503")


def test_a_missing_object_is_not_a_missing_kind() -> None:
    missing = error_of(404, body("NotFound", 404, name="web", kind="pods"))
    unknown = error_of(404, body("NotFound", 404))
    path = error_of(404, b"404 page not found\n")
    kinds = [error.is_of_kind for error in (missing, unknown, path) if isinstance(error, NotFound)]
    assert kinds == [False, True, True]


def test_fields_of_other_managers_are_told_from_old_versions() -> None:
    cause = {"reason": "FieldManagerConflict", "message": 'conflict with "them"', "field": ".a"}
    owned = error_of(409, body("Conflict", 409, causes=[cause]))
    old = error_of(409, body("Conflict", 409))
    assert isinstance(owned, Conflict)
    assert isinstance(old, Conflict)
    assert [each.field for each in owned.fields] == [".a"]
    assert old.fields == ()


@pytest.mark.parametrize(
    ("header", "details", "seconds"),
    [
        pytest.param("3", {}, 3.0, id="header"),
        pytest.param(None, {"retryAfterSeconds": 2}, 2.0, id="details"),
        pytest.param("3", {"retryAfterSeconds": 2}, 3.0, id="the header counts"),
        pytest.param("Wed, 21 Oct 2015 07:28:00 GMT", {}, None, id="a date is not read"),
        pytest.param(None, {"retryAfterSeconds": 0}, None, id="no wait"),
    ],
)
def test_when_to_come_again(
    header: str | None, details: dict[str, int], seconds: float | None
) -> None:
    error = error_of(429, body("TooManyRequests", 429, **details), header)
    assert error.status.retry_after == seconds
    assert isinstance(error, ClusterUnavailable)
