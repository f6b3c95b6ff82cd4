"""
The answers that are not objects: `Status`, with code, reason, message and causes.

A request that cannot be done raises a `StatusError`; whoever serves it sends its `status()`. Codes,
reasons and words are the API server's.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/api/errors/errors.go NewNotFound, NewConflict,
NewApplyConflict, NewInvalid, NewForbidden.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.field_errors import FieldError, quoted


class StatusError(Exception):
    """A request is refused; `details` are those of a Status."""

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
    """Say that there is no such object."""
    text = f"{qualified(group, plural)} {quoted(name)} not found"
    return StatusError(404, "NotFound", text, _details(name, group, plural))


def no_such_path() -> StatusError:
    """Say that nothing is served at a path; a real API server says so in plain text."""
    return StatusError(404, "", "404 page not found")


def already_exists(group: str, plural: str, name: str) -> StatusError:
    """Say that there is an object of that name."""
    text = f"{qualified(group, plural)} {quoted(name)} already exists"
    return StatusError(409, "AlreadyExists", text, _details(name, group, plural))


def conflict(group: str, plural: str, name: str, why: str) -> StatusError:
    """Say that an object is not what the request takes it for."""
    text = f"Operation cannot be fulfilled on {qualified(group, plural)} {quoted(name)}: {why}"
    return StatusError(409, "Conflict", text, _details(name, group, plural))


def apply_conflict(message: str, causes: Sequence[Mapping[str, str]]) -> StatusError:
    """Say that fields belong to other managers."""
    return StatusError(409, "Conflict", message, {"causes": [dict(each) for each in causes]})


def invalid(group: str, kind: str, name: str, errors: Iterable[FieldError]) -> StatusError:
    """Say what is wrong with an object."""
    found = list(errors)
    # The same error twice is told once, as the API server's aggregate does.
    texts = list(dict.fromkeys(map(str, found)))
    told = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    text = f"{qualified(group, kind)} {quoted(name)} is invalid"
    message = f"{text}: {told}" if texts else text
    causes = [each.cause() for each in found]
    return StatusError(422, "Invalid", message, _details(name, group, kind, causes=causes or None))


def forbidden(group: str, plural: str, name: str, why: str) -> StatusError:
    """Say that something may not be done."""
    subject = qualified(group, plural)
    if not subject:
        text = f"forbidden: {why}"
    elif name:
        text = f"{subject} {quoted(name)} is forbidden: {why}"
    else:
        text = f"{subject} is forbidden: {why}"
    return StatusError(403, "Forbidden", text, _details(name, group, plural))


def unauthorized() -> StatusError:
    """Say that nobody knows who asks."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def bad_request(message: str) -> StatusError:
    """Say that a request makes no sense."""
    return StatusError(400, "BadRequest", message)


def expired(message: str) -> StatusError:
    """Say that a version is too long ago."""
    return StatusError(410, "Expired", message)


def method_not_supported(group: str, plural: str, action: str) -> StatusError:
    """Say that a resource cannot do that."""
    text = f"{action} is not supported on resources of kind {quoted(qualified(group, plural))}"
    return StatusError(405, "MethodNotAllowed", text, _details("", group, plural))


def unsupported_media_type(accepted: Iterable[str]) -> StatusError:
    """Say that a body is in no form that is understood."""
    told = ", ".join(accepted)
    text = "the body of the request was in an unknown format - accepted media types include: "
    return StatusError(415, "UnsupportedMediaType", text + told)


def not_acceptable(accepted: Iterable[str]) -> StatusError:
    """Say that an answer can be given in none of the forms that are asked for."""
    text = f"only the following media types are accepted: {', '.join(accepted)}"
    return StatusError(406, "NotAcceptable", text)


def too_large(message: str) -> StatusError:
    """Say that a body is too large."""
    return StatusError(413, "RequestEntityTooLarge", f"Request entity too large: {message}")


def internal_error(message: str) -> StatusError:
    """Say that the mistake is ours."""
    text = f"Internal error occurred: {message}"
    return StatusError(500, "InternalError", text, {"causes": [{"message": message}]})
