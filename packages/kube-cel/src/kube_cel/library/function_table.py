"""
All functions of all families in two tables.

A method is found by its name and the kind of its receiver, a plain function by its name alone;
no two families may claim the same.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kube_cel.library import (
    addresses,
    encoders,
    formats,
    formatting,
    kro,
    lists,
    optionals,
    quantity,
    regex,
    semver,
    sets,
    standard,
    strings,
    timestamps,
    urls,
)

Function = Callable[..., Any]

FAMILIES = (
    addresses,
    encoders,
    formats,
    formatting,
    kro,
    lists,
    optionals,
    quantity,
    regex,
    semver,
    sets,
    standard,
    strings,
    timestamps,
    urls,
)


def _methods() -> dict[str, dict[str, Function]]:
    table: dict[str, dict[str, Function]] = {}
    for family in FAMILIES:
        for (name, kind), function in family.MEMBERS.items():
            table.setdefault(name, {})[kind] = function
    return table


FUNCTIONS: Mapping[str, Function] = {
    name: function for family in FAMILIES for name, function in family.GLOBALS.items()
}
"""Plain functions by name: `size`, `hash.sha256`."""

METHODS: Mapping[str, Mapping[str, Function]] = _methods()
"""Methods by name and kind of the receiver: `METHODS["indexOf"]["list"]`."""
