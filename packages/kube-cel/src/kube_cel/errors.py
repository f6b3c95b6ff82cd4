"""
How an evaluation can fail.

Libraries and the program raise these; nothing here knows expressions or data. Messages are
cel-go's own words, without prefixes: who reports them adds `eval "…": `. Which failures
mean «wait» is told by the class, never by searching a message.
"""

from collections.abc import Iterable

from kube_objects.errors import InvalidError


class ExpressionError(InvalidError):
    """A CEL expression that does not parse, check, build or evaluate."""


class EvaluationError(ExpressionError):
    """An expression that cannot be evaluated with the data it was given."""

    CODE = "evaluation-failed"
    pending = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(self.CODE, message, hint=hint)


class MissingData(EvaluationError):  # noqa: N818 - a state to wait in
    """
    An expression reads a key, an index or a variable that is not there (yet).

    kro waits for such data instead of giving up: what the cluster fills in may come later.
    """

    CODE = "data-missing"
    pending = True


class MissingVariable(MissingData):
    """An expression reads a variable that has no value (yet); `name` says which."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no such attribute(s): {name}")


class UnknownValue(EvaluationError):  # noqa: N818 - nobody erred
    """
    An expression needs what only a cluster can tell.

    `paths` names it: `("deployment.status",)`. Raised offline only, where data is partial.
    """

    CODE = "value-unknown"

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = tuple(dict.fromkeys(paths))
        super().__init__(f"known only in the cluster: {', '.join(self.paths)}")


class EvaluationStopped(EvaluationError):  # noqa: N818 - beside UnknownValue
    """
    An evaluation that would take or make too much.

    No operator absorbs it: an expression that is stopped stays stopped.
    """

    CODE = "evaluation-stopped"

    def __init__(self, reason: str) -> None:
        super().__init__(f"evaluation stopped: {reason}")


class ConversionError(ExpressionError):
    """A value that cannot be written into an object, such as bytes or a quantity."""

    CODE = "result-unusable"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(self.CODE, message, hint=hint)


class BuildError(ExpressionError):
    """An expression that parses and checks, but can never run: a constant bad pattern."""

    CODE = "expression-build"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(self.CODE, message, hint=hint)


def merge_errors(first: EvaluationError | None, second: EvaluationError) -> EvaluationError:
    """
    Choose what to report when both operands of a logical operator failed.

    Unknowns win over errors and add up; among errors the first is kept. What ends the whole
    evaluation is raised again at once.
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
