"""
What the API server answered → a value, or what went wrong.

An answer that is not the one asked for carries a `Status`: a code, a reason, details. The reason
decides which error it becomes; texts are for people and are never searched. All of them are
`Unavailable`, a refusal too: roles, quotas, webhooks and other people's objects change without
anything of ours changing, so it is worth asking again, later.
"""
# ruff: noqa: N818 - errors have the names of the reasons in a Status

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kro_gitops.errors import ClusterUnavailable, Unavailable

MAX_SHOWN_BODY = 200  # characters of an answer that is no Status, as a proxy gives it


@dataclass(frozen=True, slots=True)
class Cause:
    """One of several things that are wrong."""

    reason: str
    message: str
    field: str


@dataclass(frozen=True, slots=True)
class Status:
    """The server's account of what went wrong."""

    http_code: int
    reason: str
    message: str
    causes: tuple[Cause, ...] = ()
    retry_after: float | None = None
    names_object: bool = False  # it speaks of one object, not of a path that is not there


class ApiError(Unavailable):
    """An answer that is not the one asked for."""

    CODE = "api-error"

    def __init__(self, status: Status) -> None:
        super().__init__(self.CODE, status.message)
        self.status = status

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Return the things that are wrong, if the server tells them apart."""
        return self.status.causes


class NotFound(ApiError):
    """The object is not there, or its namespace, or its kind."""

    CODE = "not-found"

    @property
    def is_of_kind(self) -> bool:
        """Return whether the whole kind is missing, not one object."""
        return not self.status.names_object


class AlreadyExists(ApiError):
    """There is an object of that name."""

    CODE = "already-exists"


class Conflict(ApiError):
    """Another client was faster, or owns fields that were to be applied."""

    CODE = "conflict"

    @property
    def fields(self) -> tuple[Cause, ...]:
        """Return the fields that other managers own; empty if the version was the trouble."""
        return tuple(each for each in self.causes if each.reason == "FieldManagerConflict")


class Invalid(ApiError):
    """The object breaks its schema or a rule."""

    CODE = "invalid"


class Unauthorized(ApiError):
    """The server does not know who we are."""

    CODE = "unauthorized"


class Forbidden(ApiError):
    """The server knows who we are, and does not let us; also quotas and admission."""

    CODE = "forbidden"


class Expired(ApiError):
    """The version asked for is too long ago: list again."""

    CODE = "expired"


class TooManyRequests(ApiError, ClusterUnavailable):
    """The server has enough to do."""

    CODE = "too-many-requests"


class ServerError(ApiError, ClusterUnavailable):
    """The server could not do its work, or not in time."""

    CODE = "server-trouble"


_BY_REASON: Mapping[str, type[ApiError]] = {
    "NotFound": NotFound,
    "AlreadyExists": AlreadyExists,
    "Conflict": Conflict,
    "Invalid": Invalid,
    "Unauthorized": Unauthorized,
    "Forbidden": Forbidden,
    "Expired": Expired,
    "Gone": Expired,
    "TooManyRequests": TooManyRequests,
    "ServerTimeout": ServerError,
    "Timeout": ServerError,
    "InternalError": ServerError,
    "ServiceUnavailable": ServerError,
}

# For answers without a reason, such as those of a proxy.
_BY_CODE: Mapping[int, type[ApiError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Expired,
    422: Invalid,
    429: TooManyRequests,
}


def error_of(http_code: int, body: bytes, retry_after: str | None = None) -> ApiError:
    """Return what went wrong, by an answer's code, body and header."""
    status = status_of(
        http_code,
        body,
        float(retry_after) if retry_after is not None and retry_after.isdigit() else None,
    )
    return error_of_status(status)


def error_of_status(status: Status) -> ApiError:
    """Return the error that a status stands for."""
    found = _BY_REASON.get(status.reason) or _BY_CODE.get(status.http_code)
    if found is None:
        found = ServerError if status.http_code >= 500 else ApiError
    return found(status)


def status_of(http_code: int, body: bytes, retry_after: float | None = None) -> Status:
    """Read an answer; one that is no Status is quoted, in part."""
    try:
        parsed = json.loads(body)
    except ValueError:
        parsed = None
    if isinstance(parsed, dict) and parsed.get("kind") == "Status":
        return parse_status(parsed, http_code, retry_after)
    text = body[: 4 * MAX_SHOWN_BODY].decode(errors="replace").strip()[:MAX_SHOWN_BODY]
    message = f"HTTP {http_code}: {text}" if text else f"HTTP {http_code}"
    return Status(http_code, "", message, retry_after=retry_after)


def parse_status(
    status: Mapping[str, Any], http_code: int = 0, retry_after: float | None = None
) -> Status:
    """Read a Status object: an answer's body, or what a watch reports as an error."""
    http_code = status.get("code") or http_code
    details = status.get("details") or {}
    seconds = details.get("retryAfterSeconds") or None
    return Status(
        http_code=http_code,
        reason=status.get("reason") or "",
        message=status.get("message") or f"HTTP {http_code}",
        causes=tuple(
            Cause(cause.get("reason", ""), cause.get("message", ""), cause.get("field", ""))
            for cause in details.get("causes") or ()
        ),
        retry_after=retry_after if retry_after is not None else seconds,
        names_object=bool(details.get("name")),
    )
