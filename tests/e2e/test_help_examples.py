"""
Every example in the help of every verb works as it is printed.

Those of verbs that ask a cluster are carried out where there is one: tests/e2e/test_cluster_verbs,
tests/e2e/test_source_verbs, tests/e2e/test_timeline, tests/e2e/test_why, and for `snapshot` in
tests/e2e/embedded.
`run` never ends by itself; its examples must make settings.
"""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from kro_gitops.cli import verbs
from kro_gitops.cli.arguments import given_options
from kro_gitops.cli.verbs import VERBS, build_parser
from kro_gitops.settings.settings import parse_settings
from tests.command import EXAMPLES, PROGRAM

_COMMAND = re.compile(r"^  (\S.*kro-gitops .*|kro-gitops .*)$", re.MULTILINE)

DATA = 'cm:\n  data: {a: "1"}\n'
LIVE = "deployment:\n  status: {availableReplicas: 3}\n"

WITH_CLUSTER = (
    *("run", "snapshot", "get", "tree", "explain", "timeline", "why"),
    *("sync", "suspend", "resume", "history", "rollback", "approve"),
)
OF_CLUSTERS = {
    command for verb in WITH_CLUSTER for command in _COMMAND.findall(VERBS[verb].examples)
}


def examples() -> list[str]:
    texts = [verb.examples for verb in VERBS.values()]
    return [command for text in (verbs._EXAMPLES, *texts) for command in _COMMAND.findall(text)]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Make a repository, and in it the files that examples name."""
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    # Links for examples that name a file without its folder.
    (tmp_path / "front.yaml").symlink_to("instances/team-shop/front.yaml")
    (tmp_path / "webapp.yaml").symlink_to("rgds/webapp.yaml")
    for folder in (".schemas", ".zfunc", ".config/fish/completions"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize("command", [each for each in examples() if each not in OF_CLUSTERS])
def test_an_example_works(command: str, home: Path) -> None:
    for name, text in (("data.yaml", DATA), ("live.yaml", LIVE)):
        if name in command:
            (home / name).write_text(text, encoding="utf-8")
    path = f"{PROGRAM.parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=home,
        env={**os.environ, "PATH": path, "HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    written = re.search(r"> *(\S+)$", command)
    if written:
        assert (home / written[1].replace("~/", "")).stat().st_size > 0


@pytest.mark.parametrize("command", _COMMAND.findall(VERBS["run"].examples))
def test_an_example_of_run_makes_settings(command: str) -> None:
    parsed = build_parser("run").parse_args(shlex.split(command)[1:])
    settings = parse_settings(given_options(parsed), {})
    assert settings.in_cluster or settings.context or settings.is_embedded


def test_every_verb_has_two_examples_or_more() -> None:
    for verb in VERBS:
        assert sum(f"kro-gitops {verb} " in f"{command} " for command in examples()) >= 2, verb
