"""The command line of `why`, and the repositories it asks; on a cluster: tests/e2e/test_why.py."""

import io
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kro_gitops.cli.messages import Style
from kro_gitops.cli.why.git_clones import open_clone
from kro_gitops.cli.why.output import Printer
from kro_gitops.cli.why.texts import find_clone, known_commit
from kro_gitops.inspect.provenance.answer import Drift, OriginKind, Provenance, Reference
from kro_gitops.inspect.provenance.field_managers import Writer
from kro_gitops.inspect.provenance.git_location import Commit, Line, Place
from kro_gitops.inspect.views.instances import Written
from kube_objects.refs import Kind, ObjectRef
from tests.command import run

FIRST, SECOND = "a: 1\nb: 2\n", "a: 1\nb: 3\n"


@pytest.mark.parametrize("word", ["deployment", "deployment/", "/front", "a/b/c", ""])
def test_one_object_must_be_named(word: str) -> None:
    done = run("why", word)
    assert (done.code, done.out) == (64, "")
    assert f"'{word}' is not KIND/NAME" in done.err


def test_a_field_that_is_none() -> None:
    done = run("why", "deployment/front", "spec..replicas")
    assert (done.code, done.out) == (64, "")
    assert "'spec..replicas' is not a field" in done.err


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    done = run("why", "deployment/front", "spec", "--repo", tmp_path / "gone")
    assert done.code == 64
    assert "--repo: there is no folder" in done.err


def test_options_may_stand_before_the_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    done = run("why", "deployment/front", "-n", "shop", "spec.replicas")
    assert done.code == 1
    assert "unrecognized" not in done.err


def test_what_strangers_wrote_does_not_steer_the_terminal() -> None:
    evil = "\x1b[31mred\r\x9b1m"
    writer = Writer(evil, "Update", "2026-01-01T00:00:00Z")
    place = Place(evil, (evil,), Written(evil, evil, evil), Line(1, 1, 1, evil), evil)
    found = Provenance(
        ObjectRef(Kind("", "v1", evil), evil, evil),
        (evil,),
        OriginKind.MANAGER,
        evil,
        evil,
        expression=evil,
        places=(replace(place, commit=Commit(evil, evil, evil, "", evil)),),
        references=(Reference(evil, None, evil),),
        writers=(writer,),
        drift=(Drift((evil,), evil, evil, (writer,)),),
        notes=(evil,),
    )
    shown = Printer(Style(io.StringIO()), datetime.now(UTC)).field(found)
    assert all(character == "\n" or character.isprintable() for character in shown)


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=Ada Lovelace", "-c", "user.email=ada@example.com")
    command = ["git", "-C", str(folder), *who, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def commits(tmp_path: Path) -> tuple[str, str]:
    git(tmp_path, "init", "-q")
    ids: list[str] = []
    for text in (FIRST, SECOND):
        (tmp_path / "file.yaml").write_text(text, encoding="utf-8")
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-q", "-m", f"Have {len(ids) + 1}")
        ids.append(git(tmp_path, "rev-parse", "HEAD"))
    return ids[0], ids[1]


def test_a_clone_tells_files_and_lines_of_any_commit(
    commits: tuple[str, str], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    first, second = commits
    clone = open_clone(tmp_path, tmp_path_factory.mktemp("scratch"))
    try:
        assert clone.read("file.yaml", first) == FIRST.encode()
        assert clone.read("file.yaml", second) == SECOND.encode()
        assert clone.read("gone.yaml", second) is None
        old, new = clone.blame(second, "file.yaml", 1), clone.blame(second, "file.yaml", 2)
        assert old is not None
        assert new is not None
        assert (old.id, new.id) == (first, second)
        assert (new.author, new.email, new.subject) == (
            "Ada Lovelace",
            "ada@example.com",
            "Have 2",
        )
        assert clone.commit(first) == old
    finally:
        clone.close()


def test_a_clone_without_the_commit_has_nothing(
    commits: tuple[str, str], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    clone = open_clone(tmp_path, tmp_path_factory.mktemp("scratch"))
    try:
        assert commits[0] != "0" * 40
        assert not clone.has("0" * 40)
        assert clone.commit("0" * 40) is None
        assert clone.error
    finally:
        clone.close()


def test_a_folder_that_is_no_clone_has_nothing(tmp_path: Path) -> None:
    clone = open_clone(tmp_path, tmp_path / "scratch")
    try:
        assert not clone.has("0" * 40)
        assert clone.error
    finally:
        clone.close()


@pytest.mark.parametrize("kind", ["worktree", "bare", "shared"])
def test_worktrees_bare_repositories_and_clones_with_alternates_are_read(
    commits: tuple[str, str], kind: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    first, second = commits
    folder = tmp_path_factory.mktemp("other") / "clone"
    match kind:
        case "worktree":
            git(tmp_path, "worktree", "add", "-q", "--detach", str(folder), first)
        case "bare":
            git(tmp_path, "clone", "-q", "--bare", str(tmp_path), str(folder))
        case _:
            git(tmp_path, "clone", "-q", "--shared", str(tmp_path), str(folder))
    clone = open_clone(folder, tmp_path_factory.mktemp("scratch"))
    try:
        assert clone.read("file.yaml", second) == SECOND.encode()
        blamed = clone.blame(second, "file.yaml", 1)
        assert blamed is not None
        assert blamed.id == first
    finally:
        clone.close()


def test_history_ends_where_a_shallow_clone_ends(
    commits: tuple[str, str], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    first, second = commits
    folder = tmp_path_factory.mktemp("other") / "clone"
    git(tmp_path, "clone", "-q", "--depth=1", tmp_path.as_uri(), str(folder))
    clone = open_clone(folder, tmp_path_factory.mktemp("scratch"))
    try:
        blamed = clone.blame(second, "file.yaml", 1) if clone.has(second) else None
        assert blamed is not None
        assert blamed.id == second
        assert not clone.has(first)
    finally:
        clone.close()


def test_nothing_of_a_clone_is_copied_or_executed(
    commits: tuple[str, str], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    trace = tmp_path_factory.mktemp("executed") / "by-clone"
    for key in ("core.fsmonitor", "core.sshCommand", "uploadpack.packObjectsHook"):
        git(tmp_path, "config", key, f"touch {trace}")
    (tmp_path / ".gitattributes").write_text("*.yaml diff=evil\n", encoding="utf-8")
    git(tmp_path, "config", "diff.evil.textconv", f"touch {trace};cat")
    scratch = tmp_path_factory.mktemp("scratch")
    clone = open_clone(tmp_path, scratch)
    try:
        assert clone.read("file.yaml", commits[1]) == SECOND.encode()
        assert clone.blame(commits[1], "file.yaml", 2) is not None
    finally:
        clone.close()
    assert not trace.exists()
    objects = scratch / "clone" / "objects"
    copied = [file for file in objects.rglob("*") if file.is_file() and file.name != "alternates"]
    assert copied == []


@pytest.mark.usefixtures("commits")
def test_the_clone_that_a_folder_is_in(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert find_clone(inner) == tmp_path.resolve()
    assert find_clone(tmp_path_factory.mktemp("elsewhere")) is None


def test_a_source_remembers_who_wrote_a_commit() -> None:
    status = {
        "commit": {
            "id": "b" * 40,
            "author": "Grace",
            "time": "2026-03-02T00:00:00Z",
            "message": "Three\n\nfor the sale",
        },
        "history": [{"revision": f"main@sha1:{'a' * 40}", "author": "Ada", "message": "First"}],
    }
    source = {"status": status}
    assert known_commit(source, "b" * 40) == Commit(
        "b" * 40, "Grace", "", "2026-03-02T00:00:00Z", "Three"
    )
    assert known_commit(source, "a" * 40) == Commit("a" * 40, "Ada", "", "", "First")
    assert known_commit(source, "c" * 40) is None
    assert known_commit({}, "a" * 40) is None
