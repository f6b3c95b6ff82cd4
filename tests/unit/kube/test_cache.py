"""The objects last seen, and what changed."""

from collections.abc import Iterable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kro_gitops.kube.cache import DROP_MANAGED_FIELDS, Cache, Change, drop_fields, key_of
from kube_objects.refs import KubeObject


def thing(name: str, version: int, *colours: str) -> KubeObject:
    metadata = {"namespace": "shop", "name": name, "resourceVersion": str(version)}
    return {"metadata": metadata, "colours": list(colours)}


def colours(obj: KubeObject) -> Iterable[str]:
    found: list[str] = obj["colours"]
    return found


def names(objects: Iterable[KubeObject]) -> list[str]:
    return [obj["metadata"]["name"] for obj in objects]


def test_changes_tell_before_and_after() -> None:
    cache = Cache()
    first, second = thing("a", 1), thing("a", 2)
    assert cache.put(first) == Change(None, first)
    assert cache.put(second) == Change(first, second)
    assert cache.find("shop", "a") is second
    assert cache.remove(("shop", "a")) == Change(second, None)
    assert cache.find("shop", "a") is None


def test_a_version_that_was_seen_is_no_change() -> None:
    cache = Cache()
    cache.put(thing("a", 1))
    assert cache.put(thing("a", 1)) is None
    assert cache.remove(("shop", "b")) is None


def test_a_removal_tells_the_last_state() -> None:
    cache = Cache()
    cache.put(thing("a", 1))
    last = thing("a", 2)
    assert cache.remove(("shop", "a"), last) == Change(last, None)


def test_replacing_tells_only_what_differs() -> None:
    cache = Cache()
    for name in ("same", "changed", "gone"):
        cache.put(thing(name, 1))
    changes = cache.replace([thing("same", 1), thing("changed", 2), thing("new", 3)])
    assert names(change.object for change in changes) == ["gone", "changed", "new"]
    assert names(cache) == ["same", "changed", "new"]


def test_objects_are_found_by_what_is_in_them() -> None:
    cache = Cache({"colour": colours})
    cache.put(thing("a", 1, "red", "blue"))
    cache.put(thing("b", 2, "red"))
    assert names(cache.by("colour", "red")) == ["a", "b"]
    cache.put(thing("a", 3, "green"))
    assert names(cache.by("colour", "red")) == ["b"]
    assert names(cache.by("colour", "green")) == ["a"]
    cache.remove(("shop", "b"))
    assert cache.by("colour", "red") == []


def test_a_cache_may_change_while_it_is_walked() -> None:
    cache = Cache()
    for name in "abc":
        cache.put(thing(name, 1))
    for obj in cache:
        cache.remove(key_of(obj))
    assert len(cache) == 0


def test_a_cluster_scoped_object_has_no_namespace() -> None:
    assert key_of({"metadata": {"name": "node"}}) == ("", "node")


def test_fields_are_dropped_where_they_are() -> None:
    obj: dict[str, Any] = {"metadata": {"name": "a", "managedFields": [1]}, "status": {"b": 1}}
    trim = drop_fields(("metadata", "managedFields"), ("status",), ("spec", "absent", "deep"))
    assert trim(obj) == {"metadata": {"name": "a"}}
    assert DROP_MANAGED_FIELDS({"metadata": {}}) == {"metadata": {}}


events = st.lists(
    st.tuples(st.sampled_from("abcd"), st.booleans(), st.sets(st.sampled_from("xyz"))), max_size=40
)


@settings(max_examples=150)
@given(events)
def test_an_index_is_what_a_walk_would_find(seen: list[tuple[str, bool, set[str]]]) -> None:
    cache = Cache({"colour": colours})
    for version, (name, is_there, found) in enumerate(seen):
        if is_there:
            cache.put(thing(name, version, *found))
        else:
            cache.remove(("shop", name))
    for colour in "xyz":
        walked = [obj for obj in cache if colour in obj["colours"]]
        assert sorted(names(cache.by("colour", colour))) == sorted(names(walked))
