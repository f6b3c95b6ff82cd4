"""A sequence in which something differs → a short one in which it still does."""

from collections.abc import Callable, Sequence

from tests.conformance.apiserver.playing import Finding
from tests.conformance.apiserver.steps import Step

# Plays steps in a place of their own and returns what it found first, if anything.
Play = Callable[[Sequence[Step]], Finding | None]

_MOST = 30  # times that a sequence is played


def shrunk(steps: Sequence[Step], finding: Finding, play: Play) -> tuple[list[Step], Finding]:
    """Leave out steps for as long as the last one differs in the same place."""
    kept = list(steps[: finding.position + 1])
    size, played = max(len(kept) // 2, 1), 0
    while size and played < _MOST:
        position = 0
        while position < len(kept) - 1 and played < _MOST:
            shorter = kept[:position] + kept[min(position + size, len(kept) - 1) :]
            found = play(shorter)
            played += 1
            if found is not None and _is_same(found, finding):
                kept, finding = shorter, found
            else:
                position += size
        size //= 2
    return kept, finding


def _is_same(found: Finding, finding: Finding) -> bool:
    places = {each.place for each in finding.found}
    return found.step.path == finding.step.path and not places.isdisjoint(
        each.place for each in found.found
    )
