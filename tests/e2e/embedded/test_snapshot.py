"""`snapshot` and `run --snapshot`: what was there comes back, and a fork leaves no trace."""

import json
import shlex
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kro_gitops.cli.verbs import VERBS
from tests.command import Outcome
from tests.e2e.embedded.conftest import PATHS, Run, Start, User
from tests.git_repositories import GitRepository

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def followed(start_run: Start, examples: GitRepository) -> Run:
    """Give a run that follows the examples, and has them ready."""
    run = start_run("--repo", examples.path, "--path", PATHS)
    run.said(" I source is ready ")
    return run


def instances(user: User) -> list[str]:
    """Return the instances that are served, by their names."""
    there = {"KUBECONFIG": str(user.data / "kubeconfig")}
    done = user.does("get", "instances", "-A", "-o", "name", **there)
    assert done.code == 0, done.err
    return sorted(done.out.split())


def rows(path: Path, bucket: str, name: str) -> Any:
    """Return the last state of an object in a store that nobody serves."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        text = "SELECT value FROM changes WHERE bucket = ? AND name = ? ORDER BY version DESC"
        return json.loads(connection.execute(text, (bucket, name)).fetchone()[0])


def fails(user: User, *words: str | Path) -> str:
    """Return what is said where something cannot be done."""
    done = user.does(*words)
    assert (done.code, done.out) == (1, ""), done.err
    assert "Traceback" not in done.err
    return done.err


def test_what_was_saved_while_served_comes_back(
    user: User, followed: Run, examples: GitRepository, start_run: Start
) -> None:
    before = instances(user)
    assert "webapp.kro.run/front" in before
    saved = user.does("snapshot", "save", "before.db")
    assert saved.code == 0, saved.err
    assert saved.err.startswith("saved ")
    assert saved.err.endswith(f" objects of '{user.data}' to 'before.db'\n")
    # A run that goes on is in the way of a restore, and none the worse for the question.
    refusal = fails(user, "snapshot", "restore", "before.db", "--force")
    assert f"is in use by process {followed.api()}" in refusal
    assert "stop the `kro-gitops run` that serves it" in refusal
    examples.commit({"repo/instances/team-shop/front.yaml": None}, "Without it")
    there = {"KUBECONFIG": str(user.data / "kubeconfig")}
    assert user.does("sync", "repo", "--wait", **there).code == 0
    assert "webapp.kro.run/front" not in instances(user)
    assert followed.ends(signal.SIGTERM) == 0

    refusal = fails(user, "snapshot", "restore", "before.db")
    assert f"error[store-not-empty]: the store '{user.data / 'store.db'}' is not empty" in refusal
    assert "--force" in refusal
    restored = user.does("snapshot", "restore", "before.db", "--force")
    assert restored.code == 0, restored.err
    again = start_run("--no-sources")
    again.said(" I ready ")
    assert instances(user) == before


def test_a_fork_has_everything_and_leaves_no_trace(
    user: User, examples: GitRepository, start_run: Start
) -> None:
    words = ("run", "--once", "--repo", examples.path, "--path", PATHS)
    assert user.does(*words).code == 0
    assert user.does("snapshot", "save", "ready.db").code == 0
    snapshot, store = user.home / "ready.db", user.data / "store.db"
    kept = snapshot.read_bytes()
    fork = user.does("run", "--once", "--ephemeral", "--snapshot", "ready.db", "--no-sources")
    assert fork.code == 0, fork.out + fork.err
    assert "WebApp shop/front: ready" in fork.err.splitlines()
    assert snapshot.read_bytes() == kept
    # Another address, other keys: what tells of them in the new place is true.
    elsewhere = user.home / "elsewhere"
    run = start_run("--data-dir", elsewhere, "--snapshot", "ready.db", "--no-sources")
    run.said(" I ready ")
    assert run.ends(signal.SIGTERM) == 0
    server = json.loads((elsewhere / "kubeconfig").read_text(encoding="utf-8"))["clusters"][0]
    port = int(server["cluster"]["server"].rpartition(":")[2])
    service = rows(elsewhere / "store.db", "services", "kubernetes")
    assert service["spec"]["ports"][0]["targetPort"] == port
    authority = rows(elsewhere / "store.db", "configmaps", "kube-root-ca.crt")["data"]["ca.crt"]
    assert authority != rows(store, "configmaps", "kube-root-ca.crt")["data"]["ca.crt"]
    # It is there for good, so a snapshot has no place there any more.
    refusal = fails(
        user, "run", "--once", "--data-dir", elsewhere, "--snapshot", "ready.db", "--no-sources"
    )
    assert f"the store '{elsewhere / 'store.db'}' is not empty" in refusal
    assert "leave out --snapshot to go on from it" in refusal


def foreign(path: Path) -> None:
    """Make a database of somebody else."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (name TEXT)")


def test_what_is_no_snapshot_is_told(user: User) -> None:
    foreign(user.home / "theirs.db")
    (user.home / "text.db").write_text("hello", encoding="utf-8")
    reasons = {
        "missing.db": "there is no such file",
        "theirs.db": "it is a database of another program",
        "text.db": "file is not a database",
    }
    for name, why in reasons.items():
        refusal = fails(user, "snapshot", "restore", name)
        assert f"error[snapshot-unusable]: the snapshot '{name}' cannot be used: {why}" in refusal
        path = user.home / name
        refusal = fails(user, "run", "--once", "--ephemeral", "--snapshot", name)
        assert f"did not start: the snapshot '{path}' cannot be used: {why}" in refusal
        assert "hint: give --snapshot a file that" in refusal
    refusal = fails(user, "snapshot", "save", "new.db")
    assert "there is no such file" in refusal
    assert "--data-dir FOLDER" in refusal
    assert not user.data.exists()


def test_the_examples_of_the_help_work(user: User) -> None:
    assert user.does("run", "--once").code == 0
    lines = VERBS["snapshot"].examples.splitlines()
    commands = [line for line in lines if line.startswith("  kro-gitops ")]
    done: list[Outcome] = [user.does(*shlex.split(each)[1:]) for each in commands]
    assert [each.code for each in done] == [0] * len(commands), [each.err for each in done]
    assert (user.home / "elsewhere" / "store.db").exists()
