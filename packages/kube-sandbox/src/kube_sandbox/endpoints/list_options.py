"""
Which combinations of `resourceVersion`, `resourceVersionMatch` and `sendInitialEvents` are allowed.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/apis/meta/internalversion/validation/validation.go
ValidateListOptions.
"""

from kube_sandbox.api_errors import FieldError, invalid
from kube_sandbox.registry.field_errors import forbidden, not_supported
from kube_sandbox.storage.resource_version import EXACT, NOT_OLDER_THAN, VersionOptions


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
