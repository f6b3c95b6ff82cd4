"""
How an expression can fail.

The library functions and the program raise these; nothing here knows expressions or data. Messages
are cel-go's, without prefixes: the caller that reports them adds `eval "…": `. Whether waiting for
more data may help is decided by the class (`pending`), never by searching a message.

An error can also be deferred. An element that contradicts its schema, or the value of a `cel.bind`
that fails, does no harm as long as nothing reads it. A `DeferredError` takes its place in a slot, a
list or a map, and reading it raises the error. It is never the result of a step.
"""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NoReturn

from kube_objects.errors import InvalidError


class ExpressionError(InvalidError):
    """A CEL expression that does not parse, check, build or evaluate."""


class _CodedError(ExpressionError):
    """An error whose code is that of its class."""

    CODE: ClassVar[str]

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(self.CODE, message, hint=hint)


class EvaluationError(_CodedError):
    """An expression that cannot be evaluated with the data it was given."""

    CODE = "evaluation-failed"
    pending = False


class MissingData(EvaluationError):  # noqa: N818 - a state to wait in
    """
    An expression reads a key, an index or a variable that does not exist (yet).

    A caller may wait for it instead of giving up: controllers fill in a status later.
    """

    CODE = "data-missing"
    pending = True


class MissingVariable(MissingData):
    """An expression reads the variable `name`, which has no value (yet)."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no such attribute(s): {name}")


class UnknownValue(EvaluationError):  # noqa: N818 - not an error of the author
    """
    An expression reads data that is known only in a cluster.

    `paths` lists it: `("deployment.status",)`. Raised only for partial data (`partial`).
    """

    CODE = "value-unknown"

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = tuple(dict.fromkeys(paths))
        super().__init__(f"known only in the cluster: {', '.join(self.paths)}")


class EvaluationStopped(EvaluationError):  # noqa: N818 - beside UnknownValue
    """
    An evaluation exceeded its budget of time, memory or nesting.

    No operator absorbs this error, unlike other evaluation errors in `&&` and `||`.
    """

    CODE = "evaluation-stopped"

    def __init__(self, reason: str) -> None:
        super().__init__(f"evaluation stopped: {reason}")


class ConversionError(_CodedError):
    """A value that cannot be written into an object, such as bytes or a quantity."""

    CODE = "result-unusable"


class BuildError(_CodedError):
    """An expression that has a type but can never run, as with an invalid constant pattern."""

    CODE = "expression-build"


def merge_errors(first: EvaluationError | None, second: EvaluationError) -> EvaluationError:
    """
    Return the error to report when several operands of a logical operator failed.

    Unknown values win over errors and add up their paths; among errors the first is kept. An
    `EvaluationStopped` is raised again at once.
    """
    if isinstance(second, EvaluationStopped):
        raise second
    second.__traceback__ = None  # it may be absorbed, and would keep its frames alive
    if first is None:
        return second
    if not isinstance(second, UnknownValue):
        return first
    if not isinstance(first, UnknownValue):
        return second
    return UnknownValue((*first.paths, *second.paths))


class DeferredError:
    """Takes the place of a value; `error` is raised when it is read."""

    __slots__ = ("error",)
    KIND = "error"

    def __init__(self, error: EvaluationError) -> None:
        error.__traceback__ = None  # it would keep its frames alive
        self.error = error

    def raise_error(self) -> NoReturn:
        """Raise the error, without the tracebacks of earlier times it was raised."""
        raise self.error.with_traceback(None)


def raise_if_deferred(value: Any) -> Any:
    """Return the value, or raise its error if it is deferred."""
    if type(value) is DeferredError:
        value.raise_error()
    return value


def defer_error(step: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; return an `EvaluationError` as a `DeferredError` instead of raising it."""
    try:
        return step(*arguments)
    except EvaluationStopped:
        raise
    except EvaluationError as error:
        return DeferredError(error)
