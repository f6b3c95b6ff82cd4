"""What is wanted → method, path, query, headers, body."""

import pytest

from kro_gitops.kube import requests
from kro_gitops.kube.api import (
    DEFAULT_DELETE,
    DEFAULT_WRITE,
    DeleteOptions,
    Identity,
    JsonPatch,
    MergePatch,
    Propagation,
    Resource,
    Selection,
    WriteOptions,
)
from kube_objects.errors import RefusedError
from kube_objects.refs import Kind, KubeObject, ObjectRef

POD = Resource(Kind("", "v1", "Pod"), "pods", True)
DEPLOYMENT = Resource(Kind("apps", "v1", "Deployment"), "deployments", True)
NODE = Resource(Kind("", "v1", "Node"), "nodes", False)


def web(resource: Resource, namespace: str = "shop", name: str = "web") -> ObjectRef:
    return ObjectRef(resource.kind, namespace, name)


def json_patch(operation: str, path: str) -> requests.Request:
    patch = JsonPatch([{"op": operation, "path": path, "value": 1}])
    return requests.patch(POD, web(POD), patch, DEFAULT_WRITE)


def manifest(namespace: str = "shop") -> KubeObject:
    metadata = {"name": "web", "namespace": namespace}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata}


@pytest.mark.parametrize(
    ("resource", "namespace", "path"),
    [
        pytest.param(POD, "shop", "/api/v1/namespaces/shop/pods/web", id="core group"),
        pytest.param(
            DEPLOYMENT, "shop", "/apis/apps/v1/namespaces/shop/deployments/web", id="named group"
        ),
        pytest.param(NODE, "", "/api/v1/nodes/web", id="cluster scope"),
        pytest.param(NODE, "shop", "/api/v1/nodes/web", id="a namespace that means nothing"),
    ],
)
def test_an_object_has_a_path(resource: Resource, namespace: str, path: str) -> None:
    assert requests.get(resource, web(resource, namespace)).path == path


@pytest.mark.parametrize(
    ("name", "segment"),
    [
        pytest.param("a?b", "a%3Fb", id="question mark"),
        pytest.param("system:node", "system:node", id="a colon, as role names have it"),
    ],
)
def test_a_name_stays_one_part_of_the_path(name: str, segment: str) -> None:
    assert requests.get(NODE, web(NODE, "", name)).path == f"/api/v1/nodes/{segment}"


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        pytest.param("", "web", id="no namespace"),
        pytest.param("shop", "", id="no name"),
    ],
)
def test_an_object_that_is_not_named_has_no_path(namespace: str, name: str) -> None:
    with pytest.raises(ValueError, match=r"namespace|name"):
        requests.get(POD, web(POD, namespace, name))


@pytest.mark.parametrize(
    ("namespace", "name", "message"),
    [
        ("shop", "..", "invalid resource name \"..\": [may not be '..']"),
        ("..", "web", "invalid namespace \"..\": [may not be '..']"),
        ("shop", "web/status", "invalid resource name \"web/status\": [may not contain '/']"),
        ("shop", "a%2fb", "invalid resource name \"a%2fb\": [may not contain '%']"),
        ("a/b%2F", "x", "invalid namespace \"a/b%2F\": [may not contain '/' may not contain '%']"),
    ],
)
def test_a_name_that_leads_to_another_path_is_rejected(
    namespace: str, name: str, message: str
) -> None:
    with pytest.raises(RefusedError) as caught:
        requests.get(POD, web(POD, namespace, name))
    assert (caught.value.code, caught.value.message) == ("invalid-name", message)


def test_a_list_is_of_one_namespace_or_all() -> None:
    everywhere = requests.page(POD, Selection(POD.kind))
    here = requests.page(POD, Selection(POD.kind, "shop", labels="a=b,c", fields="x=y"), 5, "next")
    assert (everywhere.path, everywhere.query) == ("/api/v1/pods", ())
    assert here.path == "/api/v1/namespaces/shop/pods"
    assert dict(here.query) == {
        "labelSelector": "a=b,c",
        "fieldSelector": "x=y",
        "limit": "5",
        "continue": "next",
    }


def test_a_watch_has_bookmarks_and_an_end() -> None:
    watch = requests.watch(POD, Selection(POD.kind, metadata_only=True), "12", 600)
    assert dict(watch.query) == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "12",
        "timeoutSeconds": "600",
    }
    assert dict(watch.headers)["Accept"].endswith("as=PartialObjectMetadata;g=meta.k8s.io;v=v1")


def test_apply_says_who_and_whether_by_force() -> None:
    applied = requests.apply(DEPLOYMENT, manifest(), WriteOptions("us", force=True, dry_run=True))
    assert applied.method == "PATCH"
    assert dict(applied.query) == {"fieldManager": "us", "dryRun": "All", "force": "true"}
    assert dict(applied.headers)["Content-Type"] == "application/apply-patch+yaml"
    assert applied.body == manifest()


def test_apply_needs_a_manager() -> None:
    with pytest.raises(ValueError, match="manager"):
        requests.apply(DEPLOYMENT, manifest(), DEFAULT_WRITE)


def test_a_subresource_has_a_path_of_its_own() -> None:
    options = WriteOptions("us", subresource="status")
    patched = requests.patch(DEPLOYMENT, web(DEPLOYMENT), MergePatch({}), options)
    assert patched.path == "/apis/apps/v1/namespaces/shop/deployments/web/status"


def test_an_object_is_created_among_its_like() -> None:
    created = requests.create(DEPLOYMENT, manifest(), DEFAULT_WRITE)
    assert (created.method, created.path) == ("POST", "/apis/apps/v1/namespaces/shop/deployments")


def test_a_deletion_says_which_object_is_meant() -> None:
    options = DeleteOptions("an-id", "12", Propagation.FOREGROUND)
    assert requests.delete(POD, web(POD), options).body == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "an-id", "resourceVersion": "12"},
        "propagationPolicy": "Foreground",
    }
    assert requests.delete(POD, web(POD), DEFAULT_DELETE).body == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
    }


@pytest.mark.parametrize(
    ("request_", "may_repeat"),
    [
        pytest.param(requests.get(POD, web(POD)), True, id="get"),
        pytest.param(requests.page(POD, Selection(POD.kind)), True, id="list"),
        pytest.param(requests.apply(DEPLOYMENT, manifest(), WriteOptions("us")), True, id="apply"),
        pytest.param(
            requests.patch(POD, web(POD), MergePatch({}), DEFAULT_WRITE), True, id="merge patch"
        ),
        pytest.param(requests.delete(POD, web(POD), DEFAULT_DELETE), True, id="delete"),
        pytest.param(requests.create(DEPLOYMENT, manifest(), DEFAULT_WRITE), False, id="create"),
        pytest.param(
            requests.patch(POD, web(POD), JsonPatch([]), DEFAULT_WRITE), False, id="JSON patch"
        ),
        pytest.param(json_patch("add", "/status"), True, id="a field is set"),
        pytest.param(json_patch("replace", "/spec/a"), True, id="a field is replaced"),
        pytest.param(json_patch("add", "/spec/list/-"), False, id="an item is appended"),
        pytest.param(json_patch("add", "/spec/list/0"), False, id="an item is inserted"),
        pytest.param(json_patch("test", "/spec/a"), False, id="a field is tested"),
    ],
)
def test_only_what_does_no_harm_is_repeated(request_: requests.Request, may_repeat: bool) -> None:
    assert request_.may_repeat is may_repeat


def test_another_is_named_with_all_that_makes_them() -> None:
    identity = Identity("ann", ("devs", "ops"), "7", {"example.org/team": ("a", "b")})
    headers = requests.get(POD, web(POD)).acting_as(identity).headers
    assert headers[1:] == (
        ("Impersonate-User", "ann"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "devs"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-example.org%2Fteam", "a"),
        ("Impersonate-Extra-example.org%2Fteam", "b"),
    )
