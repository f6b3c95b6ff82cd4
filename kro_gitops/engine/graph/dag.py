"""
Who must exist before whom.

Names in, names out: this file knows nothing of nodes, CEL or Kubernetes. Order follows kro:
of the names that wait for nothing, the one listed first goes first, because people read
the result next to their definition, top to bottom.
"""

from collections.abc import Collection, Mapping
from heapq import heapify, heappop, heappush

Needs = Mapping[str, Collection[str]]


def find_cycle(needs: Needs) -> tuple[str, ...]:
    """Return a closed path `a, b, a` if names need each other in a ring, else nothing."""
    done: set[str] = set()
    for start in needs:
        if start in done:
            continue
        # Depth first with an explicit stack: definitions may be long chains.
        trail = {start: list(needs[start])}  # from the start to here, with what is left to visit
        while trail:
            here, pending = next(reversed(trail.items()))
            if not pending:
                del trail[here]
                done.add(here)
                continue
            name = pending.pop(0)
            if name in trail:
                path = list(trail)
                return (*path[path.index(name) :], name)
            if name not in done and name in needs:
                trail[name] = list(needs[name])
    return ()


def order(needs: Needs) -> tuple[str, ...]:
    """Sort names so that each comes after all it needs. The graph must have no cycle."""
    position = {name: i for i, name in enumerate(needs)}
    waiting = {name: len(set(found)) for name, found in needs.items()}
    dependents = _dependents(needs)
    ready = [(position[name], name) for name, count in waiting.items() if count == 0]
    heapify(ready)
    found: list[str] = []
    while ready:
        _, name = heappop(ready)
        found.append(name)
        for dependent in dependents[name]:
            waiting[dependent] -= 1
            if waiting[dependent] == 0:
                heappush(ready, (position[dependent], dependent))
    return tuple(found)


def waves(needs: Needs) -> dict[str, int]:
    """
    Number names for apply (ascending) and delete (descending), from 1.

    Nodes without dependents have the highest number, those that they need the next lower one.
    """
    dependents = _dependents(needs)
    depth: dict[str, int] = {}
    for name in reversed(order(needs)):
        depth[name] = max((depth[d] + 1 for d in dependents[name]), default=0)
    layers = max(depth.values(), default=-1) + 1
    return {name: layers - depth[name] for name in needs}


def _dependents(needs: Needs) -> dict[str, list[str]]:
    """Return for each node the nodes that depend on it, each of them once."""
    found: dict[str, list[str]] = {name: [] for name in needs}
    for name, needed in needs.items():
        for other in dict.fromkeys(needed):
            found[other].append(name)
    return found
