"""What is told of values that a struct cannot be filled from; seen on a real API server."""

import pytest

from kube_objects.refs import Kind, KubeObject
from kube_sandbox.registry.builtin.go_codec.round_trip import round_trip_of

MISFITS: list[tuple[str, KubeObject, str]] = [
    ("v1 Event", {"count": "x"}, "unrecognized type: int32"),
    ("v1 ConfigMap", {"metadata": {"labels": {"x": 5}}}, "cannot convert int64 to string"),
    ("v1 ConfigMap", {"data": ["a"]}, "cannot restore map from slice"),
    ("v1 Service", {"spec": {"ports": {}}}, "cannot restore slice from map"),
    ("v1 Service", {"spec": 5}, "cannot restore struct from: int64"),
    (
        "v1 Secret",
        {"data": {"a": "nope!"}},
        "error decoding from json: illegal base64 data at input byte 4",
    ),
    (
        "coordination.k8s.io/v1 Lease",
        {"spec": {"renewTime": "2020-01-01T00:00:01.5Z"}},
        'parsing time "2020-01-01T00:00:01.5Z" as "2006-01-02T15:04:05.000000Z07:00": '
        'cannot parse ".5Z" as ".000000"',
    ),
    ("v1 ConfigMap", {"data": {"a": "1", "b": None}}, ""),
]


@pytest.mark.parametrize(("kind", "body", "told"), MISFITS)
def test_the_first_misfit_is_told(kind: str, body: KubeObject, told: str) -> None:
    form = round_trip_of(Kind.of(*kind.split()))
    assert form is not None
    assert form.conversion_error(body) == told
