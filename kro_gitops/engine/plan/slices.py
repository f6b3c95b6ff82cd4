"""
Work that can be interrupted between two expressions.

A function that evaluates many expressions is a generator. It yields after an expression if the time
slice is over (`Bounds.is_slice_over`), and returns its result. The controller lets other work run
whenever such a generator yields; where there is no other work, `finish` runs it to its end.
"""

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")

Slices = Generator[None, None, T]


def finish(slices: Slices[T]) -> T:
    """Run without interruption; return the result."""
    while True:
        try:
            next(slices)
        except StopIteration as stop:
            result: T = stop.value
            return result
