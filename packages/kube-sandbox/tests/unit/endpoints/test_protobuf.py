"""Bodies in protobuf say the same as in JSON: both are from a real API server."""

from base64 import b64decode
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sandbox_testing.api_recordings import recorded

from kube_sandbox.api_errors import StatusError
from kube_sandbox.endpoints.protobuf import decoded

BODIES = recorded("api_bodies")["bodies"]
RAW = [b64decode(each["protobuf"]) for each in BODIES]


def without_nulls(value: Any) -> Any:
    """Drop what is null: in JSON some say so of what they do not have."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("number", range(len(BODIES)), ids=lambda n: BODIES[n]["json"]["kind"])
def test_an_object_is_read_as_in_json(number: int) -> None:
    found = decoded(RAW[number])
    expected = without_nulls(BODIES[number]["json"])
    versions = (
        found["metadata"].pop("resourceVersion"),
        expected["metadata"].pop("resourceVersion"),
    )
    assert all(versions)
    assert found == expected


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    names = b"".join(
        bytes([tag, len(text)]) + text.encode() for tag, text in ((0x0A, api_version), (0x12, kind))
    )
    parts = ((0x0A, names), (0x12, raw))
    return b"k8s\x00" + b"".join(bytes([tag, len(part)]) + part for tag, part in parts)


def test_options_have_a_kind_in_every_group() -> None:
    policy = b"\x22\x0aForeground"
    expected = {"apiVersion": "apps/v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground"}
    assert decoded(envelope("apps/v1", "DeleteOptions", policy)) == expected


def test_zero_is_kept_where_it_differs_from_nothing() -> None:
    # spec { replicas: 0, paused: false }
    found = decoded(envelope("apps/v1", "Deployment", b"\x12\x04\x08\x00\x38\x00"))
    assert found["spec"] == {"replicas": 0}


def test_negative_numbers_are_read() -> None:
    found = decoded(envelope("apps/v1", "Deployment", b"\x12\x0b\x08" + b"\xff" * 9 + b"\x01"))
    assert found["spec"] == {"replicas": -1}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"k8s\x00\xff",
        envelope("apps/v1", "Nothing", b""),
        envelope("nope/v1", "Deployment", b""),
        envelope("apps/v1", "Deployment", b"\x0a\x05ab"),
        envelope("apps/v1", "Deployment", b"\x0a\x02\x0a\xff"),
        envelope("apps/v1", "Deployment", b"\x08\x01"),
    ],
)
def test_what_is_malformed_is_refused(body: bytes) -> None:
    with pytest.raises(StatusError) as refused:
        decoded(body)
    assert refused.value.code == 400


@given(st.sampled_from(RAW), st.integers(0, 2000), st.binary(max_size=3))
def test_spoilt_bodies_are_read_or_refused(body: bytes, place: int, junk: bytes) -> None:
    place %= len(body)
    spoilt = body[:place] + junk + body[place + len(junk) :]
    with suppress(StatusError):
        decoded(spoilt)
