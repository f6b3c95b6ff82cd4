"""A `run` that goes on: other verbs use it, signals end it, and nothing is left behind."""

import json
import os
import signal
import socket
import stat
import time
from pathlib import Path

import pytest

from kro_gitops.settings.settings import LOCAL_INTERVAL
from tests.e2e.embedded.conftest import PATHS, Run, Start, User, goes, is_there
from tests.git_repositories import GitRepository

pytestmark = pytest.mark.timeout(240)
PROMPT = 15.0  # seconds


@pytest.fixture
def followed(start_run: Start, examples: GitRepository) -> Run:
    """Give a run that follows the examples, and has them ready."""
    run = start_run("--repo", examples.path, "--path", PATHS)
    run.said(" I source is ready ")
    return run


def test_the_verbs_work_on_it_by_the_rules_of_kubectl(
    user: User, followed: Run, examples: GitRepository
) -> None:
    there = {"KUBECONFIG": str(user.data / "kubeconfig")}
    listed = user.does("get", "rgds", **there)
    assert listed.code == 0, listed.err
    assert "WebApp" in listed.out
    tree = user.does("tree", "webapp/front", "-n", "shop", **there)
    assert "deployment: Deployment/front" in tree.out
    assert "WebApp shop/front" in user.does("explain", "webapp/front", "-n", "shop", **there).out
    why = ("why", "deployment/front", "-n", "shop", "spec.replicas", "--repo", examples.path)
    assert "repo/instances/team-shop/front.yaml:8:13" in user.does(*why, **there).out
    assert user.does("sync", "repo", "--wait", **there).code == 0
    assert examples.head()[:7] in user.does("history", "repo", **there).out
    assert user.does("get", "sources", **there).code == 0
    kept = stat.S_IMODE((user.data / "kubeconfig").stat().st_mode)
    assert kept == 0o600


def test_a_commit_is_followed(user: User, followed: Run, examples: GitRepository) -> None:
    there = {"KUBECONFIG": str(user.data / "kubeconfig")}
    front = "repo/instances/team-shop/front.yaml"
    text = examples.git("show", f"main:{front}").decode().replace("replicas: 3", "replicas: 2")
    examples.commit({front: text}, "Fewer")
    assert user.does("sync", "repo", "--wait", **there).code == 0
    why = user.does("why", "deployment/front", "-n", "shop", "spec.replicas", **there)
    assert "spec.replicas = 2" in why.out
    assert followed.process.poll() is None


def test_a_commit_in_a_local_folder_is_followed_within_seconds(
    followed: Run, examples: GitRepository
) -> None:
    front = "repo/instances/team-shop/front.yaml"
    text = examples.git("show", f"main:{front}").decode().replace("replicas: 3", "replicas: 2")
    examples.commit({front: text}, "Fewer")
    followed.said(f'detail="applied main@sha1:{examples.head()}', within=10.0)


def test_a_poll_without_a_new_commit_writes_nothing(user: User, followed: Run) -> None:
    there = {"KUBECONFIG": str(user.data / "kubeconfig")}
    listed = ("get", "sources", "repo", "-o", "json")
    before = json.loads(user.does(*listed, **there).out)
    time.sleep(3 * LOCAL_INTERVAL)  # three polls
    after = json.loads(user.does(*listed, **there).out)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert followed.process.poll() is None


def test_a_restart_keeps_the_data(user: User, followed: Run, start_run: Start) -> None:
    there = {"KUBECONFIG": str(user.data / "kubeconfig")}
    before = user.does("get", "instances", "-A", "-o", "name", **there)
    assert "webapp.kro.run/front" in before.out
    assert followed.ends(signal.SIGTERM) == 0
    again = start_run()
    again.said(" I ready ")
    after = user.does("get", "instances", "-A", "-o", "name", **there)
    assert after.out == before.out
    # Nobody names the folder again, and it is followed all the same.
    synced = user.does("sync", "repo", "-n", "default", "--wait", **there)
    assert synced.code == 0, synced.err


def test_ctrl_c_ends_both_cleanly(user: User, followed: Run) -> None:
    api = followed.api()
    assert followed.ends(signal.SIGINT) == 130
    assert goes(api)
    said = followed.log.read_text(encoding="utf-8")
    assert "Traceback" not in said
    assert said.endswith("stopped; the data is kept in ~/.local/share/kro-gitops\n")
    assert not list(user.data.glob("*.lock"))


def test_ctrl_c_in_the_midst_of_a_sync_waits_for_no_definition(
    start_run: Start, examples: GitRepository
) -> None:
    run = start_run("--ephemeral", "--repo", examples.path, "--path", PATHS)
    run.said(" I ready ")
    time.sleep(0.1)  # definitions are being applied
    begun = time.monotonic()
    assert run.ends(signal.SIGINT) == 130
    assert time.monotonic() - begun < PROMPT
    assert "source is not ready" not in run.log.read_text(encoding="utf-8")


def test_killed_at_once_it_leaves_no_api_behind(user: User, start_run: Start) -> None:
    run = start_run("--ephemeral")
    run.said("embedded API at ")
    api = run.api()
    assert is_there(api)
    assert run.ends(signal.SIGKILL) == -signal.SIGKILL
    assert goes(api)
    assert not user.data.exists()


def test_an_api_that_dies_is_told_and_ends_the_run(user: User, start_run: Start) -> None:
    run = start_run("--ephemeral")
    run.said(" I ready ")
    os.kill(run.api(), signal.SIGKILL)
    assert run.process.wait(30) == 1
    said = run.log.read_text(encoding="utf-8")
    assert "kro-gitops run: the embedded API has ended (exit code -9)" in said
    assert "Traceback" not in said


def test_a_folder_in_use_is_told_with_who_uses_it(user: User, start_run: Start) -> None:
    first = start_run()
    first.said("embedded API at ")
    second = user.does("run", "--once")
    assert (second.code, second.out) == (1, "")
    message, hint = second.err.splitlines()
    assert message == (
        f"kro-gitops run: the embedded API did not start: the store "
        f"'{user.data / 'store.db'}' is in use by process {first.api()}"
    )
    assert "--data-dir FOLDER" in hint
    # And the first one is none the worse for it.
    assert user.does("get", "rgds", KUBECONFIG=str(user.data / "kubeconfig")).code == 0


def test_two_with_folders_of_their_own_run_beside_each_other(user: User, start_run: Start) -> None:
    runs = [start_run("--data-dir", user.home / name) for name in ("one", "two")]
    for run in runs:
        run.said(" I ready ")


def test_a_port_in_use_is_told(user: User) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = user.does("run", "--once", "--ephemeral", "--embedded-port", str(port))
    assert done.code == 1
    message, hint = done.err.splitlines()
    assert message == (
        "kro-gitops run: the embedded API did not start: cannot listen at 127.0.0.1 "
        f"port {port}: the address is already in use"
    )
    assert "--embedded-port" in hint


def test_a_folder_that_is_none_is_told(user: User, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    done = user.does("run", "--once", "--data-dir", file)
    assert done.code == 1
    message, hint = done.err.splitlines()
    assert f"'{file}' cannot be used: " in message
    assert "--ephemeral" in hint


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_folder_that_may_not_be_written_is_told(user: User, tmp_path: Path) -> None:
    folder = tmp_path / "read-only"
    folder.mkdir(mode=0o500)
    done = user.does("run", "--once", "--data-dir", folder / "data")
    assert done.code == 1
    assert "cannot be used: Permission denied" in done.err
