"""The tutorial, followed as a new user does: every command of it, to the repository that runs."""

import os
from pathlib import Path

import pytest

from tests.command import PROGRAM, ROOT
from tests.docs.reader import ShellReader
from tests.e2e.embedded.conftest import User

pytestmark = pytest.mark.timeout(240)
TUTORIAL = ROOT / "docs" / "tutorial" / "first-definition.md"


def test_every_step_of_the_tutorial_works_and_its_repository_becomes_ready(
    user: User, tmp_path: Path
) -> None:
    (user.home / ".gitconfig").write_text(
        "[user]\n  name = New User\n  email = new@example.com\n", encoding="utf-8"
    )
    folder = tmp_path / "tutorial"
    folder.mkdir()
    path = f"{PROGRAM.parent}:{os.environ['PATH']}"
    environment = {**user.environment, "PATH": path, "COLUMNS": "80"}
    ShellReader(TUTORIAL.name, folder, environment).follow(TUTORIAL.read_text("utf-8"))
    # Nothing of the last run is kept.
    assert not user.data.exists()
