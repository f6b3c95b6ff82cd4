"""
The options of lists and watches that are about versions, and what the versions mean.

Pure: nothing waits here. The caller holds a request for a version that is yet to come until the
store has it or `FRESHNESS_TIMEOUT` is over; then `require_version` rejects it.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/storage/api_object_versioner.go
APIObjectVersioner.ParseResourceVersion; k8s.io/apiserver/pkg/storage/errors.go
NewTooLargeResourceVersionError.
"""

from dataclasses import dataclass

from kube_objects.go_text import quote
from kube_sandbox.api_errors import ErrorType, FieldError, StatusError, bad_request
from kube_sandbox.storage.store import Store

EXACT = "Exact"
NOT_OLDER_THAN = "NotOlderThan"
# How many seconds a request is held for a version that is yet to come.
FRESHNESS_TIMEOUT = 3.0
_RETRY_AFTER = 1
_MAX_VERSION = 2**64 - 1


@dataclass(frozen=True, slots=True)
class VersionOptions:
    """The options of a list or watch that are about versions, as they stand in the query."""

    resource_version: str = ""
    match: str = ""
    limit: int = 0
    token: str = ""  # the query calls it "continue"
    send_initial_events: bool | None = None
    watch: bool = False


def parse_version(text: str) -> int:
    """Return the version of a get or a watch; nothing is 0; raise 500 as an API server does."""
    if wrong := _version_error(text):
        raise StatusError(500, "", str(wrong))
    return int(text or "0")


def parse_list_version(text: str) -> int:
    """Return the version of a list; here a wrong one is the client's fault."""
    if wrong := _version_error(text):
        raise bad_request(f"invalid resource version: {wrong}")
    return int(text or "0")


def _version_error(text: str) -> FieldError | None:
    if not text:
        return None
    # Python takes signs, spaces, underscores and other scripts' digits for numbers; Go does not.
    is_number = text.isascii() and text.isdigit()
    if is_number and int(text) <= _MAX_VERSION:
        return None
    why = "value out of range" if is_number else "invalid syntax"
    message = f"strconv.ParseUint: parsing {quote(text)}: {why}"
    return FieldError(ErrorType.INVALID, "resourceVersion", text, message)


class VersionNotReachedError(StatusError):
    """A version has not been reached; the client may be held until it is."""

    version = 0


def require_version(store: Store, version: int) -> None:
    """Raise 504 if the store has not got to a version."""
    if version > store.version:
        raise too_large(version, store.version)


def too_large(version: int, current: int) -> VersionNotReachedError:
    """Return the error that a version has not been reached in the time that a request is held."""
    message = f"Timeout: Too large resource version: {version}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    details = {"causes": [cause], "retryAfterSeconds": _RETRY_AFTER}
    error = VersionNotReachedError(
        504, "Timeout", message, details, {"Retry-After": str(_RETRY_AFTER)}
    )
    error.version = version
    return error
