"""
The rows of custom kinds: what their columns' paths lead to.

Follows kubernetes 1.35
k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor/tableconvertor.go
convertor.ConvertToTable, cellForJSONValue.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.registry.kinds import Column
from kube_sandbox.tables.ages import UNKNOWN, Clock
from kube_sandbox.tables.cells import Cells, Print, name_of
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
    if not found:
        return None
    if sort == "string":
        return as_text(found[0])
    convert = _CONVERT.get(sort)
    return convert(found[0], clock) if convert and found[0] is not None else None


def _integer(value: Any, _: Clock) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # A number that does not fit becomes the least of those that do.
    return int(value) if -(2**63) <= value < 2**63 else -(2**63)


def _number(value: Any, _: Clock) -> int | float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Go writes a whole number without a fraction.
    return int(value) if float(value).is_integer() else value


def _boolean(value: Any, _: Clock) -> bool | None:
    return value if isinstance(value, bool) else None


def _date(value: Any, clock: Clock) -> str | None:
    if not isinstance(value, str):
        return None
    if value in ("", "null"):
        return UNKNOWN
    shown = clock.since(value) if _TIME.fullmatch(value) else UNKNOWN
    return "<invalid>" if shown == UNKNOWN else shown


_CONVERT: dict[str, Callable[[Any, Clock], Any]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
}
