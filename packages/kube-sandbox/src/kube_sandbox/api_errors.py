"""
Errors of the API: the `Status` of a rejected request, and the errors of its fields.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/api/errors/errors.go NewNotFound, NewConflict,
NewApplyConflict, NewInvalid, NewForbidden.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import orjson

from kube_objects.go_text import quote
from kube_objects.refs import KubeObject


class ErrorType(Enum):
    """The types of field errors: the reason in a cause, and the text in a message."""

    NOT_FOUND = ("FieldValueNotFound", "Not found")
    REQUIRED = ("FieldValueRequired", "Required value")
    DUPLICATE = ("FieldValueDuplicate", "Duplicate value")
    INVALID = ("FieldValueInvalid", "Invalid value")
    NOT_SUPPORTED = ("FieldValueNotSupported", "Unsupported value")
    FORBIDDEN = ("FieldValueForbidden", "Forbidden")
    TOO_LONG = ("FieldValueTooLong", "Too long")
    TOO_MANY = ("FieldValueTooMany", "Too many")
    INTERNAL = ("InternalError", "Internal error")
    TYPE_INVALID = ("FieldValueTypeInvalid", "Invalid value")


_WITHOUT_VALUE = frozenset(
    (ErrorType.REQUIRED, ErrorType.FORBIDDEN, ErrorType.TOO_LONG, ErrorType.INTERNAL)
)
OMITTED: Any = object()


@dataclass(frozen=True, slots=True)
class FieldError:
    """One error; `field` is a path as the API server writes it: `spec.ports[0].name`."""

    sort: ErrorType
    field: str
    value: Any = OMITTED
    detail: str = ""

    @property
    def body(self) -> str:
        """Return the message without the field."""
        text = self.sort.value[1]
        if self.sort not in _WITHOUT_VALUE and self.value is not OMITTED:
            text = f"{text}: {format_field_value(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body}"

    def cause(self) -> dict[str, str]:
        """Return it as one of the causes in a Status."""
        return {"reason": self.sort.value[0], "message": self.body, "field": self.field}


def format_field_value(value: Any) -> str:
    """Print a value as Go does in such messages."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    # Go escapes these three in JSON, and sorts the keys of maps.
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


class StatusError(Exception):
    """A request is rejected; `details` are those of a Status."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = dict(details or {})
        self._has_details = details is not None
        self.headers = dict(headers or {})
        self.warnings: Sequence[str] = ()  # what the author should know besides

    def status(self) -> KubeObject:
        """Return what is sent."""
        found: KubeObject = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            found["reason"] = self.reason
        if self.details or self._has_details:
            found["details"] = self.details
        found["code"] = self.code
        return found


def qualified(group: str, name: str) -> str:
    """Name a resource or kind with its group: `deployments.apps`."""
    return f"{name}.{group}" if group else name


def _details(name: str, group: str, kind: str, **more: Any) -> dict[str, Any]:
    """Return details in the order and with the gaps that the API server has them."""
    found = {"name": name, "group": group, "kind": kind, **more}
    return {key: value for key, value in found.items() if value not in ("", None)}


def success(details: Mapping[str, Any]) -> KubeObject:
    """Return what is sent when something was done of which no object is left to show."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": dict(details),
    }


def not_found(group: str, plural: str, name: str) -> StatusError:
    """Return 404 NotFound: there is no such object."""
    text = f"{qualified(group, plural)} {quote(name)} not found"
    return StatusError(404, "NotFound", text, _details(name, group, plural))


def no_such_path() -> StatusError:
    """Return 404 for a path at which nothing is served; a real API server answers in plain text."""
    return StatusError(404, "", "404 page not found")


def already_exists(group: str, plural: str, name: str) -> StatusError:
    """Return 409 AlreadyExists."""
    text = f"{qualified(group, plural)} {quote(name)} already exists"
    return StatusError(409, "AlreadyExists", text, _details(name, group, plural))


def conflict(group: str, plural: str, name: str, why: str) -> StatusError:
    """Return 409 Conflict: the object has changed, or a precondition does not hold."""
    text = f"Operation cannot be fulfilled on {qualified(group, plural)} {quote(name)}: {why}"
    return StatusError(409, "Conflict", text, _details(name, group, plural))


def apply_conflict(message: str, causes: Sequence[Mapping[str, str]]) -> StatusError:
    """Return 409 Conflict of an apply: fields belong to other managers."""
    return StatusError(409, "Conflict", message, {"causes": [dict(each) for each in causes]})


def invalid(group: str, kind: str, name: str, errors: Iterable[FieldError]) -> StatusError:
    """Return 422 Invalid with a cause for each field error."""
    found = list(errors)
    # Equal errors are reported once, as the API server's aggregate does.
    texts = list(dict.fromkeys(map(str, found)))
    detail = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    text = f"{qualified(group, kind)} {quote(name)} is invalid"
    message = f"{text}: {detail}" if texts else text
    causes = [each.cause() for each in found]
    return StatusError(422, "Invalid", message, _details(name, group, kind, causes=causes or None))


def forbidden(group: str, plural: str, name: str, why: str) -> StatusError:
    """Return 403 Forbidden."""
    subject = qualified(group, plural)
    if not subject:
        text = f"forbidden: {why}"
    elif name:
        text = f"{subject} {quote(name)} is forbidden: {why}"
    else:
        text = f"{subject} is forbidden: {why}"
    return StatusError(403, "Forbidden", text, _details(name, group, plural))


def unauthorized() -> StatusError:
    """Return 401 Unauthorized."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def bad_request(message: str) -> StatusError:
    """Return 400 BadRequest."""
    return StatusError(400, "BadRequest", message)


def expired(message: str) -> StatusError:
    """Return 410 Expired: the resource version has been compacted."""
    return StatusError(410, "Expired", message)


def method_not_supported(group: str, plural: str, action: str) -> StatusError:
    """Return 405 MethodNotAllowed."""
    text = f"{action} is not supported on resources of kind {quote(qualified(group, plural))}"
    return StatusError(405, "MethodNotAllowed", text, _details("", group, plural))


def unsupported_media_type(accepted: Iterable[str]) -> StatusError:
    """Return 415 UnsupportedMediaType: the content type of the body is unknown."""
    message = ", ".join(accepted)
    text = "the body of the request was in an unknown format - accepted media types include: "
    return StatusError(415, "UnsupportedMediaType", text + message)


def not_acceptable(accepted: Iterable[str]) -> StatusError:
    """Return 406 NotAcceptable: no accepted media type can be produced."""
    text = f"only the following media types are accepted: {', '.join(accepted)}"
    return StatusError(406, "NotAcceptable", text)


def too_large(message: str) -> StatusError:
    """Return 413 RequestEntityTooLarge."""
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {message}")


def internal_error(message: str) -> StatusError:
    """Return 500 InternalError."""
    text = f"Internal error occurred: {message}"
    return StatusError(500, "InternalError", text, {"causes": [{"message": message}]})
