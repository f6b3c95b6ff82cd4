"""
Whose fault it is, and what follows.

The branch decides what a controller does next, the leaf names the subject:

    KroGitopsError           = kube_objects.errors.CodedError
    ├── UserError            = kube_objects.errors.InvalidError: the author must change it
    │   ├── SchemaError          a schema or SimpleSchema text         (kube_objects.errors)
    │   ├── RefusedError         no rule allows it                     (kube_objects.errors)
    │   ├── ExpressionError      a CEL expression                      (kube_cel.errors)
    │   └── DefinitionError      a ResourceGraphDefinition; carries every problem found
    ├── NotYet               nothing is wrong, wait
    │   ├── DataPending          an expression reads what does not exist yet
    │   └── NotServed            a kind the API server does not know (yet)
    └── Unavailable          the world failed, try again
        └── ClusterUnavailable   no answer from the API server, or "try again later"

The two roots are those of `kube_objects`, so that errors raised by the packages are handled like
our own without a translation at every call.
"""

from collections.abc import Iterable

from kube_objects.errors import CodedError, InvalidError
from kube_objects.problems import Problem

KroGitopsError = CodedError
UserError = InvalidError


class DefinitionError(UserError):
    """A ResourceGraphDefinition that cannot be compiled, with every problem found."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        first = self.problems[0]
        super().__init__(first.code, first.message, hint=first.hint)


class NotYet(KroGitopsError):  # noqa: N818 - a state to wait in, not an error
    """Nothing is wrong; wait."""


class DataPending(NotYet):
    """An expression reads what does not exist yet."""


class NotServed(NotYet):
    """A kind that the API server does not know, or not yet."""


class Unavailable(KroGitopsError):  # noqa: N818 - a state of the environment, not an error of the user
    """The world failed; try again."""


class ClusterUnavailable(Unavailable):
    """The API server gave no answer, or asked to come back later."""


class ConnectionLost(ClusterUnavailable):
    """The connection ended before the first byte of an answer; the request may have arrived."""
