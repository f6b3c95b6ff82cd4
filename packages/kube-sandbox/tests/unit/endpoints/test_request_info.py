"""Paths and methods: what is asked for."""

import pytest

from kube_sandbox.api_errors import StatusError
from kube_sandbox.endpoints.request_info import Query, Target, parse_target, verb_of


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/api/v1/pods", Target("", "v1", "pods")),
        ("/api/v1/namespaces", Target("", "v1", "namespaces")),
        ("/api/v1/namespaces/town", Target("", "v1", "namespaces", name="town")),
        (
            "/api/v1/namespaces/town/finalize",
            Target("", "v1", "namespaces", name="town", subresource="finalize"),
        ),
        ("/api/v1/namespaces/town/pods", Target("", "v1", "pods", "town")),
        ("/api/v1/namespaces/town/pods/a", Target("", "v1", "pods", "town", "a")),
        ("/api/v1/namespaces/town/pods/a/status", Target("", "v1", "pods", "town", "a", "status")),
        ("/apis/apps/v1/deployments/", Target("apps", "v1", "deployments")),
        ("/apis/kro.run/v1/shops/a%2Fb", Target("kro.run", "v1", "shops", "", "a/b")),
        ("/apis/x.y/v1/things/a/scale", Target("x.y", "v1", "things", "", "a", "scale")),
    ],
)
def test_a_path_names_a_resource(path: str, target: Target) -> None:
    assert parse_target(path) == target


@pytest.mark.parametrize(
    "path",
    ["/", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/healthz", "/version",
     "/api/v1/namespaces/town/pods/a/status/more"],
)  # fmt: skip
def test_other_paths_name_none(path: str) -> None:
    assert parse_target(path) is None


@pytest.mark.parametrize(
    ("method", "path", "query", "verb"),
    [
        ("GET", "/api/v1/pods", "", "list"),
        ("GET", "/api/v1/pods", "watch=true", "watch"),
        ("GET", "/api/v1/pods", "watch=1&timeoutSeconds=3", "watch"),
        ("GET", "/api/v1/pods", "watch=false", "list"),
        ("GET", "/api/v1/namespaces/a/pods/b", "", "get"),
        ("POST", "/api/v1/namespaces/a/pods", "", "create"),
        ("POST", "/api/v1/namespaces/a/serviceaccounts/b/token", "", "create"),
        ("PUT", "/api/v1/namespaces/a/pods/b", "", "update"),
        ("PATCH", "/api/v1/namespaces/a/pods/b", "", "patch"),
        ("DELETE", "/api/v1/namespaces/a/pods/b", "", "delete"),
        ("DELETE", "/api/v1/namespaces/a/pods", "", "deletecollection"),
    ],
)
def test_a_method_is_a_verb(method: str, path: str, query: str, verb: str) -> None:
    target = parse_target(path)
    assert target is not None
    assert verb_of(method, target, Query.parse(query)) == verb


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/api/v1/namespaces/a/pods/b"), ("PUT", "/api/v1/pods"), ("TRACE", "/api/v1/pods")],
)
def test_a_method_that_makes_no_sense_is_refused(method: str, path: str) -> None:
    target = parse_target(path)
    assert target is not None
    with pytest.raises(StatusError, match="does not allow this method") as caught:
        verb_of(method, target, Query())
    assert caught.value.code == 405


def test_a_parameter_may_be_given_twice() -> None:
    query = Query.parse("dryRun=All&dryRun=Some&force&limit=")
    assert query.all("dryRun") == ["All", "Some"]
    assert query.flag("force") is True
    assert query.get("limit") == ""
    assert query.flag("watch") is None
