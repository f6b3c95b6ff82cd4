"""Services among others: what a dry run cannot show; the rest is in the recorded cases."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kube_objects.refs import Kind
from kube_sandbox.api_errors import StatusError
from kube_sandbox.registry.builtin.go_codec.round_trip import round_trip_of
from kube_sandbox.registry.builtin.services.ip_allocation import ServiceAllocations
from kube_sandbox.registry.builtin.services.strategy import Services
from kube_sandbox.registry.strategy import RequestContext

NOW = RequestContext(datetime(2026, 1, 1, tzinfo=UTC))
Json = dict[str, Any]


class Cluster:
    """Services that know of each other."""

    def __init__(self) -> None:
        self.book = ServiceAllocations()
        self.services = Services(self.book)

    def read(self, name: str, spec: Json) -> Json:
        form = round_trip_of(Kind("", "v1", "Service"))
        assert form is not None
        body = {"metadata": {"name": name, "namespace": "default"}, "spec": spec}
        obj = form.normal(body)
        self.services.default(obj)
        return obj

    def create(self, name: str, **spec: Any) -> Json:
        obj = self.read(name, {"ports": [{"port": 80}], **spec})
        self.services.prepare_create(obj, NOW)
        assert self.services.validate_create(obj, NOW) == []
        self.book.put("default", name, obj)
        return obj

    def update(self, old: Json, **spec: Any) -> Json:
        obj = self.read(old["metadata"]["name"], {"ports": [{"port": 80}], **spec})
        self.services.prepare_update(obj, old, "", NOW)
        return obj


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_each_service_has_an_address_of_its_own(cluster: Cluster) -> None:
    addresses = [cluster.create(f"s{number}")["spec"]["clusterIP"] for number in range(50)]
    assert len(set(addresses)) == 50


def test_an_address_that_is_taken_is_refused(cluster: Cluster) -> None:
    cluster.create("first", clusterIP="10.0.0.9")
    with pytest.raises(StatusError) as caught:
        cluster.create("second", clusterIP="10.0.0.9")
    assert caught.value.code == 422
    assert caught.value.message == (
        'Service "second" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.9"]: '
        "failed to allocate IP 10.0.0.9: provided IP is already allocated"
    )


def test_a_node_port_that_is_taken_is_refused(cluster: Cluster) -> None:
    ports = [{"port": 80, "nodePort": 30099}]
    cluster.create("np", type="NodePort", ports=ports)
    with pytest.raises(StatusError) as caught:
        cluster.create("np2", type="NodePort", ports=ports)
    assert caught.value.message == (
        'Service "np2" is invalid: spec.ports[0].nodePort: Invalid value: 30099: '
        "provided port is already allocated"
    )


def test_a_node_port_outside_the_range_is_refused(cluster: Cluster) -> None:
    with pytest.raises(StatusError) as caught:
        cluster.create("a", type="NodePort", ports=[{"port": 80, "nodePort": 80}])
    assert caught.value.message == (
        'Service "a" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is not '
        "in the valid range. The range of valid ports is 30000-32767"
    )


def test_two_protocols_of_a_port_share_a_node_port(cluster: Cluster) -> None:
    ports = [{"port": 53, "name": "t"}, {"port": 53, "protocol": "UDP", "name": "u"}]
    found = cluster.create("dns", type="NodePort", ports=ports)["spec"]["ports"]
    assert found[0]["nodePort"] == found[1]["nodePort"]


def test_an_update_keeps_what_was_given(cluster: Cluster) -> None:
    old = cluster.create("web", type="LoadBalancer", externalTrafficPolicy="Local")
    new = cluster.update(old, type="LoadBalancer", externalTrafficPolicy="Local")
    for part in ("clusterIP", "clusterIPs", "ports", "healthCheckNodePort"):
        assert new["spec"][part] == old["spec"][part]


def test_what_went_with_the_type_is_given_up(cluster: Cluster) -> None:
    old = cluster.create("web", type="NodePort")
    spec = {**old["spec"], "type": "ExternalName", "externalName": "a.b"}
    new = cluster.update(old, **spec)
    assert new["spec"] == {
        "type": "ExternalName",
        "externalName": "a.b",
        "sessionAffinity": "None",
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
    }
