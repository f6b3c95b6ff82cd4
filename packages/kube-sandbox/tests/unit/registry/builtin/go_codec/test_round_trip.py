"""What Go makes of a body; each expectation was seen on a real API server."""

import json
from typing import Any

import pytest

from kube_objects.builtins.catalog import catalog
from kube_objects.refs import Kind
from kube_sandbox.api_errors import StatusError
from kube_sandbox.registry.builtin.go_codec.round_trip import (
    GoRoundTrip,
    round_trip_of,
    strict_refusal,
)
from kube_sandbox.registry.builtin.go_codec.strict_decoding import duplicate_fields, has_duplicates


def form(api_version: str, kind: str) -> GoRoundTrip:
    found = round_trip_of(Kind.of(api_version, kind))
    assert found is not None
    return found


DEPLOYMENT = form("apps/v1", "Deployment")


def refused(body: dict[str, Any], by: GoRoundTrip = DEPLOYMENT) -> str:
    with pytest.raises(StatusError) as caught:
        by.read(body)
    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")
    opening = f'{by.kind.kind} in version "v1" cannot be handled as a {by.kind.kind}: '
    assert caught.value.message.startswith(opening)
    return caught.value.message.removeprefix(opening)


def test_every_kind_of_the_catalogue_has_a_form() -> None:
    assert [kind for kind in catalog.kinds() if round_trip_of(kind) is None] == []


def test_structs_that_are_no_pointers_are_always_there() -> None:
    assert DEPLOYMENT.normal({"kind": "Deployment"}) == {
        "kind": "Deployment",
        "metadata": {},
        "spec": {
            "selector": None,
            "strategy": {},
            "template": {"metadata": {}, "spec": {"containers": None}},
        },
        "status": {},
    }


def test_a_zero_is_kept_behind_a_pointer_and_else_dropped() -> None:
    spec = DEPLOYMENT.normal({"spec": {"replicas": 0, "minReadySeconds": 0, "paused": False}})[
        "spec"
    ]
    assert spec["replicas"] == 0
    assert not spec.keys() & {"minReadySeconds", "paused"}


def test_nothing_is_as_good_as_absent() -> None:
    body: dict[str, Any] = {
        "metadata": {"labels": None, "creationTimestamp": None},
        "spec": {"replicas": None},
    }
    assert DEPLOYMENT.normal(body) == DEPLOYMENT.normal({})


def test_nothing_in_a_map_is_an_empty_value() -> None:
    found = form("v1", "ConfigMap").normal({"data": {"a": None}})
    assert found["data"] == {"a": ""}


def test_an_empty_list_that_must_be_there_comes_back_as_null() -> None:
    role = form("rbac.authorization.k8s.io/v1", "Role")
    assert role.normal({"rules": []})["rules"] is None


def test_what_nobody_knows_is_dropped_and_told() -> None:
    body = {"spec": {"foo": 1, "template": {"spec": {"containers": [{"bar": 2}]}}}, "Spec": {}}
    found, unknown = DEPLOYMENT.read(body)
    assert "foo" not in found["spec"]
    assert unknown == [
        'unknown field "spec.foo"',
        'unknown field "spec.template.spec.containers[0].bar"',
        'unknown field "Spec"',
    ]
    assert strict_refusal(unknown[:2]) == (
        'strict decoding error: unknown field "spec.foo", '
        'unknown field "spec.template.spec.containers[0].bar"'
    )


def test_the_body_is_left_as_it_is() -> None:
    body: dict[str, Any] = {
        "spec": {"foo": 1, "replicas": None, "template": {"spec": {"containers": [{}]}}}
    }
    before = json.dumps(body)
    DEPLOYMENT.read(body)
    assert json.dumps(body) == before


@pytest.mark.parametrize(
    ("body", "why"),
    [
        pytest.param(
            {"spec": {"replicas": "x"}},
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas "
            "of type int32",
            id="a text for a number",
        ),
        pytest.param(
            {"spec": {"replicas": 99999999999}},
            "json: cannot unmarshal number 99999999999 into Go struct field "
            "DeploymentSpec.spec.replicas of type int32",
            id="a number that is too large",
        ),
        pytest.param(
            {"spec": {"template": {"spec": {"volumes": [{"emptyDir": "x"}]}}}},
            "json: cannot unmarshal string into Go struct field "
            "Volume.spec.template.spec.volumes.VolumeSource.emptyDir of type "
            "v1.EmptyDirVolumeSource",
            id="in an embedded struct",
        ),
        pytest.param(
            {"metadata": {"labels": {"a": 1}}},
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels "
            "of type string",
            id="in a map",
        ),
        pytest.param(
            {"metadata": {"creationTimestamp": "abc"}},
            'parsing time "abc" as "2006-01-02T15:04:05Z07:00": cannot parse "abc" as "2006"',
            id="a time that is none",
        ),
        pytest.param(
            {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 1.5}}}},
            "json: cannot unmarshal number 1.5 into Go struct field "
            "RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32",
            id="neither a number nor a text",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_told_with_its_place(body: dict[str, Any], why: str) -> None:
    assert refused(body) == why


def test_a_value_that_reads_itself_is_told_before_others() -> None:
    limits = {"cpu": "zz"}
    container = {"name": 5, "resources": {"limits": limits}}
    body = {"spec": {"replicas": "x", "template": {"spec": {"containers": [container]}}}}
    assert refused(body) == (
        "quantities must match the regular expression "
        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )


def test_times_come_back_in_utc_and_whole_seconds() -> None:
    meta = {"creationTimestamp": "2020-01-01T01:00:00.5+01:00"}
    found = DEPLOYMENT.normal({"metadata": meta})
    assert found["metadata"]["creationTimestamp"] == "2020-01-01T00:00:00Z"


def test_a_lease_keeps_microseconds() -> None:
    lease = form("coordination.k8s.io/v1", "Lease")
    found = lease.normal({"spec": {"renewTime": "2020-01-01T00:00:00.000000+02:00"}})
    assert found["spec"]["renewTime"] == "2019-12-31T22:00:00.000000Z"
    assert refused({"spec": {"renewTime": "2020-01-01T00:00:00Z"}}, lease) == (
        'parsing time "2020-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": '
        'cannot parse "Z" as ".000000"'
    )


def test_bytes_are_read_and_written_anew() -> None:
    secret = form("v1", "Secret")
    body = {"data": {"a": "aG\nk=", "b": "aGl=", "c": None, "d": [1, 2]}}
    found = secret.normal(body)["data"]
    assert found == {"a": "aGk=", "b": "aGk=", "c": "", "d": "AQI="}
    assert refused({"data": {"a": "a*"}}, secret) == "illegal base64 data at input byte 1"


def test_a_field_that_stands_twice_is_seen_in_the_text() -> None:
    raw = b'{"spec":{"replicas":1,"foo":1,"replicas":2},"metadata":{"labels":{"a":"1","a":"2"}}}'
    assert has_duplicates(raw)
    assert DEPLOYMENT.strict_errors(raw) == [
        'unknown field "spec.foo"',
        'duplicate field "spec.replicas"',
        'duplicate field "metadata.labels.a"',
    ]
    assert duplicate_fields(raw) == ["spec.replicas", "metadata.labels.a"]
    assert not has_duplicates(b'{"a":{"b":1},"b":[{"b":1}]}')
