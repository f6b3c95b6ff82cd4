import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import orjson
import pytest
from sandbox_testing.stored import BUCKET, delete, names, put, stored

from kube_objects.errors import InvalidError
from kube_sandbox.api_errors import StatusError
from kube_sandbox.storage import snapshots
from kube_sandbox.storage.journal import Journal


def test_a_snapshot_holds_what_is_there(tmp_path: Path) -> None:
    store = stored("b", "a")
    delete(store, "b")
    put(store, "n", bucket="nodes", namespace="", labels={"zone": "1"})
    snapshots.write(store, tmp_path / "snapshot.db")
    found = snapshots.read(tmp_path / "snapshot.db")
    assert found.version == store.version
    assert list(found.list(BUCKET)) == list(store.list(BUCKET))
    assert list(found.list("nodes")) == list(store.list("nodes"))
    assert [each.name for each in tmp_path.iterdir()] == ["snapshot.db"]
    assert (tmp_path / "snapshot.db").stat().st_mode & 0o777 == 0o600


def test_a_snapshot_has_no_past(tmp_path: Path) -> None:
    store = stored("a", "b")
    snapshots.write(store, tmp_path / "snapshot.db")
    found = snapshots.read(tmp_path / "snapshot.db")
    assert list(found.since(BUCKET, 3)) == []
    with pytest.raises(StatusError, match="too old"):
        found.since(BUCKET, 2)


def test_a_snapshot_is_of_what_was_written(tmp_path: Path) -> None:
    store = stored("a")
    written = store.list(BUCKET)
    store.show(BUCKET, lambda each: b"shown otherwise")
    snapshots.write(store, tmp_path / "snapshot.db")
    assert list(snapshots.read(tmp_path / "snapshot.db").list(BUCKET)) == list(written)


def test_a_snapshot_replaces_another_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.db"
    snapshots.write(stored("a", "b", "c"), path)
    snapshots.write(stored("z"), path)
    assert names(snapshots.read(path).list(BUCKET)) == ["z"]


def test_reading_a_snapshot_leaves_it_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.db"
    snapshots.write(stored("a"), path)
    path.chmod(0o400)
    before = path.read_bytes()
    put(snapshots.read(path), "b")
    assert path.read_bytes() == before


def test_a_store_goes_on_from_a_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    journal, store = Journal.open(path)
    journal.follow(store)
    put(store, "a")
    snapshots.write(store.fork(), tmp_path / "snapshot.db")
    put(store, "b")
    with pytest.raises(InvalidError, match="is in use by process"):
        snapshots.restore(tmp_path / "snapshot.db", path, replace=True)
    journal.close()
    with pytest.raises(InvalidError, match="is not empty"):
        snapshots.restore(tmp_path / "snapshot.db", path)
    snapshots.restore(tmp_path / "snapshot.db", path, replace=True)
    journal, again = Journal.open(path)
    journal.follow(again)
    assert (names(again.list(BUCKET)), again.version) == (["a"], 2)
    put(again, "c")
    journal.close()


def test_the_log_of_what_was_there_before_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    journal, store = Journal.open(path)
    journal.follow(store)
    for index in range(20):
        put(store, f"old{index}")
    log = path.with_name("store.db-wal")
    left = log.read_bytes()
    journal.close()
    log.write_bytes(left)  # as after a kill
    snapshots.write(stored("a"), path)
    assert not log.exists()
    assert names(snapshots.read(path).list(BUCKET)) == ["a"]


def test_a_branch_has_a_file_of_its_own(tmp_path: Path) -> None:
    store = stored("a")
    journal, branch = snapshots.branch(store, tmp_path / "branch.db")
    put(branch, "b")
    journal.close()
    assert names(store.list(BUCKET)) == ["a"]
    assert names(snapshots.read(tmp_path / "branch.db").list(BUCKET)) == ["a", "b"]


@pytest.mark.parametrize("content", [None, b"", b"something else" * 100])
def test_what_is_no_snapshot(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "snapshot.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidError) as refused:
        snapshots.read(path)
    assert refused.value.code == "snapshot-unusable"
    assert f"the snapshot '{path}' cannot be used: " in refused.value.message
    assert path.exists() == (content is not None)


def test_a_snapshot_of_another_version_is_told(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.db"
    snapshots.write(stored("a"), path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 7")
    with pytest.raises(InvalidError, match="its layout is 7, and this version reads 1") as refused:
        snapshots.read(path)
    assert refused.value.code == "snapshot-unusable"


def test_a_database_of_another_program_is_no_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "snapshot.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(InvalidError, match="it is a database of another program"):
        snapshots.read(path)
    journal, _ = Journal.open(tmp_path / "store.db")
    journal.close()
    with pytest.raises(InvalidError, match="is there already, and is no snapshot") as refused:
        snapshots.save(tmp_path / "store.db", path)
    assert refused.value.code == "snapshot-unusable"
    assert path.read_bytes() == before


def test_a_store_is_saved_while_it_is_written_to(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    journal, store = Journal.open(path)
    journal.follow(store)
    put(store, "a")
    program = (
        "import sys; from pathlib import Path; from kube_sandbox.storage import snapshots\n"
        "for path in sys.argv[2:]: snapshots.save(Path(sys.argv[1]), Path(path))"
    )
    targets = [tmp_path / f"snapshot{number}.db" for number in range(5)]
    command = [sys.executable, "-c", program, str(path), *map(str, targets)]
    number = 0
    with subprocess.Popen(command) as process:
        while process.poll() is None:
            number += 1
            for name in ("left", "right"):
                put(store, name, data=str(number))
            if number % 10 == 0:
                store.compact(0)
    journal.close()
    assert process.returncode == 0
    for target in targets:
        found = snapshots.read(target)
        sides = {each.name: each for each in found.list(BUCKET) if each.name != "a"}
        counts = {name: int(orjson.loads(each.value)["data"]) for name, each in sides.items()}
        assert counts.get("left", 0) - counts.get("right", 0) in (0, 1)
        assert found.version == max(each.version for each in found.list(BUCKET))
    assert snapshots.read(targets[-1]).version > 2, "it was written to meanwhile"


def test_a_store_in_a_new_folder_is_made_of_a_snapshot(tmp_path: Path) -> None:
    snapshots.write(stored("a"), tmp_path / "snapshot.db")
    path = tmp_path / "new" / "store.db"
    restored = snapshots.restore(tmp_path / "snapshot.db", path)
    assert names(restored.list(BUCKET)) == ["a"]
    assert path.parent.stat().st_mode & 0o777 == 0o700
