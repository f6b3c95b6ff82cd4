"""
What is wrong with the probes and the lifecycle of a container.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go validateProbe, validateLifecycle,
validateHandler.
"""

from collections.abc import Mapping
from typing import Any

from kube_sandbox.registry.builtin.field_validation import Errors, by_rule, choice, nonnegatives
from kube_sandbox.registry.field_errors import forbidden, invalid, required
from kube_sandbox.registry.name_validation import http_header, port_name, port_number

_NUMBERS = (
    *("initialDelaySeconds", "timeoutSeconds", "periodSeconds"),
    *("successThreshold", "failureThreshold"),
)
_GRACE = "terminationGracePeriodSeconds"
_SUCCESSES = "successThreshold"

_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")


def check_probes(container: Mapping[str, Any], grace: int, at: str) -> Errors:
    """Return what is wrong with the three probes of a container."""
    found: Errors = []
    if (probe := container.get("livenessProbe")) is not None:
        found += _probe(probe, grace, f"{at}.livenessProbe") + _check_success_threshold(
            probe, f"{at}.livenessProbe"
        )
    if (probe := container.get("readinessProbe")) is not None:
        where = f"{at}.readinessProbe"
        found += _probe(probe, grace, where)
        if _GRACE in probe:
            told = "must not be set for readinessProbes"
            found.append(invalid(f"{where}.{_GRACE}", probe[_GRACE], told))
    if (probe := container.get("startupProbe")) is not None:
        found += _probe(probe, grace, f"{at}.startupProbe") + _check_success_threshold(
            probe, f"{at}.startupProbe"
        )
    return found


def _check_success_threshold(probe: Mapping[str, Any], at: str) -> Errors:
    successes = probe.get(_SUCCESSES, 0)
    return [] if successes == 1 else [invalid(f"{at}.{_SUCCESSES}", successes, "must be 1")]


def _probe(probe: Mapping[str, Any], grace: int, at: str) -> Errors:
    found = _handler(probe, grace, at) + nonnegatives(probe, _NUMBERS, at)
    if probe.get(_GRACE, 1) <= 0:
        found.append(invalid(f"{at}.{_GRACE}", probe[_GRACE], "must be greater than 0"))
    return found


def check_lifecycle(lifecycle: Mapping[str, Any], grace: int, at: str) -> Errors:
    """Return what is wrong with what is to happen when a container starts and stops."""
    found: Errors = []
    for name in ("postStart", "preStop"):
        if (handler := lifecycle.get(name)) is not None:
            found += _handler(handler, grace, f"{at}.{name}")
    return found


def _handler(handler: Mapping[str, Any], grace: int, at: str) -> Errors:
    found: Errors = []
    given = [name for name in _HANDLERS if handler.get(name) is not None]
    if not given:
        return [required(at, "must specify a handler type")]
    action, where = handler[given[0]], f"{at}.{given[0]}"
    match given[0]:
        case "exec":
            found += [] if action.get("command") else [required(f"{where}.command")]
        case "httpGet":
            found += [] if action.get("path") else [required(f"{where}.path")]
            found += _port(action.get("port", 0), f"{where}.port")
            found += choice(action.get("scheme", ""), ("HTTP", "HTTPS"), f"{where}.scheme")
            for header in action.get("httpHeaders", ()):
                found += by_rule(header.get("name", ""), f"{where}.httpHeaders", http_header)
        case "sleep":
            seconds = action.get("seconds", 0)
            if not 0 <= seconds <= grace:
                told = f"must be non-negative and less than {_GRACE} ({grace})"
                found.append(invalid(where, seconds, told))
        case _:
            found += _port(action.get("port", 0), f"{where}.port")
    several = "may not specify more than 1 handler type"
    return found + [forbidden(f"{at}.{name}", several) for name in given[1:]]


def _port(port: int | str, at: str) -> Errors:
    wrong = port_number(port) if isinstance(port, int) else port_name(port)
    return [invalid(at, port, each) for each in wrong]
