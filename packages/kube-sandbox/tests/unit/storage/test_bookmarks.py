import orjson
import pytest

from kube_objects.builtins.catalog import catalog
from kube_objects.refs import Kind
from kube_sandbox.storage.bookmarks import bookmarks


def test_a_bookmark_is_an_object_with_a_version() -> None:
    found = bookmarks(Kind("", "v1", "ConfigMap"))(277, False)
    assert found == b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"277"}}'


def test_the_end_of_the_initial_events_is_marked() -> None:
    assert bookmarks(Kind("apps", "v1", "Deployment"))(453, True) == (
        b'{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"resourceVersion":"453",'
        b'"annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"replicas":0,'
        b'"selector":null,"template":{"metadata":{},"spec":{"containers":null}},"strategy":{}},'
        b'"status":{}}'
    )


def test_keys_of_custom_objects_are_sorted() -> None:
    found = bookmarks(Kind("b.example.com", "v1", "BThing"), is_custom=True)(582, True)
    assert found == (
        b'{"apiVersion":"b.example.com/v1","kind":"BThing","metadata":{"annotations":'
        b'{"k8s.io/initial-events-end":"true"},"resourceVersion":"582"}}'
    )


@pytest.mark.parametrize("kind", sorted(catalog.kinds()), ids=str)
def test_every_kind_has_bookmarks(kind: Kind) -> None:
    found = orjson.loads(bookmarks(kind)(7, True))
    assert (found["kind"], found["apiVersion"]) == (kind.kind, kind.api_version)
    assert found["metadata"]["resourceVersion"] == "7"
