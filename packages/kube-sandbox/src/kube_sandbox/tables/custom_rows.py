"""
Rows of custom kinds: the values at their columns' paths.

Follows kubernetes 1.35
k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor/tableconvertor.go
convertor.ConvertToTable, cellForJSONValue.
"""

import re
from functools import lru_cache
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.kinds import Column
from kube_sandbox.tables.cells import UNKNOWN, Cells, Clock, Print, name_of
from kube_sandbox.tables.json_path import BadPathError, JSONPath, as_text

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)


@lru_cache(maxsize=1024)
def printer(columns: tuple[Column, ...]) -> Print:
    """Compile the paths of columns; those from the first that cannot be read on are left out."""
    paths: list[tuple[str, JSONPath]] = []
    for column in columns:
        try:
            paths.append((column.type, JSONPath(column.path)))
        except BadPathError:
            break

    def cells(obj: KubeObject, clock: Clock) -> Cells:
        return [name_of(obj), *(_cell(sort, path.find(obj), clock) for sort, path in paths)]

    return cells


def _cell(sort: str, found: list[Any], clock: Clock) -> Any:
    value: Any = found[0] if found else None
    match sort:
        case "string" if found:
            return as_text(value)
        case "boolean" if isinstance(value, bool):
            return value
        case "integer" | "number" if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        case "integer":
            # A number out of range becomes the least int64, as Go converts it.
            return int(value) if -(2**63) <= value < 2**63 else -(2**63)
        case "number":
            # Go writes a whole number without a fraction.
            return int(value) if float(value).is_integer() else value
        case "date" if isinstance(value, str):
            if value in ("", "null"):
                return UNKNOWN
            shown = clock.since(value) if _TIME.fullmatch(value) else UNKNOWN
            return "<invalid>" if shown == UNKNOWN else shown
        case _:
            return None
