"""
Play a sequence to both servers, and find where they differ.

A sequence has a namespace of its own. It ends at the first step that differs where something was
carried out, since all that follows would differ too; a refusal that is worded differently leaves
both servers as they were.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.conformance.apiserver.known import Knowledge
from tests.conformance.apiserver.likeness import Difference, Naming, differences, without_order
from tests.conformance.apiserver.sides import Reply, Side
from tests.conformance.apiserver.steps import Memory, Step

_BUSY = 429
_PATIENCE = 25


@dataclass(frozen=True, slots=True)
class Finding:
    """A step to which the servers gave different answers."""

    position: int
    step: Step
    codes: tuple[int, int]
    found: tuple[Difference, ...]

    def __str__(self) -> str:
        told = "\n      ".join(map(str, self.found))
        return f"step {self.position}: {self.step}\n      codes {self.codes}\n      {told}"


@dataclass(slots=True)
class Play:
    """What came of one sequence."""

    namespace: str
    began: tuple[str, str] = ("", "")  # the version of each side before it
    played: int = 0
    watched: int = 0  # events that were compared
    is_whole: bool = True  # whether it was played to its end
    findings: list[Finding] = field(default_factory=list)
    names: tuple[Naming, Naming] = field(default_factory=lambda: (Naming(), Naming()))


class Player:
    """Plays sequences to two servers."""

    def __init__(self, real: Side, ours: Side, known: Knowledge) -> None:
        self._sides = (real, ours)
        self._known = known

    def play(self, namespace: str, steps: Sequence[Step]) -> Play:
        """Play a sequence in a namespace that is made for it."""
        play = Play(namespace)
        began = [self._open(side, namespace) for side in self._sides]
        play.began = (began[0], began[1])
        memories = (Memory(namespace), Memory(namespace))
        for position, step in enumerate(steps):
            replies = [
                _sent(side, step, memory)
                for side, memory in zip(self._sides, memories, strict=True)
            ]
            if step.pause:
                time.sleep(step.pause)
            play.played += 1
            found, ends = self._compare(play, steps[: position + 1], replies[0], replies[1])
            if found:
                codes = (replies[0].code, replies[1].code)
                play.findings.append(Finding(position, step, codes, tuple(found)))
                ends = ends or replies[0].is_done or replies[1].is_done
            if ends:
                play.is_whole = False
                break
        return play

    def _open(self, side: Side, namespace: str) -> str:
        body = b'{"metadata":{"name":"%s"}}' % namespace.encode()
        made = side.send("POST", "/api/v1/namespaces", body, {"Content-Type": "application/json"})
        assert made.is_done, made
        version: str = made.body["metadata"]["resourceVersion"]
        return version

    def _compare(
        self, play: Play, steps: Sequence[Step], real: Reply, ours: Reply
    ) -> tuple[list[Difference], bool]:
        """Return what differs for no known reason, and whether the sequence ends there."""
        shown = [name.comparable(each) for name, each in zip(play.names, (real, ours), strict=True)]
        found = list(differences(shown[0], shown[1]))
        if found and not list(differences(without_order(shown[0]), without_order(shown[1]))):
            found = [Difference("/order", "", "")]
        reasons = [(each, self._known.explain(steps, each, real.code)) for each in found]
        if any(known is not None and known.ends for _, known in reasons):
            return [], True
        return [each for each, known in reasons if known is None], False


def compare_order(play: Play) -> None:
    """Note if versions that were seen in a sequence follow each other in another order."""
    real, ours = (name.order() for name in play.names)
    if play.is_whole and not play.findings and real != ours:
        found = (Difference("/versions", real, ours),)
        play.findings.append(Finding(play.played, Step("", "order of versions"), (0, 0), found))


def _sent(side: Side, step: Step, memory: Memory) -> Reply:
    reply = side.send(step.method, memory.path(step), memory.body(step), dict(step.headers))
    for _ in range(_PATIENCE):
        if reply.code != _BUSY:
            break
        time.sleep(0.2)  # a kind that has just changed is not ready yet
        reply = side.send(step.method, memory.path(step), memory.body(step), dict(step.headers))
    memory.note(step, reply)
    return reply
