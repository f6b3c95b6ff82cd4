"""Hundreds of pods that a real API server judged by all standards, judged by ours."""

import lzma
from pathlib import Path
from typing import Any

import orjson
import pytest

from kube_sandbox.admission.plugins.pod_security.standards import LEVELS, Standard, violations

# Written by tools/recording/pod_security.py. What is told is left out where it is the same as at
# the version before.
RECORDED = Path(__file__).parent / "data" / "pod_security.json.xz"
# Those at which a check comes or changes, those before, and some to come.
MINORS = (0, 7, 8, 18, 19, *range(21, 37), 99, None)
CASES = orjson.loads(lzma.decompress(RECORDED.read_bytes()))


def told(standard: Standard, pod: Any) -> str:
    return ", ".join(map(str, violations(standard, pod["metadata"], pod["spec"])))


def version(minor: int | None) -> str:
    return "latest" if minor is None else f"v1.{minor}"


@pytest.mark.parametrize("level", LEVELS[1:])
def test_what_is_told_of_a_pod_is_what_a_real_server_tells(level: str) -> None:
    for case in CASES:
        expected = None
        for minor in MINORS:
            expected = case["told"][level].get(version(minor), expected)
            assert told(Standard(level, minor), case["pod"]) == expected, (minor, case["pod"])


def test_everything_is_allowed_to_the_privileged() -> None:
    assert not any(told(Standard("privileged", minor), CASES[1]["pod"]) for minor in MINORS)


def test_most_of_what_can_be_told_is_in_the_recording() -> None:
    texts = {text for case in CASES for level in case["told"].values() for text in level.values()}
    assert len(CASES) > 300
    assert len(texts) > 400
