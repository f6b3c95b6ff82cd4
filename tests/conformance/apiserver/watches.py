"""
What watches of a sequence's kinds told, compared: all events since it began, in their order.

Watches are asked for after the sequence, from the version before it, and end soon: a server then
tells everything that happened in between.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor

from tests.conformance.apiserver.likeness import Difference, differences
from tests.conformance.apiserver.playing import Finding, Play
from tests.conformance.apiserver.sides import Reply, Side
from tests.conformance.apiserver.steps import Memory, Step
from tests.conformance.apiserver.subjects import Subject

_SECONDS = "1"  # that a watch lasts
_METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def watch_all(
    sides: Sequence[Side], plays: Sequence[tuple[Play, Sequence[Subject]]], executor: Executor
) -> None:
    """Watch what every sequence did, on both sides, and note what differs."""
    asked = [
        (play, step, [executor.submit(_watched, side, step, play, at) for at, side in _at(sides)])
        for play, subjects in plays
        if play.is_whole and not play.findings
        for step in _steps(subjects)
    ]
    for play, step, answers in asked:
        real, ours = (answer.result() for answer in answers)
        _compare(play, step, real, ours)


def _at(sides: Sequence[Side]) -> Iterator[tuple[int, Side]]:
    return enumerate(sides)


def _steps(subjects: Sequence[Subject]) -> Iterator[Step]:
    for number, subject in enumerate(subjects):
        forms = (_METADATA, _TABLE, "application/json")
        query = (("watch", "true"), ("timeoutSeconds", _SECONDS), ("resourceVersion", "$began"))
        if subject.namespaced:
            yield Step("GET", subject.path, query)
            selected = (*query, ("labelSelector", "tier=web"))
            yield Step("GET", subject.path, selected, headers=(("Accept", forms[number % 3]),))
        else:
            selected = (*query, ("labelSelector", "sequence={ns}"))
            yield Step("GET", subject.path, selected)


def _watched(side: Side, step: Step, play: Play, at: int) -> Reply:
    own = side.fresh()
    path = Memory(play.namespace).path(step).replace("%24began", play.began[at])
    try:
        return own.send("GET", path, None, dict(step.headers))
    finally:
        own.close()


def _compare(play: Play, step: Step, real: Reply, ours: Reply) -> None:
    shown = [
        name.comparable(_listed(each)) for name, each in zip(play.names, (real, ours), strict=True)
    ]
    play.watched += len(shown[0]["body"])
    found: list[Difference] = list(differences(shown[0], shown[1]))
    if found:
        codes = (real.code, ours.code)
        play.findings.append(Finding(play.played, step, codes, tuple(found)))


def _listed(reply: Reply) -> Reply:
    """Return the events of a watch as a list, also if there is one only, or none."""
    body = reply.body
    events = body if isinstance(body, list) else [body] if body else []
    return Reply(reply.code, reply.content_type, events, reply.warnings)
