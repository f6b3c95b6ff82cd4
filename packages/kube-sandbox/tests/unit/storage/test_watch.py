from dataclasses import replace

import orjson
import pytest
from sandbox_testing.stored import BUCKET, delete, put, record, stored

from kube_objects.refs import Kind, KubeObject
from kube_sandbox.api_errors import StatusError
from kube_sandbox.endpoints.list_options import validate_options
from kube_sandbox.storage.bookmarks import bookmarks
from kube_sandbox.storage.resource_version import VersionOptions
from kube_sandbox.storage.store import Record, Store
from kube_sandbox.storage.watch import Watch, Watched, needed_version, timeout

BOOKMARK = bookmarks(Kind("", "v1", "ConfigMap"))
ALL = Watched(BUCKET, BOOKMARK)
MARKED = Watched(BUCKET, BOOKMARK, allow_bookmarks=True)
BLUE = Watched(BUCKET, BOOKMARK, matches=lambda each: each.labels.get("colour") == "blue")
NOW_ON = VersionOptions(match="NotOlderThan", send_initial_events=False)


def begun(
    store: Store, watched: Watched = ALL, asked: VersionOptions | None = None, lasts: float = 300.0
) -> Watch:
    given = asked or VersionOptions()
    whole = VersionOptions(
        given.resource_version, given.match, 0, "", given.send_initial_events, True
    )
    return Watch(store, watched, validate_options(whole), 0.0, lasts)


def events(watch: Watch) -> list[tuple[str, str, str]]:
    """Return type, name and version of each event."""
    return [
        (
            each["type"],
            each["object"]["metadata"].get("name", ""),
            each["object"]["metadata"].get("resourceVersion", ""),
        )
        for each in lines(watch)
    ]


def lines(watch: Watch) -> list[KubeObject]:
    text = watch.take()
    assert text == b"" or text.endswith(b"\n")
    return [orjson.loads(line) for line in text.splitlines()]


def test_an_event_is_a_line() -> None:
    store = stored("a")
    found = store.get(BUCKET, "shop", "a")
    assert found is not None
    assert begun(store).take() == b'{"type":"ADDED","object":' + found.value + b"}\n"


@pytest.mark.parametrize("version", ["", "0"])
def test_without_a_version_it_begins_with_what_is_there(version: str) -> None:
    store = stored("b", "a")
    watch = begun(store, asked=VersionOptions(version))
    put(store, "c")
    delete(store, "a")
    # In the order of names, not of versions.
    assert events(watch) == [
        ("ADDED", "a", "3"),
        ("ADDED", "b", "2"),
        ("ADDED", "c", "4"),
        ("DELETED", "a", "5"),
    ]
    assert events(watch) == []


def test_from_a_version_on_there_is_what_changed_since() -> None:
    store = stored("a", "b")
    put(store, "a")
    watch = begun(store, asked=VersionOptions("2"))
    put(store, "b")
    assert events(watch) == [
        ("ADDED", "b", "3"),
        ("MODIFIED", "a", "4"),
        ("MODIFIED", "b", "5"),
    ]


def test_a_watch_may_begin_in_the_future() -> None:
    store = stored("a")
    watch = begun(store, MARKED, VersionOptions("4"))
    put(store, "b")
    put(store, "c")
    put(store, "d")
    assert events(watch) == [("ADDED", "d", "5")]


@pytest.mark.parametrize("version", ["", "0"])
def test_initial_events_can_be_left_out(version: str) -> None:
    store = stored("a")
    watch = begun(store, MARKED, VersionOptions(version, "NotOlderThan", send_initial_events=False))
    put(store, "b")
    assert events(watch) == [("ADDED", "b", "3")]


def test_the_end_of_the_initial_events_is_marked() -> None:
    store = stored("a")
    watch = begun(store, MARKED)
    put(store, "b")
    found = lines(watch)
    assert [each["type"] for each in found] == ["ADDED", "BOOKMARK", "ADDED"]
    assert found[1]["object"]["metadata"] == {
        "resourceVersion": "2",
        "annotations": {"k8s.io/initial-events-end": "true"},
    }


def test_a_version_that_is_too_old_is_told_in_an_event() -> None:
    store = stored("a", "b")
    store.compact(0)
    watch = begun(store, asked=VersionOptions("1"))
    assert watch.take() == (
        b'{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},'
        b'"status":"Failure","message":"too old resource version: 1 (3)","reason":"Expired",'
        b'"code":410}}\n'
    )
    assert watch.is_over
    put(store, "c")
    assert watch.take() == b""


def test_initial_events_of_a_version_yet_to_come() -> None:
    asked = VersionOptions("99", "NotOlderThan", send_initial_events=True)
    assert needed_version(asked) == 99
    watch = begun(stored("a"), asked=asked)
    (found,) = lines(watch)
    assert found["type"] == "ERROR"
    assert found["object"]["message"] == "Timeout: Too large resource version: 99, current: 2"
    assert watch.is_over
    # An old one will do: what is there is newer.
    store = stored("a")
    store.compact(0)
    assert events(begun(store, asked=VersionOptions("1", "NotOlderThan", send_initial_events=True)))


def test_a_wrong_version_is_no_event() -> None:
    with pytest.raises(StatusError) as refused:
        begun(stored("a"), asked=VersionOptions("x"))
    assert refused.value.code == 500
    # Nobody waits for a version only to hear what comes after it.
    assert needed_version(VersionOptions("99")) == 0


def test_objects_come_and_go_as_they_match() -> None:
    store = Store()
    watch = begun(store, BLUE)
    put(store, "w", labels={"colour": "blue"}, data="1")
    put(store, "w", labels={"colour": "blue"}, data="2")
    put(store, "w", labels={"colour": "red"}, data="3")
    put(store, "w", labels={"colour": "red"}, data="4")
    put(store, "w", labels={"colour": "blue"}, data="5")
    delete(store, "w")
    put(store, "other")
    delete(store, "other")
    found = [
        (each["type"], each["object"]["metadata"]["resourceVersion"], each["object"]["data"])
        for each in lines(watch)
    ]
    assert found == [
        ("ADDED", "2", "1"),
        ("MODIFIED", "3", "2"),
        # What it was when it last matched, with the version at which it ceased to.
        ("DELETED", "4", "2"),
        ("ADDED", "6", "5"),
        ("DELETED", "7", "5"),
    ]


def test_only_the_version_of_the_object_itself_is_another_one() -> None:
    store = Store()
    first = record("w", 2, labels={"colour": "blue"})
    value = b'{"metadata":{"name":"w","resourceVersion":"2"},"about":{"resourceVersion":"2"}}'
    store.put(BUCKET, replace(first, value=value))
    watch = begun(store, BLUE, VersionOptions("2"))
    put(store, "w")
    assert lines(watch) == [
        {
            "type": "DELETED",
            "object": {
                "metadata": {"name": "w", "resourceVersion": "3"},
                "about": {"resourceVersion": "2"},
            },
        }
    ]


def test_the_same_events_come_from_the_past() -> None:
    store = Store()
    live = begun(store, BLUE, NOW_ON)
    for colour in ("blue", "red", "red", "blue"):
        put(store, "w", labels={"colour": colour})
    assert begun(store, BLUE, VersionOptions("1")).take() == live.take()


def test_a_namespace_is_a_selector_too() -> None:
    store = Store()
    watch = begun(store, Watched(BUCKET, BOOKMARK, namespace="shop"))
    put(store, "a", namespace="shop")
    put(store, "a", namespace="zoo")
    put(store, "a", bucket="secrets")
    assert events(watch) == [("ADDED", "a", "2")]


def test_bookmarks_come_every_minute_and_shortly_before_the_end() -> None:
    store = stored("a")
    watch = begun(store, MARKED, VersionOptions("2"), lasts=75.0)
    put(store, "s", bucket="secrets")
    assert watch.due == 60.0
    watch.tick(60.0)
    assert events(watch) == [("BOOKMARK", "", "3")]
    assert watch.due == 73.0
    watch.tick(73.0)
    assert events(watch) == [("BOOKMARK", "", "3")]
    assert watch.due == 75.0
    watch.tick(75.0)
    assert watch.is_over


def test_the_first_bookmark_after_initial_events_comes_soon() -> None:
    store = stored("a")
    watch = begun(store, MARKED)
    put(store, "s", bucket="secrets")
    assert watch.due == 1.0
    watch.tick(1.0)
    assert events(watch)[1:] == [("BOOKMARK", "", "2"), ("BOOKMARK", "", "3")]
    assert watch.due == 61.0


def test_a_bookmark_comes_after_what_it_covers() -> None:
    store = stored("a")
    watch = begun(store, MARKED, VersionOptions("2"))
    put(store, "b")
    watch.tick(60.0)
    put(store, "c")
    assert [each[0] for each in events(watch)] == ["ADDED", "BOOKMARK", "ADDED"]


def test_there_is_no_bookmark_of_the_version_from_which_one_came() -> None:
    watch = begun(stored("a"), MARKED, VersionOptions("2"))
    watch.tick(60.0)
    assert events(watch) == []


def test_bookmarks_must_be_asked_for() -> None:
    store = stored("a")
    watch = begun(store, ALL, VersionOptions("2"), lasts=100.0)
    put(store, "s", bucket="secrets")
    assert watch.due == 100.0
    watch.tick(60.0)
    assert events(watch) == []


def test_how_long_a_watch_lasts() -> None:
    assert timeout(10, 0.5) == 10.0
    assert timeout(-1, 0.5) == 0.0
    assert timeout(None, 0.5) == timeout(0, 0.5) == 2700.0


def test_whoever_waits_is_woken() -> None:
    store, woken = stored("a"), list[str]()
    watch = begun(store, BLUE, NOW_ON)
    watch.wake = lambda: woken.append("woken")
    put(store, "b")
    assert woken == []
    put(store, "c", labels={"colour": "blue"})
    assert len(woken) == 1
    watch.close()
    assert len(woken) == 2
    put(store, "d", labels={"colour": "blue"})
    assert (len(woken), watch.take()) == (2, b"")


def test_a_client_that_falls_behind_is_let_go() -> None:
    store = Store()
    slow, fast = begun(store), begun(store)
    for _ in range(20):
        put(store, "a", data="x" * 1024 * 1024)
        fast.take()
    assert slow.is_over
    assert slow.take() == b""
    assert not fast.is_over


def test_a_client_may_read_what_is_there_as_slowly_as_it_likes() -> None:
    store = Store()
    for index in range(30):
        put(store, f"a{index}", data="x" * 1024 * 1024)
    watch = begun(store)
    taken = 0
    while text := watch.take(1024):
        assert text.count(b"\n") == 1
        taken += 1
    assert taken == 30
    assert not watch.is_over


def test_events_are_shown_as_the_client_wants_them() -> None:
    def shown(record: Record) -> bytes:
        return orjson.dumps({"metadata": orjson.loads(record.value)["metadata"]})

    store = stored("a")
    watch = begun(store, Watched(BUCKET, BOOKMARK, render=shown, allow_bookmarks=True))
    added, bookmark = lines(watch)
    assert added["object"].keys() == bookmark["object"].keys() == {"metadata"}
    assert bookmark["object"]["metadata"]["resourceVersion"] == "2"


def test_a_watch_that_is_ended_tells_what_it_has_heard() -> None:
    store = stored("a")
    watch = begun(store, asked=NOW_ON)
    put(store, "b")
    watch.end()
    put(store, "c")
    assert watch.is_over
    assert events(watch) == [("ADDED", "b", "3")]
    assert events(watch) == []
