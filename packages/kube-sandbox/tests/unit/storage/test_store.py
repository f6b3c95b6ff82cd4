from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sandbox_testing.stored import BUCKET, delete, names, put, record, stored

from kube_sandbox.api_errors import StatusError
from kube_sandbox.storage.store import Change, ChangeType, History, Record, Store


def test_an_empty_store_has_a_version_to_watch_from() -> None:
    # Zero means "any version", so a list must never be told to be of it.
    assert Store().version == 1


def test_a_write_is_the_next_version() -> None:
    store = Store()
    assert put(store, "a").version == 2
    assert put(store, "a").version == 3
    with pytest.raises(ValueError, match="version 3 cannot follow 3"):
        store.put(BUCKET, record("b", 3))
    assert store.get(BUCKET, "shop", "b") is None


def test_lists_are_in_the_order_of_keys() -> None:
    store = Store()
    for namespace, name in (("b-s", "x"), ("b-s-x", "x"), ("b", "z"), ("b-s", "a.b"), ("b-s", "a")):
        put(store, name, namespace=namespace)
    found = [(each.namespace, each.name) for each in store.list(BUCKET)]
    # As etcd has them: "-" comes before "/", so b-s-x comes before b-s.
    assert found == [("b-s-x", "x"), ("b-s", "a"), ("b-s", "a.b"), ("b-s", "x"), ("b", "z")]
    assert names(store.list(BUCKET, "b-s")) == ["a", "a.b", "x"]
    assert names(store.list(BUCKET, "b")) == ["z"]
    assert store.list("secrets") == []
    assert store.count(BUCKET) == 5
    assert list(store.buckets()) == [BUCKET]


def test_a_list_is_a_copy() -> None:
    store = stored("a", "b")
    before = store.list(BUCKET)
    delete(store, "a")
    assert names(before) == ["a", "b"]


def test_cluster_scoped_objects_have_no_namespace() -> None:
    store = Store()
    put(store, "n", bucket="nodes", namespace="")
    assert store.get("nodes", "", "n") is not None
    assert names(store.list("nodes")) == ["n"]


def test_changes_are_told_in_order_with_what_was_there() -> None:
    store, heard = Store(), list[Change]()
    store.listen(heard.append)
    first = put(store, "a").record
    second = put(store, "a").record
    delete(store, "a")
    assert [(each.type, each.before) for each in heard] == [
        (ChangeType.ADDED, None),
        (ChangeType.MODIFIED, first),
        (ChangeType.DELETED, second),
    ]
    with pytest.raises(KeyError):
        store.delete(BUCKET, record("a", store.version + 1))


def test_a_watch_hears_of_one_bucket_until_it_is_cancelled() -> None:
    store, heard = Store(), list[Change]()
    cancel = store.watch(BUCKET, heard.append)
    put(store, "s", bucket="secrets")
    put(store, "a")
    cancel()
    cancel()
    put(store, "b")
    assert [each.record.name for each in heard] == ["a"]


def test_a_listener_that_writes_does_not_disturb_the_order() -> None:
    store, first, last = Store(), list[int](), list[int]()

    def answer(change: Change) -> None:
        first.append(change.version)
        if change.record.name == "a":
            put(store, "b")

    store.listen(answer)
    store.listen(lambda change: last.append(change.version))
    put(store, "a")
    assert first == last == [2, 3]


def test_what_is_forgotten_is_refused_with_the_words_of_a_watch() -> None:
    store = stored("a", "b", "c")
    assert [each.version for each in store.since(BUCKET, 2)] == [3, 4]
    store.compact(keep=1)
    assert [each.version for each in store.since(BUCKET, 3)] == [4]
    with pytest.raises(StatusError) as refused:
        store.since(BUCKET, 2)
    assert (refused.value.code, refused.value.reason) == (410, "Expired")
    assert refused.value.message == "too old resource version: 2 (3)"


def test_a_kind_that_does_not_change_is_not_too_old() -> None:
    store = stored("a")
    for _ in range(10):
        put(store, "s", bucket="secrets")
    store.compact(0)
    assert store.since(BUCKET, 2) == []
    assert names(store.at(BUCKET, 2)) == ["a"]
    assert store.since("pods", 1) == []
    for version in (1, 11):
        with pytest.raises(StatusError, match="too old"):
            store.since(BUCKET if version == 1 else "secrets", version)
    # Of what was before a start nobody knows whether it was forgotten.
    with pytest.raises(StatusError, match=r"too old resource version: 8 \(9\)"):
        Store.of({}, version=9).since("pods", 8)


def test_history_has_limits() -> None:
    many = Store(History(changes=16))
    for _ in range(100):
        put(many, "a")
    assert 16 <= many.version - many.oldest <= 18
    large = Store(History(bytes=10_000))
    for _ in range(100):
        put(large, "a", data="x" * 1000)
    assert large.version - large.oldest <= 10
    assert large.since(BUCKET, large.oldest)


class Refusing:
    def __init__(self) -> None:
        self.is_full = False
        self.forgotten: list[int] = []

    def append(self, change: Change) -> None:
        if self.is_full:
            raise OSError("no space left")

    def forget(self, version: int, superseded: object) -> None:
        assert isinstance(superseded, list)
        self.forgotten += superseded


def test_a_change_that_cannot_be_kept_does_not_happen() -> None:
    store, heard, disk = stored("a"), list[Change](), Refusing()
    store.listen(heard.append)
    store.record(disk)
    disk.is_full = True
    for write, name in ((put, "b"), (put, "a"), (delete, "a")):
        with pytest.raises(OSError, match="no space"):
            write(store, name)
    assert (store.version, names(store.list(BUCKET)), heard) == (2, ["a"], [])
    disk.is_full = False
    assert put(store, "b").version == 3


def test_a_recorder_is_told_which_versions_nobody_needs() -> None:
    store, disk = stored("a"), Refusing()  # version 2
    store.record(disk)
    put(store, "a")  # 3 replaces 2
    put(store, "b")  # 4
    delete(store, "b")  # 5 ends 4
    put(store, "a")  # 6 replaces 3, which is kept: it is above the floor
    store.compact_to(5)
    assert sorted(disk.forgotten) == [2, 4, 5]


def test_a_fork_goes_its_own_way_and_shares_records() -> None:
    store, heard = stored("a", "b"), list[Change]()
    store.listen(heard.append)
    fork = store.fork()
    assert fork.get(BUCKET, "shop", "a") is store.get(BUCKET, "shop", "a")
    delete(fork, "a")
    put(store, "c")
    assert names(fork.list(BUCKET)) == ["b"]
    assert names(store.list(BUCKET)) == ["a", "b", "c"]
    assert [each.record.name for each in heard] == ["c"]
    assert [each.version for each in fork.since(BUCKET, 2)] == [3, 4]


def test_another_schema_shows_what_was_written_anew() -> None:
    store, heard = stored("a"), list[Change]()
    written = put(store, "a").record
    store.listen(heard.append)
    store.show(BUCKET, lambda each: b"hidden")
    shown = store.get(BUCKET, "shop", "a")
    assert shown == replace(written, value=b"hidden")
    assert [each.record.value for each in store.since(BUCKET, 1)] == [b"hidden"] * 2
    assert store.stored(BUCKET, shown) == written.value
    # The next schema sees what was written, not what the last one left of it.
    store.show(BUCKET, lambda each: each.value)
    assert store.get(BUCKET, "shop", "a") == written
    assert (heard, store.version) == ([], 3)


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(("x", "x-y")), st.booleans())),
    st.integers(0, 40),
)
def test_any_state_of_the_past_can_be_told(writes: list[tuple[str, str, bool]], back: int) -> None:
    store = Store()
    states: dict[int, list[Record]] = {store.version: []}
    for name, namespace, is_delete in writes:
        if not is_delete:
            put(store, name, namespace=namespace)
        elif store.get(BUCKET, namespace, name):
            delete(store, name, namespace)
        states[store.version] = list(store.list(BUCKET))
    version = max(1, store.version - back)
    assert list(store.at(BUCKET, version)) == states[version]
    there = [each for each in states[version] if each.namespace == "x"]
    assert list(store.at(BUCKET, version, "x")) == there
