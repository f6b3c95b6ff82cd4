import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sandbox_testing import journal_writer
from sandbox_testing.stored import BUCKET, delete, names, put

from kube_objects.errors import InvalidError
from kube_objects.refs import Kind
from kube_sandbox.api_errors import StatusError
from kube_sandbox.storage.bookmarks import bookmarks
from kube_sandbox.storage.journal import Journal
from kube_sandbox.storage.resource_version import VersionOptions
from kube_sandbox.storage.store import Change, History, Store
from kube_sandbox.storage.watch import Watch, Watched

TESTS = Path(__file__).parents[2]
WATCHED = Watched(BUCKET, bookmarks(Kind("", "v1", "ConfigMap")))


@contextmanager
def followed(path: Path, history: History | None = None) -> Iterator[Store]:
    journal, store = Journal.open(path, history)
    journal.follow(store)
    try:
        yield store
    finally:
        journal.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def test_a_restart_forgets_nothing(path: Path) -> None:
    with followed(path) as store:
        put(store, "a", labels={"colour": "blue"})
        put(store, "b", namespace="zoo")
        put(store, "n", bucket="nodes", namespace="")
        put(store, "a", data="ü")
        delete(store, "b", "zoo")
    with followed(path) as again:
        assert again.version == store.version
        assert list(again.list(BUCKET)) == list(store.list(BUCKET))
        assert again.get("nodes", "", "n") == store.get("nodes", "", "n")
        assert put(again, "c").version == store.version + 1


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(("put", "delete", "restart", "forget")))
    )
)
@settings(max_examples=50)
def test_a_file_is_the_store(steps: list[tuple[str, str]]) -> None:
    with TemporaryDirectory() as folder, ExitStack() as stack:
        path, twin = Path(folder) / "store.db", Store()
        store = stack.enter_context(followed(path))
        for name, step in steps:
            if step == "restart":
                stack.close()
                store = stack.enter_context(followed(path))
            elif step == "forget":
                store.compact(2)
                twin.compact(2)
            elif step == "put":
                put(store, name)
                put(twin, name)
            elif store.get(BUCKET, "shop", name):
                delete(store, name)
                delete(twin, name)
            assert (store.version, store.oldest) == (twin.version, twin.oldest)
            assert store.list(BUCKET) == twin.list(BUCKET)
            assert store.since(BUCKET, store.oldest) == twin.since(BUCKET, twin.oldest)


def test_watches_resume_over_a_restart(path: Path) -> None:
    with followed(path) as store:
        put(store, "a")
        put(store, "b")
        delete(store, "a")
        told = Watch(store, WATCHED, VersionOptions("1"), 0.0, 60.0).take()
    with followed(path) as again:
        assert Watch(again, WATCHED, VersionOptions("1"), 0.0, 60.0).take() == told


def write_together(journal: Journal, store: Store, *wanted: str) -> None:
    with journal.together():
        for name in wanted:
            if name == "nobody":
                raise KeyError(name)
            put(store, name)


def test_changes_that_are_made_together_are_all_there_or_none(path: Path) -> None:
    journal, store = Journal.open(path)
    journal.follow(store)
    write_together(journal, store, "a", "b")
    with pytest.raises(KeyError, match="nobody"):
        write_together(journal, store, "c", "nobody")
    journal.close()
    with followed(path) as again:
        assert names(again.list(BUCKET)) == ["a", "b"]


def test_what_is_superseded_leaves_the_file(path: Path) -> None:
    with followed(path, History(changes=8)) as store:
        put(store, "first")
        for _ in range(200):
            put(store, "a")
            delete(store, "a")
        assert store.version - store.oldest <= 9
        oldest = store.oldest
    connection = sqlite3.connect(path)
    (rows,) = connection.execute("SELECT count(*) FROM changes").fetchone()
    connection.close()
    assert rows <= 12
    with followed(path) as again:
        assert (again.version, again.oldest) == (store.version, oldest)
        assert names(again.list(BUCKET)) == ["first"]
        with pytest.raises(StatusError, match="too old resource version: 1"):
            again.since(BUCKET, 1)


def test_the_version_goes_on_though_everything_is_deleted(path: Path) -> None:
    with followed(path) as store:
        put(store, "a")
        delete(store, "a")
        store.compact(0)
    with followed(path) as again:
        assert (again.version, list(again.list(BUCKET))) == (3, [])


def test_only_its_owner_may_read_it(path: Path) -> None:
    path.touch(mode=0o644)
    with followed(path) as store:
        put(store, "a")
        for each in path.parent.iterdir():
            assert each.stat().st_mode & 0o777 == 0o600, each


def test_a_store_has_one_user(path: Path) -> None:
    with followed(path):
        with pytest.raises(InvalidError) as refused:
            Journal.open(path.parent / "." / path.name)
        assert refused.value.code == "store-in-use"
        told = f"the store '{path}' is in use by process {os.getpid()}"
        assert refused.value.message == told
    with followed(path):
        pass
    assert [each.name for each in path.parent.iterdir()] == ["store.db"]


def unusable(path: Path) -> str:
    before = path.read_bytes()
    with pytest.raises(InvalidError) as refused:
        Journal.open(path)
    assert refused.value.code == "store-unusable"
    assert path.read_bytes() == before
    assert not path.with_name("store.db.lock").exists()
    return refused.value.message


def test_a_file_that_is_no_store(path: Path) -> None:
    path.write_text("apiVersion: v1\n" * 100)
    assert unusable(path).endswith("cannot be used: file is not a database")


def test_a_database_of_somebody_else(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE cookies (name TEXT)")
    connection.close()
    assert unusable(path).endswith("it is a database of another program")


def test_a_layout_of_another_time(path: Path) -> None:
    with followed(path):
        pass
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    assert unusable(path).endswith("its layout is 9, and this version reads 1")


def test_a_store_with_a_gap(path: Path) -> None:
    with followed(path) as store:
        for name in "abc":
            put(store, name)
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM changes WHERE version = 3")
    connection.commit()
    connection.close()
    assert unusable(path).endswith("version 3 is missing from it")


def test_a_damaged_store(path: Path) -> None:
    with followed(path) as store:
        for index in range(50):
            put(store, f"a{index}", data="x" * 2000)
    content = bytearray(path.read_bytes())
    content[3 * 8192 : 4 * 8192] = bytes(8192)
    path.write_bytes(content)
    assert "cannot be used: " in unusable(path)


def test_a_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    with followed(tmp_path / "some" / "folder" / "store.db") as store:
        put(store, "a")


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    # Python ignores the signal that comes with it, so a write fails as on a disk that is full.
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


def test_what_a_full_disk_does_not_take_does_not_happen(path: Path) -> None:
    with followed(path) as store:
        heard = list[Change]()
        put(store, "a")
        store.listen(heard.append)
        log = path.with_name("store.db-wal").stat().st_size
        with files_no_larger_than(log + 1000):
            with pytest.raises(StatusError) as refused:
                put(store, "b", data="x" * 3000)
            with pytest.raises(StatusError):
                delete(store, "a")
            store.compact(0)  # has to wait, but harms nobody
        assert (refused.value.code, refused.value.reason) == (500, "InternalError")
        assert "the change could not be written: " in refused.value.message
        assert (store.version, names(store.list(BUCKET)), heard) == (2, ["a"], [])
        put(store, "b", data="y" * 3000)
        put(store, "a")
        store.compact(0)
    with followed(path) as again:
        assert list(again.list(BUCKET)) == list(store.list(BUCKET))
        assert again.version == 4


def test_after_the_end_nothing_is_written(path: Path) -> None:
    with followed(path) as store:
        pass
    with pytest.raises(StatusError, match="could not be written"):
        put(store, "a")
    assert store.get(BUCKET, "shop", "a") is None


def killed_while_writing(path: Path, acknowledgements: int) -> int:
    """Start a writer, kill it after so many acknowledgements, and return the last of all."""
    command = [sys.executable, "-m", "sandbox_testing.journal_writer", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=TESTS) as writer:
        assert writer.stdout is not None
        told = [writer.stdout.readline() for _ in range(acknowledgements + 1)]
        writer.send_signal(signal.SIGKILL)
        told += writer.stdout.readlines()
        assert writer.wait() == -signal.SIGKILL
    return int(told[-1])


def test_what_was_acknowledged_survives_being_killed(path: Path) -> None:
    random = Random(7)
    expected: dict[str, int] = {}
    last = 1
    for _ in range(20):
        # None: it is killed while it opens the store.
        acknowledged = killed_while_writing(path, random.choice((0, 1, 30, 400))) or last
        with followed(path, journal_writer.HISTORY) as store:
            # At most one change is there that nobody has heard of yet.
            assert store.version in (acknowledged, acknowledged + 1)
            for version in range(last + 1, store.version + 1):
                name, is_deleted = journal_writer.step(version, expected)
                if is_deleted:
                    del expected[name]
                else:
                    expected[name] = version
            assert {each.name: each for each in store.list(BUCKET)} == {
                name: journal_writer.record_of(name, version) for name, version in expected.items()
            }
            resumed = [each.version for each in store.since(BUCKET, store.oldest)]
            assert resumed == [*range(store.oldest + 1, store.version + 1)]
            assert store.version - store.oldest >= min(64, store.version - 1)
            last = store.version
