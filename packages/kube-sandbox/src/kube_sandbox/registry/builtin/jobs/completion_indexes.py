"""
Completion indexes as the status of a Job writes them: `1,3-5,7`.

Follows kubernetes 1.35 pkg/apis/batch/validation/validation.go validateIndexesFormat,
parseIndexInterval, validateFailedIndexesNotOverlapCompleted.
"""

import re
from collections.abc import Iterator

_NUMBER = re.compile("[+-]?[0-9]+", re.ASCII)


class WrongIndexesError(ValueError):
    """A text is no such list; the message is the API server's."""


def count_indexes(text: str, completions: int) -> int:
    """Return how many indexes a list has."""
    total, last = 0, -1
    is_first = True
    for part in text.split(",") if text else ():
        first, final = _interval(part, completions)
        if not is_first and last >= first:
            raise WrongIndexesError(f"non-increasing order, previous: {last}, current: {first}")
        is_first, last = False, final
        total += final - first + 1
    return total


def overlap(text: str, other: str, completions: int) -> int | None:
    """Return an index that is in both lists, or `None`; what cannot be read is passed over."""
    found = (
        max(one[0], two[0])
        for one in _readable(text, completions)
        for two in _readable(other, completions)
        if one[0] <= two[1] and two[0] <= one[1]
    )
    return next(found, None)


def _readable(text: str, completions: int) -> Iterator[tuple[int, int]]:
    """Yield the intervals that can be read; the controller ignores the others."""
    for part in text.split(",") if text else ():
        try:
            yield _interval(part, completions)
        except WrongIndexesError:
            continue


def _interval(text: str, completions: int) -> tuple[int, int]:
    parts = text.split("-")
    if len(parts) > 2:
        raise WrongIndexesError(
            f'the fragment "{text}" violates the requirement that an index interval can have '
            "at most two parts separated by '-'"
        )
    numbers: list[int] = []
    for each in parts:
        if not _NUMBER.fullmatch(each):
            raise WrongIndexesError(f'cannot convert string to integer for index: "{each}"')
        if int(each) >= completions:
            raise WrongIndexesError(f'too large index: "{each}"')
        numbers.append(int(each))
    if len(numbers) == 2 and numbers[0] >= numbers[1]:
        raise WrongIndexesError(
            f"non-increasing order, previous: {numbers[0]}, current: {numbers[1]}"
        )
    return numbers[0], numbers[-1]
