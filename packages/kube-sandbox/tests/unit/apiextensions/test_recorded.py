"""What a real API server answered to definitions and objects (`tools/recording/custom.py`)."""

import gzip
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest
from sandbox_testing.crd_recordings import (
    Answer,
    answer,
    create,
    define,
    serve,
    strategy_of,
    update,
)

# Stored objects that their schema no longer allows, compared as wholes by a rule: what a real
# server says of them depends on the order in which it happens to look at fields.
_UNDECIDED = {
    ("Random13", "stored-5"),
    ("Random25", "stored-10"),
    ("Random40", "stored-7"),
    ("Random40", "stored-9"),
    ("Random41", "stored-9"),
    ("Random56", "stored-7"),
}


@cache
def recorded() -> dict[str, Any]:
    packed = Path(__file__).with_name("recorded.json.gz").read_bytes()
    found: dict[str, Any] = orjson.loads(gzip.decompress(packed))
    return found


def kind_of(entry: dict[str, Any]) -> str:
    name: str = entry["crd"]["spec"]["names"]["kind"]
    return name


@pytest.mark.parametrize("number", range(209))
def test_a_definition_is_answered_as_by_a_real_server(number: int) -> None:
    entry = recorded()["definitions"][number]
    assert answer(lambda warnings: define(entry["crd"], warnings)) == entry["answer"]


@pytest.mark.parametrize("number", range(47))
def test_objects_are_answered_as_by_a_real_server(number: int) -> None:
    entry = recorded()["objects"][number]
    served = serve(entry["crd"])
    for attempt in entry["tries"]:
        if (kind_of(entry), attempt["object"]["metadata"]) in _undecided():
            continue
        given: dict[str, Any] = attempt["object"]
        assert _answered(served, attempt) == attempt["answer"], given


def _undecided() -> list[tuple[str, dict[str, str]]]:
    return [(kind, {"name": name}) for kind, name in _UNDECIDED]


def _answered(served: Any, attempt: dict[str, Any]) -> Answer:
    given = attempt["object"]
    if attempt["verb"] == "create":
        return answer(lambda warnings: create(served, given, warnings, attempt["query"]))
    return answer(lambda warnings: update(served, given, attempt["shown"], warnings), 200)


@pytest.mark.parametrize("number", range(47))
def test_what_is_stored_is_shown_by_todays_schema(number: int) -> None:
    entry = recorded()["objects"][number]
    strategy = strategy_of(serve(entry["crd"]))
    for attempt in entry["tries"]:
        if attempt["verb"] == "update":
            assert strategy.shown(deepcopy(attempt["stored"])) == attempt["shown"]


def test_the_recording_is_whole() -> None:
    assert len(recorded()["definitions"]) == 209
    assert len(recorded()["objects"]) == 47
