"""Discovery is byte for byte what a real API server tells."""

from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sandbox_testing.api_recordings import AnyStrategies, recorded, registry, served_of

from kube_sandbox.api_errors import StatusError
from kube_sandbox.discovery.resources import AGGREGATED, Discovery, version_priority
from kube_sandbox.registry.builtin_resources import served_builtins, server_version

RECORDED = recorded("api_documents")
ADDRESS = "127.0.0.1:6443"


@pytest.fixture(scope="module")
def discovery() -> Discovery:
    return Discovery(registry(), ADDRESS)


def in_order(text: str) -> bytes:
    """Sort resources: a real server tells those of several definitions as they come."""
    content = orjson.loads(text)
    if "resources" in content:
        content["resources"].sort(key=lambda each: each["name"].partition("/")[0])
    return orjson.dumps(content) + b"\n"


@pytest.mark.parametrize("path", RECORDED["documents"])
def test_a_document_is_the_real_one(discovery: Discovery, path: str) -> None:
    found = discovery.find(path)
    assert found is not None
    assert found.body == in_order(RECORDED["documents"][path])
    assert found.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("path", RECORDED["aggregated"])
def test_everything_in_one_document_is_the_real_one(discovery: Discovery, path: str) -> None:
    found = discovery.find(path, AGGREGATED)
    assert found is not None
    assert found.body.decode() == RECORDED["aggregated"][path]["text"]
    assert found.headers["ETag"] == RECORDED["aggregated"][path]["etag"]
    assert found.headers["Content-Type"] == AGGREGATED


def test_versions_of_the_core_group_say_where_the_server_is(discovery: Discovery) -> None:
    found = discovery.find("/api")
    assert found is not None
    clients = [{"clientCIDR": "0.0.0.0/0", "serverAddress": ADDRESS}]
    assert orjson.loads(found.body) == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": clients,
    }


def test_whoever_has_a_document_is_told_that_it_is_still_the_same(discovery: Discovery) -> None:
    etag = RECORDED["aggregated"]["/apis"]["etag"]
    found = discovery.find("/apis", AGGREGATED, etag)
    assert found is not None
    assert (found.code, found.body, found.headers["ETag"]) == (304, b"", etag)
    other = discovery.find("/apis", AGGREGATED, '"other"')
    assert other is not None
    assert other.code == 200


@pytest.mark.parametrize(
    ("accept", "aggregated"),
    [
        ("", False),
        ("*/*", False),
        ("application/json", False),
        (f"{AGGREGATED},application/json", True),
        (f"{AGGREGATED.replace('v2', 'v2beta1')},application/json", False),
        (f"{AGGREGATED};q=0.5,application/json", False),
        (f"text/plain,{AGGREGATED};profile=nopeer", True),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", False),
    ],
)
def test_the_form_is_what_is_wanted_most(
    discovery: Discovery, accept: str, aggregated: bool
) -> None:
    found = discovery.find("/apis", accept)
    assert found is not None
    assert (b"APIGroupDiscoveryList" in found.body) is aggregated


@pytest.mark.parametrize("path", ["/api", "/apis", "/apis/apps", "/apis/apps/v1"])
@pytest.mark.parametrize("accept", ["text/plain", AGGREGATED.replace("v2", "v2beta1")])
def test_a_form_that_cannot_be_given_is_refused(
    discovery: Discovery, path: str, accept: str
) -> None:
    with pytest.raises(StatusError) as refused:
        discovery.find(path, accept)
    assert (refused.value.code, refused.value.reason) == (406, "NotAcceptable")
    known = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    assert known in refused.value.message


@pytest.mark.parametrize(
    "path", ["/apis/nope", "/apis/apps/v2", "/api/v2", "/apis/", "/apis/apps/"]
)
def test_a_slash_at_the_end_changes_nothing_and_the_unknown_is_not_there(
    discovery: Discovery, path: str
) -> None:
    found = discovery.find(path)
    assert (found is not None) is path.endswith("/")


def test_a_kind_that_comes_or_goes_is_told_at_once() -> None:
    served = registry()
    discovery = Discovery(served, ADDRESS)
    assert discovery.find("/apis/g.example.com/v1beta1") is not None
    served.remove("g.example.com", "widgets")
    assert discovery.find("/apis/g.example.com/v1beta1") is None
    group = discovery.find("/apis/g.example.com")
    assert group is not None
    assert b"v1beta1" not in group.body


def test_a_kind_that_goes_can_no_longer_be_written() -> None:
    served = registry()
    widget, _ = next(served_of(RECORDED["definitions"][-1]))
    left = ("delete", "deletecollection", "get", "list", "watch")
    served.add(replace(widget, verbs=left))
    found = Discovery(served, ADDRESS).find(f"/apis/{widget.kind.api_version}")
    assert found is not None
    resource = next(
        each for each in orjson.loads(found.body)["resources"] if each["name"] == widget.plural
    )
    assert resource["verbs"] == list(left)


def test_every_builtin_kind_has_its_schema_and_strategy() -> None:
    found = {each.bucket: each for each in served_builtins(AnyStrategies())}
    assert len(found) == 64  # of horizontal pod autoscalers and events there are two
    assert found["deployments.apps"].schema["properties"].keys() >= {"spec", "status"}
    assert found["pods"].short_names == ("po",)
    assert found["deployments.apps"].subresources["scale"].kind.group == "autoscaling"
    assert found["endpoints"].deprecation.startswith("v1 Endpoints is deprecated in v1.33+")


def test_autoscalers_are_stored_in_their_second_version() -> None:
    found = [
        each
        for each in served_builtins(AnyStrategies())
        if each.bucket == "horizontalpodautoscalers.autoscaling"
    ]
    assert {each.storage_version for each in found} == {"v2"}


def test_the_version_is_that_of_the_recorded_server() -> None:
    assert server_version()["gitVersion"] == "v1.35.4"


VERSIONS = ["v10", "v2", "v1", "v11beta2", "v11beta1", "v10beta3", "v3alpha2", "bar", "foo1"]


@given(st.permutations(VERSIONS))
def test_stable_versions_come_first_and_newer_before_older(versions: list[str]) -> None:
    assert sorted(versions, key=version_priority) == VERSIONS
