"""
How long a single value may become, whoever builds it.

An expression of a few characters can ask for more memory than there is. Functions that make
something longer than what they were given work out its length and ask here first; so do those
that take long for what they are given. How much an evaluation may do altogether is `budget`'s
business, but it cannot look into a call: none may take more than about half a second.
"""

from kube_cel.errors import EvaluationStopped

MAX_SIZE = 4 * 1024 * 1024
"""Characters of a text, bytes, elements of a list or entries of a map."""

MAX_PARTS = 200_000
"""Parts that are read, written or found one by one: values in a text, matches of a pattern."""


def check_size(count: int, limit: int = MAX_SIZE) -> None:
    """Refuse to build a value of `count` characters or elements if that is too many."""
    if count > limit:
        raise EvaluationStopped(f"a value of {count} characters or elements, {limit} are allowed")
