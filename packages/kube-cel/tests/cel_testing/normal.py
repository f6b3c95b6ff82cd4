"""
Values of several engines in one form, so that they can be compared.

A value becomes a pair of its kind and a content that JSON can hold: `["int", 3]`,
`["list", [["string", "a"]]]`. Numbers of different kinds stay different, NaN equals itself, the
order of a map's entries does not matter. Of an optional inside another value, or behind dyn, only
its presence is kept, because not every engine lets one look further.
"""

import json
from typing import Any

from kube_cel.values import (
    Duration,
    OptionalValue,
    Timestamp,
    TypeValue,
    is_list,
    is_map,
    kind_of,
)

Normal = list[Any]


def normal_optional(value: OptionalValue) -> Normal:
    """Bring an optional that is the whole result into the common form, with what it holds."""
    return ["optional_type", [normal_form(value.value)] if value.present else []]


def normal_form(value: Any) -> Normal:
    """Bring one of our values into the common form."""
    kind = kind_of(value)
    if is_list(value):
        return ["list", [normal_form(element) for element in value]]
    if is_map(value):
        return normal_map((normal_form(key), normal_form(held)) for key, held in value.items())
    if isinstance(value, Timestamp | Duration):
        return [kind, value.nanos]
    if isinstance(value, OptionalValue):
        return [kind, value.present]
    if isinstance(value, TypeValue):
        return [kind, value.name]
    return normal_scalar(kind, value)


def normal_scalar(kind: str, value: Any) -> Normal:
    """Bring a value that Python has a type for into the common form."""
    if kind == "double":
        return [kind, repr(float(value))]
    if kind in ("int", "uint"):
        return [kind, int(value)]
    if kind == "bytes":
        return [kind, bytes(value).hex()]
    return [kind, value]


def normal_map(entries: Any) -> Normal:
    """Sort a map's entries. Keys forget whether they were unsigned: other engines' do."""
    plain = [[["int" if key[0] == "uint" else key[0], key[1]], value] for key, value in entries]
    return ["map", sorted(plain, key=json.dumps)]
