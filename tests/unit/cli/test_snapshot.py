import os
from pathlib import Path

import pytest
from sandbox_testing.stored import BUCKET, names, put, stored

from kube_sandbox.storage import snapshots
from kube_sandbox.storage.journal import Journal
from tests.command import Outcome, run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with a store of two objects, where everything is relative to."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KRO_GITOPS_DATA_DIR", "data")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    journal, store = Journal.open(tmp_path / "data" / "store.db")
    journal.follow(store)
    put(store, "a")
    put(store, "b")
    journal.close()
    return tmp_path


def snapshot(*words: str) -> Outcome:
    return run("snapshot", *words)


def test_a_store_is_saved_and_restored(folder: Path) -> None:
    done = snapshot("save", "saved.db")
    assert (done.code, done.out) == (0, "")
    assert done.err == "saved 2 objects of 'data' to 'saved.db'\n"
    done = snapshot("restore", "saved.db", "--data-dir", "other")
    assert (done.code, done.out) == (0, "")
    assert done.err == "restored 2 objects from 'saved.db' to 'other'\n"
    assert names(snapshots.read(folder / "other" / "store.db").list(BUCKET)) == ["a", "b"]


def test_the_folder_is_that_of_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshots.write(stored("mine"), folder / "saved.db")
    monkeypatch.delenv("KRO_GITOPS_DATA_DIR")
    assert snapshot("restore", "saved.db").code == 0
    found = snapshots.read(folder / "share" / "kro-gitops" / "store.db")
    assert names(found.list(BUCKET)) == ["mine"]


def test_a_store_is_replaced_only_if_it_is_asked_for(folder: Path) -> None:
    snapshots.write(stored("other"), folder / "saved.db")
    path = folder / "data" / "store.db"
    done = snapshot("restore", "saved.db")
    assert done.code == 1
    assert done.err == (
        f"error[store-not-empty]: the store '{path}' is not empty\n"
        "  hint: --force replaces it; `kro-gitops snapshot save FILE` keeps it\n"
    )
    assert names(snapshots.read(path).list(BUCKET)) == ["a", "b"]
    assert snapshot("restore", "saved.db", "--force").code == 0
    assert names(snapshots.read(path).list(BUCKET)) == ["other"]


def test_a_store_that_is_served_can_be_saved_but_not_replaced(folder: Path) -> None:
    journal, _ = Journal.open(folder / "data" / "store.db")
    assert snapshot("save", "saved.db").code == 0
    done = snapshot("restore", "saved.db", "--force")
    journal.close()
    assert done.code == 1
    assert "is in use by process" in done.err
    assert "hint: stop the `kro-gitops run` that serves it" in done.err


def test_a_snapshot_is_saved_over_an_older_one_and_nothing_else(folder: Path) -> None:
    assert snapshot("save", "saved.db").code == 0
    assert snapshot("save", "saved.db").code == 0
    (folder / "notes.md").write_text("mine", encoding="utf-8")
    done = snapshot("save", "notes.md")
    assert done.code == 1
    assert "error[snapshot-unusable]: 'notes.md' is there already, and is no snapshot: " in done.err
    assert (folder / "notes.md").read_text(encoding="utf-8") == "mine"
    done = snapshot("save", "nowhere/saved.db")
    assert done.code == 1
    assert "error[snapshot-unusable]: the snapshot 'nowhere/saved.db' cannot be used: " in done.err
    assert "hint: name another file, in a folder that is there and that you may write" in done.err


def test_no_store_is_lost_for_a_snapshot(folder: Path) -> None:
    other = folder / "other" / "store.db"
    journal, store = Journal.open(other)
    journal.follow(store)
    put(store, "mine")
    journal.close()
    for target in ("other/store.db", "data/store.db"):
        done = snapshot("save", target)
        assert done.code == 1
        assert "is no snapshot: it is the store of a folder" in done.err
    assert names(snapshots.read(other).list(BUCKET)) == ["mine"]


def test_what_is_no_regular_file_is_neither_read_nor_replaced(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for words in (("save", "pipe"), ("save", "data"), ("restore", "pipe", "--force")):
        done = snapshot(*words)
        assert done.code == 1
        assert "it is no regular file\n" in done.err
    assert (folder / "pipe").is_fifo()


def test_an_empty_name_of_a_folder_is_none(folder: Path) -> None:
    done = snapshot("save", "saved.db", "--data-dir", "")
    assert done.err == "saved 2 objects of 'data' to 'saved.db'\n"


def test_a_home_that_nobody_has_is_told(folder: Path) -> None:
    done = snapshot("save", "~nobody-has-it/saved.db")
    assert done.code == 1
    assert "'~nobody-has-it/saved.db' cannot be used: there is no such home" in done.err


def test_without_a_store_there_is_nothing_to_save(folder: Path) -> None:
    done = snapshot("save", "saved.db", "--data-dir", "nowhere")
    assert done.code == 1
    assert done.err == (
        "error[store-unusable]: the store 'nowhere/store.db' cannot be used: there is no such "
        "file\n  hint: name the data directory with --data-dir FOLDER; `kro-gitops run` creates "
        "one\n"
    )
    assert not (folder / "saved.db").exists()


@pytest.mark.parametrize(
    "words", [("save",), ("keep", "saved.db"), ("save", "saved.db", "--force")], ids=" ".join
)
def test_a_wrong_command_line_is_told(folder: Path, words: tuple[str, ...]) -> None:
    done = snapshot(*words)
    assert done.code == 64
    assert "Try 'kro-gitops snapshot --help'." in done.err
    assert not (folder / "saved.db").exists()
