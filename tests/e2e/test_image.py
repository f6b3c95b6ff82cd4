"""
What can be known of the image without building it: the wheel it installs, made as it makes it.

The folder the wheel is built in holds what the Dockerfile copies and nothing else.
"""

import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from kro_gitops import __version__

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
IGNORED = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text(encoding="utf-8").split("\n")


def copied() -> list[tuple[str, str]]:
    """Give what the Dockerfile copies out of the repository, and where to."""
    lines = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
    return [(source, words[-1]) for words in map(str.split, lines) for source in words[:-1]]


def instruction(name: str) -> str:
    """Give the last instruction of a name: the one that holds in the image."""
    found: list[str] = re.findall(rf"^{name} (.+)$", DOCKERFILE, re.MULTILINE)
    return found[-1].strip()


@pytest.mark.timeout(300)
def test_what_is_copied_becomes_a_wheel_that_runs(tmp_path: Path) -> None:
    context, wheels, installed = (tmp_path / name for name in ("src", "wheels", "installed"))
    context.mkdir()
    for source, target in copied():
        if (ROOT / source).is_dir():
            left_out = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / source, context / target, ignore=left_out)
        else:
            shutil.copy(ROOT / source, context / target)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", f"--wheel-dir={wheels}", context], check=True)
    (wheel,) = wheels.iterdir()
    assert wheel.name == f"kro_gitops-{__version__}-py3-none-any.whl"
    subprocess.run([*pip, "install", "--no-deps", f"--target={installed}", wheel], check=True)

    def run(*words: str) -> str:
        # Dependencies are those of this interpreter; the program is the one of the wheel.
        done = subprocess.run(
            [sys.executable, installed / "bin" / "kro-gitops", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(installed)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        )
        return done.stdout

    assert run("--version").strip() == f"kro-gitops {__version__}"
    # The schemas of built-in kinds came along, too.
    assert "0 errors" in run("validate", str(ROOT / "examples" / "repo"))


def test_what_is_copied_reaches_the_builder() -> None:
    kept = [line.removeprefix("!") for line in IGNORED if line.startswith("!")]
    assert "*" in IGNORED  # nothing else does
    assert sorted(kept) == sorted(source for source, _ in copied())
    assert not [name for name in kept if fnmatch.fnmatch(name, ".*")]


def test_files_that_the_wheel_needs_are_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    sources = {source for source, _ in copied()}
    assert {project["readme"], *project["license-files"], "constraints.txt"} <= sources


def test_the_image_runs_the_controller_as_nobody_special() -> None:
    user, group = map(int, instruction("USER").split(":"))
    assert user > 0 < group
    assert instruction("ENTRYPOINT") == '["kro-gitops"]'
    assert instruction("CMD") == '["run", "--in-cluster"]'
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert all(re.fullmatch(r"python:3\.\d+-slim", base) for base in bases), bases
    assert len(bases) == 2  # what builds stays behind


def test_the_image_has_what_sources_need() -> None:
    final = DOCKERFILE.split("\nFROM ")[-1]
    (installed,) = re.findall(r"apt-get install --yes --no-install-recommends (.+) \\", final)
    assert {"ca-certificates", "git", "gnupg", "openssh-client"} == set(installed.split())
    values = yaml.safe_load((ROOT / "deploy/helm/kro-gitops/values.yaml").read_text("utf-8"))
    assert f"VOLUME {values['config']['storagePath']}" in final
    user, group = instruction("USER").split(":")
    made = f"--owner={user} --group={group} --mode=0700 {values['config']['storagePath']}"
    assert made in final
