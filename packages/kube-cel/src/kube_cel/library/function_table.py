"""
The functions of all library modules in two tables.

A method is looked up by its name and the kind of its receiver, a plain function by its name alone.
No two modules may define the same one.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

Function = Callable[..., Any]

# By name, so that the list stands here once and not a second time as import statements.
_FAMILY_NAMES = (
    *("addresses", "encoders", "formats", "formatting", "kro", "lists", "optionals", "quantity"),
    *("regex", "semver", "sets", "standard", "strings", "timestamps", "urls"),
)
FAMILIES = tuple(import_module(f"kube_cel.library.{name}") for name in _FAMILY_NAMES)

FUNCTIONS: Mapping[str, Function] = {
    name: function for family in FAMILIES for name, function in family.GLOBALS.items()
}
"""Plain functions by name: `size`, `hash.sha256`."""

METHODS: dict[str, dict[str, Function]] = {}
"""Methods by name and kind of the receiver: `METHODS["indexOf"]["list"]`."""

for _family in FAMILIES:
    for (_name, _kind), _function in _family.MEMBERS.items():
        METHODS.setdefault(_name, {})[_kind] = _function
