"""
What a request asks for with `resourceVersion`: which combinations are allowed, what they mean.

Pure: nothing waits here. A request for a version that is yet to come is held by the caller until
the store has it or `FRESHNESS_TIMEOUT` is over; then `require_version` refuses it.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/apis/meta/internalversion/validation/validation.go
ValidateListOptions; k8s.io/apiserver/pkg/storage/api_object_versioner.go
APIObjectVersioner.ParseResourceVersion; k8s.io/apiserver/pkg/storage/errors.go
NewTooLargeResourceVersionError.
"""

from dataclasses import dataclass

from kube_sandbox.api_errors import StatusError, bad_request, invalid
from kube_sandbox.registry.field_errors import (
    FieldError,
    forbidden,
    not_supported,
    quoted,
)
from kube_sandbox.registry.field_errors import invalid as invalid_field
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


def validate_options(asked: VersionOptions) -> VersionOptions:
    """Return what is asked for with its defaults, or raise 422."""
    if asked.watch and asked.send_initial_events is None and not asked.match:
        if asked.resource_version in ("", "0"):
            asked = VersionOptions(
                asked.resource_version, NOT_OLDER_THAN, asked.limit, asked.token, True, True
            )
    elif not asked.watch and asked.send_initial_events is None and not asked.match:
        return asked
    if errors := _of_watch(asked) if asked.watch else _of_list(asked):
        raise invalid("meta.k8s.io", "ListOptions", "", errors)
    return asked


def _of_list(asked: VersionOptions) -> list[FieldError]:
    found = []
    if asked.match:
        if not asked.resource_version:
            found.append(_match_forbidden("forbidden unless resourceVersion is provided"))
        if asked.token:
            found.append(_match_forbidden("forbidden when continue is provided"))
        if asked.match not in (EXACT, NOT_OLDER_THAN):
            supported = (EXACT, NOT_OLDER_THAN, "")
            found.append(not_supported("resourceVersionMatch", asked.match, supported))
        if asked.match == EXACT and asked.resource_version == "0":
            text = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            found.append(forbidden("resourceVersionMatch", text))
    if asked.send_initial_events is not None:
        text = "sendInitialEvents is forbidden for list"
        found.append(forbidden("sendInitialEvents", text))
    return found


def _of_watch(asked: VersionOptions) -> list[FieldError]:
    found = []
    if asked.send_initial_events is not None and asked.match != NOT_OLDER_THAN:
        text = f"sendInitialEvents requires setting resourceVersionMatch to {NOT_OLDER_THAN}"
        found.append(forbidden("resourceVersionMatch", text))
    if asked.match:
        if asked.send_initial_events is None:
            why = "forbidden for watch unless sendInitialEvents is provided"
            found.append(_match_forbidden(why))
        if asked.match != NOT_OLDER_THAN:
            found.append(not_supported("resourceVersionMatch", asked.match, (NOT_OLDER_THAN,)))
        if asked.token:
            found.append(_match_forbidden("forbidden when continue is provided"))
    return found


def _match_forbidden(why: str) -> FieldError:
    return forbidden("resourceVersionMatch", f"resourceVersionMatch is {why}")


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
    told = f"strconv.ParseUint: parsing {quoted(text)}: {why}"
    return invalid_field("resourceVersion", text, told)


class VersionNotReachedError(StatusError):
    """A version has not been reached; whoever asks may be held until it is."""

    version = 0


def require_version(store: Store, version: int) -> None:
    """Raise 504 if the store has not got to a version."""
    if version > store.version:
        raise too_large(version, store.version)


def too_large(version: int, current: int) -> VersionNotReachedError:
    """Say that a version has not been reached in the time that a request is held."""
    message = f"Timeout: Too large resource version: {version}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    details = {"causes": [cause], "retryAfterSeconds": _RETRY_AFTER}
    error = VersionNotReachedError(
        504, "Timeout", message, details, {"Retry-After": str(_RETRY_AFTER)}
    )
    error.version = version
    return error
