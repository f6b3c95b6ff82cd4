"""`make demo`, but for what it installs: one command from nothing to a tree."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import ROOT
from tests.e2e.embedded.conftest import User
from tests.git_repositories import clean_environment, git_program

pytestmark = pytest.mark.timeout(240)

COMMIT = ("-c", "user.name=me", "-c", "user.email=me@example.com", "commit", "--quiet", "-m", "Go")


@pytest.fixture
def clone(user: User) -> Path:
    """Give a clone with the examples in it."""
    folder = user.home / "clone"
    shutil.copytree(ROOT / "examples", folder / "examples")
    for words in (("init", "--quiet", "--initial-branch=main"), ("add", "."), COMMIT):
        environment = clean_environment(user.home)
        subprocess.run([git_program(), *words], cwd=folder, env=environment, check=True)
    return folder


def test_the_demo_shows_a_tree_the_marks_of_a_child_and_where_a_field_comes_from(
    user: User, clone: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.demo"],
        cwd=clone,
        env={**user.environment, "PYTHONPATH": str(ROOT), "KUBECONFIG": "/of/somebody"},
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "├── deployment: Deployment/front" in done.stdout
    assert ": 1 source · 5 definitions · 8 instances · 22 children\n" in done.stdout
    assert "    gitops.kro.run/path: examples/repo/instances/team-shop/front.yaml\n" in done.stdout
    assert "    kro.run/instance-name: front\n" in done.stdout
    assert "examples/repo/instances/team-shop/front.yaml:8:13" in done.stdout
    assert "no cluster is accessed" in done.stderr
    # Nothing is written but what a clone ignores.
    assert [each.name for each in clone.iterdir()].count("build") == 1
    assert not user.data.exists()
