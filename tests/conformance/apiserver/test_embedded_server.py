"""
The embedded API server answers as a real one does.

Sequences of requests are made from seeds and played to both servers; every answer must be the same
but for what each server chooses itself, and so must be what watches tell afterwards. Where they
differ for a known reason, known.toml has it. `test-full` plays ten times as much with other seeds,
and then everything in that table must still be true.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from tests.conformance.apiserver.generation import DefinitionGenerator, Generator
from tests.conformance.apiserver.known import TABLE, Knowledge, read_known
from tests.conformance.apiserver.playing import Finding, Play, Player, compare_order
from tests.conformance.apiserver.shrinking import shrunk
from tests.conformance.apiserver.sides import Side
from tests.conformance.apiserver.steps import Step
from tests.conformance.apiserver.watches import watch_all
from tests.conformance.apiserver.witnesses import WITNESSES

SUBJECT = "tally: embedded API server"
IS_FULL = os.environ.get("KRO_GITOPS_TESTS") == "full"
FACTOR = 10 if IS_FULL else 1
SEQUENCES, LENGTH = 40 * FACTOR, 40
DEFINITIONS, DEFINITION_LENGTH = 4 * FACTOR, 25
BATCH = 25  # sequences that are watched at once: a real API server forgets what was long ago
SHOWN = 20

Record = Callable[[str, object], None]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("name", WITNESSES)
def test_a_known_difference_is_one_still(sides: tuple[Side, Side], name: str) -> None:
    known = read_known()
    play = Player(*sides, known).play(f"witness-{name}", WITNESSES[name])
    assert not play.findings, "\n".join(map(str, play.findings))
    assert known.met[name], f"{TABLE.name}: '{name}' is no difference any more"


@pytest.mark.timeout(3600 if IS_FULL else 600)
def test_answers_and_events_are_those_of_a_real_server(
    sides: tuple[Side, Side], record_property: Record
) -> None:
    known = read_known()
    seeds = range(SEQUENCES) if not IS_FULL else range(100_000, 100_000 + SEQUENCES)
    plays = _played(sides, known, [Generator(seed) for seed in seeds], LENGTH)
    plays += _played(
        sides, known, [DefinitionGenerator(seed) for seed in seeds[:DEFINITIONS]], DEFINITION_LENGTH
    )
    record_property(SUBJECT, ["requests compared", sum(play.played for _, _, play in plays)])
    record_property(SUBJECT, ["events compared", sum(play.watched for _, _, play in plays)])
    found = [(steps, play) for _, steps, play in plays if play.findings]
    assert not found, _report(sides, known, found)
    if IS_FULL:
        met = {*known.met, *WITNESSES}
        unmet = [each.name for each in known.all if each.name not in met and not each.chance]
        assert not unmet, f"{TABLE.name} has differences that are none any more: {unmet}"


def _played(
    sides: tuple[Side, Side], known: Knowledge, generators: Sequence[Generator], length: int
) -> list[tuple[Generator, list[Step], Play]]:
    player, numbers = Player(*sides, known), count()
    plays = []
    with ThreadPoolExecutor(max_workers=32) as executor:
        for start in range(0, len(generators), BATCH):
            batch = []
            for generator in generators[start : start + BATCH]:
                steps = generator.steps(length)
                name = f"{type(generator).__name__.lower()}-{next(numbers)}"
                batch.append((generator, steps, player.play(name, steps)))
            watch_all(sides, [(play, each.kinds) for each, _, play in batch], executor)
            for _, _, play in batch:
                compare_order(play)
            plays += batch
    return plays


def _report(
    sides: tuple[Side, Side], known: Knowledge, found: Sequence[tuple[list[Step], Play]]
) -> str:
    """Show some of the differences, each with the fewest steps that lead to it."""
    player, numbers = Player(*sides, known), count()

    def again(steps: Sequence[Step]) -> Finding | None:
        play = player.play(f"again-{next(numbers)}", steps)
        return play.findings[0] if play.findings else None

    told = [f"{len(found)} sequences differ"]
    for steps, play in found[:SHOWN]:
        first = play.findings[0]
        if first.position < len(steps):
            kept, first = shrunk(steps, first, again)
            told.append("\n    after ".join(["", *map(str, kept[:-1])]))
        told.append(str(first))
    return "\n".join(told)
