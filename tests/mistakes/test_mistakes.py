"""
One truth: what `validate` rejects, `run` rejects, at the same place and with the same code.

Many cases are in one repository, because starting a controller takes seconds.
"""

import contextlib
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.command import PROGRAM, Outcome, run
from tests.git_repositories import GitRepository
from tests.mistakes.corpus import Mistake, mistakes
from tests.mistakes.templates import QUOTA, RIGHT, SOURCE

pytestmark = pytest.mark.timeout(240)

_CASES = tuple(mistakes())
_BATCH = 14  # the status of a source lists twenty failures
_BATCHES = [_CASES[first : first + _BATCH] for first in range(0, len(_CASES), _BATCH)]
# A suspended source is waited for, and the quota keeps the Pods of the others from being created.
_NEVER_READY = (SOURCE, QUOTA)
_FAILURE = re.compile(r"^ *(\S+\.yaml):(\d+):(\d+): error\[([\w-]+)\]", re.M)

Place = tuple[str, int, int, str]  # file, line, column, code


def validated(folder: Path) -> tuple[int, set[Place]]:
    """Return the exit code of `validate`, and its errors."""
    with contextlib.chdir(folder):
        done = run("validate", ".", "-o", "json")
    found = [each for each in done.json if each["severity"] == "error"]
    return done.code, {(e["file"], e["line"], e["column"], e["code"]) for e in found}


def reconciled(folder: Path, tmp_path: Path) -> tuple[Outcome, set[Place]]:
    """Return the outcome of `run --once --ephemeral`, and the errors that it reports."""
    repository = GitRepository.create(tmp_path / "repo.git")
    files = {each.name: each.read_text(encoding="utf-8") for each in folder.iterdir()}
    repository.commit(files, "Add cases")
    words = ["run", "--once", "--ephemeral", "--timeout", "90s", "--repo", str(repository.path)]
    done = subprocess.run(
        [PROGRAM, *words],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        check=False,
        timeout=150,
        text=True,
    )
    printed = done.stdout.partition("\nnot ready after ")[2]
    found = {(file, int(line), int(at), code) for file, line, at, code in _FAILURE.findall(printed)}
    return Outcome(done.returncode, done.stdout, done.stderr), found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give an empty folder for manifests."""
    made = tmp_path / "files"
    made.mkdir()
    return made


def test_there_are_more_than_120_mistakes() -> None:
    assert len(_CASES) > 120
    assert len({each.text for each in _CASES}) == len(_CASES)


@pytest.mark.parametrize("batch", _BATCHES, ids=lambda batch: f"from-{batch[0].number}")
def test_validate_and_run_report_the_same(
    batch: tuple[Mistake, ...], folder: Path, tmp_path: Path
) -> None:
    for each in batch:
        (folder / each.file).write_text(each.text, encoding="utf-8")
    code, found = validated(folder)
    assert code == 1
    for each in batch:
        lines = each.text.split("\n")
        marked = [
            (code, lines[line - 1][column - 1 :])
            for file, line, column, code in found
            if file == each.file
        ]
        assert any(code == each.code and text.startswith(each.at) for code, text in marked), (
            f"{each.file} should have {each.code} at {each.at!r}, but has {marked}:\n{each.text}"
        )
    outcome, reported = reconciled(folder, tmp_path)
    assert outcome.code == 1, outcome.out + outcome.err
    assert reported == found, outcome.out


def test_what_is_right_passes_both(folder: Path, tmp_path: Path) -> None:
    for number, text in enumerate(RIGHT):
        (folder / f"right-{number}.yaml").write_text(text.replace("@", str(number)))
    assert validated(folder) == (0, set())
    for text in _NEVER_READY:
        (folder / f"right-{RIGHT.index(text)}.yaml").unlink()
    outcome, reported = reconciled(folder, tmp_path)
    assert (outcome.code, reported) == (0, set()), outcome.out + outcome.err
