"""Time never runs backwards in a cache, whoever fills it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kro_gitops.kube.cache import Cache, Change, is_newer
from kube_objects.refs import KubeObject

KEY = ("shop", "a")


def thing(version: int, name: str = "a", **more: Any) -> KubeObject:
    metadata = {"namespace": "shop", "name": name, "resourceVersion": str(version)}
    return {"metadata": metadata, **more}


def test_an_own_write_is_seen_at_once_and_its_event_is_no_news() -> None:
    cache = Cache()
    cache.put(thing(1))
    own = thing(3)
    cache.put(own)
    assert cache.put(thing(2)) is None
    assert cache.put(thing(3)) is None
    assert cache.find(*KEY) is own
    assert cache.put(thing(4)) == Change(own, thing(4))


def test_the_end_of_an_older_object_does_not_end_its_successor() -> None:
    cache = Cache()
    made_anew = thing(5)
    cache.put(made_anew)
    assert cache.remove(KEY, thing(4)) is None
    assert cache.find(*KEY) is made_anew
    assert cache.remove(KEY, thing(6)) == Change(thing(6), None)


def test_a_listing_does_not_forget_what_was_written_since() -> None:
    cache = Cache()
    cache.put(thing(1, "old"))
    cache.put(thing(12, "own"))
    changes = cache.replace([thing(8, "listed")], "10")
    assert [change.object["metadata"]["name"] for change in changes] == ["old", "listed"]
    assert cache.find("shop", "own") is not None
    assert cache.find("shop", "old") is None


def test_a_listing_does_not_bring_back_older_versions() -> None:
    cache = Cache()
    own = thing(12)
    cache.put(own)
    assert cache.replace([thing(9)], "10") == []
    assert cache.find(*KEY) is own


def test_a_listing_without_a_version_is_all_there_is() -> None:
    cache = Cache()
    cache.put(thing(12))
    assert cache.replace([]) == [Change(thing(12), None)]


@pytest.mark.parametrize(
    ("version", "than", "newer"),
    [("2", "1", True), ("1", "2", False), ("1", "1", False), ("10", "9", True), ("b", "a", True)],
)
def test_versions_are_numbers(version: str, than: str, newer: bool) -> None:
    assert is_newer(version, than) is newer


histories = st.lists(st.sampled_from(["write", "own", "delete"]), max_size=12)


@settings(max_examples=200)
@given(histories, st.data())
def test_a_cache_ends_where_the_server_does(done: list[str], data: st.DataObject) -> None:
    """Answers to own writes come early or late; once all events are in, the cache is right."""
    arrivals: list[list[tuple[str, KubeObject]]] = []
    live: KubeObject | None = None
    for version, what in enumerate(done, 1):
        current = thing(version)
        live = None if what == "delete" else current
        arrivals.append([(what, current)])
        if what == "own":
            # Its answer, anywhere before its event: then it is news, and the event is not.
            arrivals.insert(data.draw(st.integers(0, len(arrivals) - 1)), [("answer", current)])
    cache = Cache()
    for what, obj in (each for group in arrivals for each in group):
        if what == "delete":
            cache.remove(KEY, obj)
        else:
            cache.put(obj)
    assert cache.find(*KEY) == live


def test_a_server_that_was_set_back_is_believed() -> None:
    cache = Cache()
    cache.replace([thing(500), thing(400, "gone")], "500")

    changes = cache.replace([thing(90)], "100")

    assert {change.object["metadata"]["name"] for change in changes} == {"a", "gone"}
    assert [each["metadata"]["resourceVersion"] for each in cache] == ["90"]


def test_a_version_that_looks_otherwise_is_a_change_if_the_list_is_read_anew() -> None:
    cache = Cache()
    cache.replace([thing(5, spec={"color": "blue"}), thing(6, "b")], "7")
    fuller = thing(5, spec={"color": "blue", "size": "XL"})
    assert cache.replace([fuller, thing(6, "b")], "8") == []
    [change] = cache.replace([fuller, thing(6, "b")], "8", has_new_schema=True)
    assert change.after == fuller
    assert change.before is not None
    assert change.before["spec"] == {"color": "blue"}
    assert cache.find(*KEY) == fuller
