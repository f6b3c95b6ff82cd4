"""
Event, served in two groups: the same objects with other names for some fields.

Events are stored in the form of the core group. `to_core` and `from_core` convert between the
forms; the checks work on the core form and name fields as the internal type does.

Follows kubernetes 1.35 pkg/apis/core/validation/events.go ValidateEventCreate,
ValidateEventUpdate, legacyValidateEvent; pkg/apis/events/v1/conversion.go
Convert_v1_Event_To_core_Event.
"""

from collections.abc import Mapping
from typing import Any

import orjson

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy, KindOptions
from kube_sandbox.registry.field_errors import invalid, required
from kube_sandbox.registry.name_validation import dns_subdomain, name_is_subdomain, qualified_name
from kube_sandbox.registry.object_meta import IMMUTABLE, validate_create, validate_update
from kube_sandbox.registry.strategy import Errors, RequestContext, set_generation

CORE, NEW = "v1", "events.k8s.io/v1"
# Of the core group, and of the other.
_RENAMED = (
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
)
_TO_NEW = dict(_RENAMED)
_TO_CORE = {new: core for core, new in _RENAMED}
# What the core form always shows, and the other only if it says something.
_ALWAYS_IN_CORE = ("reportingComponent", "reportingInstance")
_MAX_LENGTH = 128
_MAX_MESSAGE_LENGTH = 1024
_IMMUTABLE_FIELDS: tuple[tuple[str, str, Any], ...] = (
    ("involvedObject", "involvedObject", {}),
    ("reason", "reason", ""),
    ("message", "message", ""),
    ("source", "source", {}),
    ("firstTimestamp", "firstTimestamp", None),
    ("lastTimestamp", "lastTimestamp", None),
    ("count", "count", 0),
    ("reason", "reason", ""),
    ("type", "type", ""),
    ("eventTime", "eventTime", None),
    ("action", "action", ""),
    ("related", "related", None),
    ("reportingComponent", "reportingController", ""),
    ("reportingInstance", "reportingInstance", ""),
)

# As a message shows a reference.
_REFERENCE = (
    ("Kind", "kind"),
    ("Namespace", "namespace"),
    ("Name", "name"),
    ("UID", "uid"),
    ("APIVersion", "apiVersion"),
    ("ResourceVersion", "resourceVersion"),
    ("FieldPath", "fieldPath"),
)


def from_core(obj: Mapping[str, Any]) -> KubeObject:
    """Return an Event of the core group as one of events.k8s.io."""
    found = {_TO_NEW.get(key, key): value for key, value in obj.items()}
    found["apiVersion"] = NEW
    for key in _ALWAYS_IN_CORE:
        name = _TO_NEW.get(key, key)
        if not found.get(name):
            found.pop(name, None)
    if not found.get("deprecatedSource"):
        found["deprecatedSource"] = {}
    return found


def to_core(obj: Mapping[str, Any]) -> KubeObject:
    """Return an Event of events.k8s.io as one of the core group."""
    found = {_TO_CORE.get(key, key): value for key, value in obj.items()}
    found["apiVersion"] = CORE
    for key in _ALWAYS_IN_CORE:
        found.setdefault(key, "")
    return found


class Events(BaseStrategy):
    """Something that happened; those of events.k8s.io are validated strictly."""

    def __init__(self, is_new_group: bool) -> None:
        super().__init__(KindOptions(creates_on_update=True))
        self._is_new = is_new_group

    def prepare_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> None:
        """Keep the generation."""
        set_generation(new, old["metadata"].get("generation", 0))

    def validate_create(self, obj: KubeObject, occasion: RequestContext) -> Errors:
        """Validate a new one."""
        event = self._core(obj)
        found = _legacy_validation(
            event, "reportingController" if self._is_new else "reportingComponent"
        )
        if not self._is_new:
            return found
        found += validate_create(event, True, name_is_subdomain) + _series_errors(event)
        if event.get("eventTime") is None:
            found.append(required("eventTime"))
        kind = event.get("type", "")
        if kind not in ("Normal", "Warning"):
            found.append(invalid("type", "", f"has invalid value: {kind}"))
        unset = ("firstTimestamp", "lastTimestamp", "count", "source")
        return found + [invalid(part, "", "needs to be unset") for part in unset if event.get(part)]

    def validate_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> Errors:
        """Validate a change: in the newer group only the series may change."""
        event, before = self._core(new), self._core(old)
        found = _legacy_validation(
            event, "reportingController" if self._is_new else "reportingComponent"
        )
        if not self._is_new:
            return found
        found += validate_update(event, before)
        if event.get("series") != before.get("series"):
            found += _series_errors(event)
        for part, name, absent in _IMMUTABLE_FIELDS:
            value = event.get(part, absent)
            if value != before.get(part, absent):
                # A value as a message shows it: objects in the API server's inner form.
                if part == "source":
                    format_value: Any = {
                        "Component": value.get("component", ""),
                        "Host": value.get("host", ""),
                    }
                elif part not in ("involvedObject", "related") or value is None:
                    format_value = value
                else:
                    shown = {name: value.get(key, "") for name, key in _REFERENCE}
                    format_value = orjson.Fragment(orjson.dumps(shown))
                found.append(invalid(name, format_value, IMMUTABLE))
        return found

    def _core(self, obj: KubeObject) -> KubeObject:
        return to_core(obj) if self._is_new else obj


def _series_errors(event: KubeObject) -> Errors:
    series = event.get("series")
    if series is None:
        return []
    found: Errors = []
    if series.get("count", 0) < 2:
        found.append(invalid("series.count", "", "should be at least 2"))
    if series.get("lastObservedTime") is None:
        found.append(required("series.lastObservedTime"))
    return found


def _legacy_validation(event: KubeObject, reporter: str) -> Errors:
    namespace = event["metadata"].get("namespace", "")
    about = event.get("involvedObject", {}).get("namespace", "")
    found: Errors = []
    has_time = event.get("eventTime") is not None
    if about and not has_time:
        fits = about == namespace
    else:
        homes = ("default", "kube-system") if has_time else ("", "default")
        fits = bool(about) or namespace in homes
    if not fits:
        message = "does not match event.namespace"
        found.append(invalid("involvedObject.namespace", about, message))
    if has_time:
        controller = event.get("reportingComponent", "")
        timed_errors = [] if controller else [required(reporter)]
        timed_errors += [invalid(reporter, controller, each) for each in qualified_name(controller)]
        for part in ("reportingInstance", "action", "reason"):
            value = event.get(part, "")
            if not value:
                timed_errors.append(required(part))
            if len(value.encode()) > _MAX_LENGTH:
                timed_errors.append(invalid(part, "", f"can have at most {_MAX_LENGTH} characters"))
        if len(event.get("message", "").encode()) > _MAX_MESSAGE_LENGTH:
            timed_errors.append(
                invalid("message", "", f"can have at most {_MAX_MESSAGE_LENGTH} characters")
            )
        found += timed_errors
    return found + [invalid("namespace", namespace, each) for each in dns_subdomain(namespace)]


EVENTS, NEW_EVENTS = Events(is_new_group=False), Events(is_new_group=True)
