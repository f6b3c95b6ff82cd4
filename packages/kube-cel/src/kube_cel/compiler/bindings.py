"""
Names for values: `cel.bind`, `optMap`, `optFlatMap`.
"""

from typing import Any

from kube_cel.budget import Frame
from kube_cel.compiler.access import is_optional, unbox
from kube_cel.compiler.field_paths import find_path, raw_step
from kube_cel.compiler.scope import Builder, Step
from kube_cel.containers import ABSENT
from kube_cel.deferred_errors import DeferredError
from kube_cel.errors import EvaluationError, EvaluationStopped
from kube_cel.syntax_tree import Macro


def build_bind(builder: Builder, node: Macro) -> Step:
    """
    Compile `cel.bind(name, value, body)`; data with a schema is bound as it is.

    A value that fails is an error only where the body reads it.
    """
    walk = find_path(node.operand, builder.scope)
    if walk is not None and walk.schema is not None:
        value = raw_step(walk)
        place = builder.scope.reserve(node.variables[0], walk.schema)
    else:
        value = builder.build(node.operand)
        place = builder.scope.reserve(node.variables[0])
    with builder.scope.binding(place):
        body = builder.build(node.bodies[0])
    slot = place.slot

    def bind(frame: Frame) -> Any:
        try:
            frame[slot] = value(frame)
        except EvaluationStopped:
            raise
        except EvaluationError as error:
            frame[slot] = DeferredError(error)
        return body(frame)

    return bind


def build_optional_map(builder: Builder, node: Macro) -> Step:
    """Compile `optional.optMap(name, body)` to a step that returns the value or `ABSENT`."""
    if is_optional(node.operand):
        optional = builder.build_optional(node.operand)
    else:
        optional = unbox(builder.build(node.operand), "hasValue")
    place = builder.scope.reserve(node.variables[0])
    with builder.scope.binding(place):
        is_flat = node.name == "optFlatMap"
        body = (builder.build_optional if is_flat else builder.build)(node.bodies[0])
    slot = place.slot

    def bind(frame: Frame) -> Any:
        frame[slot] = value = optional(frame)
        return value if value is ABSENT else body(frame)

    return bind
