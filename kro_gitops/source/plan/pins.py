"""
The pins of a source: which of them are in force.
"""

from datetime import datetime

from kro_gitops.source.api.types import Pin, SourceSpec
from kube_objects.times import parse_time


def valid_pin(spec: SourceSpec, now: datetime) -> Pin | None:
    """Return the pin of a source, unless it has expired."""
    pin = spec.pin
    if pin is None or not pin.expires:
        return pin
    until = parse_time(pin.expires)
    return pin if until is None or now < until else None
