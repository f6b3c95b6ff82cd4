"""
Errors that wait until somebody reads the value.

An element that contradicts its schema, or the value of a `cel.bind` that fails, does no harm as
long as nobody looks at it. `DeferredError` stands in its place, in a slot, a list or a map, and
whoever reads it raises the error. It never is the result of a step.
"""

from collections.abc import Callable
from typing import Any, NoReturn

from kube_cel.errors import EvaluationError, EvaluationStopped


class DeferredError:
    """Stands for a value; `error` says why it cannot be read."""

    __slots__ = ("error",)
    KIND = "error"

    def __init__(self, error: EvaluationError) -> None:
        error.__traceback__ = None  # it would keep its frames alive
        self.error = error

    def refuse(self) -> NoReturn:
        """Raise the error; it may be raised many times and must not grow by that."""
        raise self.error.with_traceback(None)


def raise_if_deferred(value: Any) -> Any:
    """Return a value that was kept somewhere, or raise its error."""
    if type(value) is DeferredError:
        value.refuse()
    return value


def defer_error(step: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; return its error, made a value, instead of raising it."""
    try:
        return step(*arguments)
    except EvaluationStopped:
        raise
    except EvaluationError as error:
        return DeferredError(error)
