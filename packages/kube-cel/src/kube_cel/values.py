"""
Run-time values, in one import for the library modules.

Values are Python's own where Python has them, `scalars` otherwise, and `containers` for data with a
schema. `equality` compares them, `json_conversion` converts them to JSON, `errors` are what they
raise.
"""

from kube_cel.budget import MAX_PARTS, MAX_SIZE, check_size
from kube_cel.containers import (
    ABSENT,
    LISTS,
    MAPS,
    ListView,
    MapView,
    MixedMap,
    ObjectView,
    PartialMap,
    exact_key,
    find_key,
    is_list,
    is_map,
    new_map,
    partial,
)
from kube_cel.equality import NUMBERS, compare, equals
from kube_cel.errors import (
    BuildError,
    ConversionError,
    DeferredError,
    EvaluationError,
    EvaluationStopped,
    MissingData,
    UnknownValue,
)
from kube_cel.json_conversion import to_json
from kube_cel.scalars import (
    NONE,
    OMIT,
    RUNTIME,
    Condition,
    Duration,
    Opaque,
    OptionalValue,
    Timestamp,
    TypeValue,
    UInt,
)
from kube_cel.type_names import conversion_failed, kind_of, no_such_key, no_such_overload

__all__ = [
    "ABSENT",
    "LISTS",
    "MAPS",
    "MAX_PARTS",
    "MAX_SIZE",
    "NONE",
    "NUMBERS",
    "OMIT",
    "RUNTIME",
    "BuildError",
    "Condition",
    "ConversionError",
    "DeferredError",
    "Duration",
    "EvaluationError",
    "EvaluationStopped",
    "ListView",
    "MapView",
    "MissingData",
    "MixedMap",
    "ObjectView",
    "Opaque",
    "OptionalValue",
    "PartialMap",
    "Timestamp",
    "TypeValue",
    "UInt",
    "UnknownValue",
    "check_size",
    "compare",
    "conversion_failed",
    "equals",
    "exact_key",
    "find_key",
    "is_list",
    "is_map",
    "kind_of",
    "new_map",
    "no_such_key",
    "no_such_overload",
    "partial",
    "to_json",
]
