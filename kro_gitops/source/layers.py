"""
What can be done at once, what must wait, and what waits for itself.

Names in, names out. Unlike the order of a graph's nodes (`engine.graph.dag`), which knows that it
has no rings, this one is asked about the words of many authors: it orders what can be ordered, and
names rings beside it.
"""

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from kro_gitops.engine.graph.dag import find_cycle

T = TypeVar("T", bound=Hashable)

_NAMED_CYCLES = 10  # more at once help nobody


@dataclass(frozen=True, slots=True)
class Layers(Generic[T]):
    """
    Names in layers: each needs only names of earlier layers.

    Names in rings, and all that need them, are in none. A ring is a closed path, `a, b, a`; a name
    is in one of them at most, and there may be more rings than are shown.
    """

    layers: tuple[tuple[T, ...], ...] = ()
    cycles: tuple[tuple[T, ...], ...] = ()


def layers(needs: Mapping[T, Collection[T]]) -> Layers[T]:
    """Peel off what needs nothing, as long as there is any; the input's order is kept."""
    followers = dependents(needs)
    waiting = {each: len(set(needed)) for each, needed in needs.items()}
    position = {each: number for number, each in enumerate(needs)}
    found: list[tuple[T, ...]] = []
    layer = [each for each, count in waiting.items() if count == 0]
    while layer:
        found.append(tuple(layer))
        free: list[T] = []
        for done in layer:
            del waiting[done]
            for follower in followers[done]:
                waiting[follower] -= 1
                if waiting[follower] == 0:
                    free.append(follower)
        layer = sorted(free, key=position.__getitem__)
    return Layers(tuple(found), _cycles({each: needs[each] for each in waiting}))


def dependents(needs: Mapping[T, Collection[T]]) -> dict[T, list[T]]:
    """Turn needs round: who needs each name."""
    found: dict[T, list[T]] = {each: [] for each in needs}
    for each, needed in needs.items():
        for other in set(needed):
            found[other].append(each)
    return found


def _cycles(needs: Mapping[T, Collection[T]]) -> tuple[tuple[T, ...], ...]:
    names = list(needs)
    numbers = {each: number for number, each in enumerate(names)}
    left = {
        str(numbers[each]): [str(n) for n in sorted(numbers[o] for o in needed if o in numbers)]
        for each, needed in needs.items()
    }
    found: list[tuple[T, ...]] = []
    while len(found) < _NAMED_CYCLES and (cycle := find_cycle(left)):
        found.append(tuple(names[int(number)] for number in cycle))
        for number in cycle[:-1]:
            del left[number]
    return tuple(found)
