"""
What can be known of the image without a container builder.

The build stage is a list of copies and commands: they are carried out in a folder, with what the
Dockerfile copies and nothing else.
"""

import fnmatch
import json
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
from tools.dependencies.locks import lock_path, normalize, parse_lock

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
IGNORED = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text(encoding="utf-8").split("\n")

_INSTRUCTION = re.compile(r"^([A-Z]+) ((?:.*\\\n)*.*)$", re.MULTILINE)


def instructions(text: str) -> list[tuple[str, str]]:
    """Give instructions and their arguments, continued lines joined."""
    return [(name, re.sub(r"\\\n *", "", rest)) for name, rest in _INSTRUCTION.findall(text)]


def copies(rest: str) -> list[tuple[str, str]]:
    """Give what a COPY takes, and where it puts it."""
    *sources, target = rest.split()
    return [(source, target) for source in sources]


def copied() -> list[tuple[str, str]]:
    """Give what the Dockerfile copies out of the repository, and where to."""
    found = [rest for name, rest in instructions(DOCKERFILE) if name == "COPY"]
    return [pair for rest in found if not rest.startswith("--from") for pair in copies(rest)]


def instruction(name: str) -> str:
    """Give the last instruction of a name: the one that holds in the image."""
    return [rest for found, rest in instructions(DOCKERFILE) if found == name][-1]


def build(folder: Path) -> Path:
    """Carry out the build stage below a folder; give the environment that the image copies."""
    (_, stage, _) = DOCKERFILE.split("\nFROM ")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    source = folder / "src"
    source.mkdir()
    for name, rest in instructions(stage):
        if name == "RUN":
            # Bytecode is for the speed of the image, and takes longest.
            command = rest.replace("/opt/", f"{folder}/opt/").replace("--compile", "--no-compile")
            environment = {**os.environ, "PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
            subprocess.run(["/bin/sh", "-c", command], cwd=source, env=environment, check=True)
        for taken, target in copies(rest) if name == "COPY" else ():
            if (ROOT / taken).is_dir():
                left_out = shutil.ignore_patterns("__pycache__", "tests")
                shutil.copytree(ROOT / taken, source / target, ignore=left_out)
            else:
                (source / target).mkdir(exist_ok=True)
                shutil.copy(ROOT / taken, source / target)
    return folder / "opt" / "kro-gitops"


@pytest.mark.timeout(600)
def test_the_build_stage_makes_a_program_of_locked_distributions(tmp_path: Path) -> None:
    made = build(tmp_path)

    def run(*words: str) -> str:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        done = subprocess.run(
            [made / "bin" / words[0], *words[1:]],
            cwd=tmp_path,
            env=kept,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        )
        return done.stdout

    assert run("kro-gitops", "--version").strip() == f"kro-gitops {__version__}"
    # The schemas of built-in kinds came along, too.
    assert "0 errors" in run("kro-gitops", "validate", str(ROOT / "examples" / "repo"))
    listed = (
        "import importlib.metadata as m, json;"
        "print(json.dumps({d.name: d.version for d in m.distributions()}))"
    )
    found = {normalize(name): v for name, v in json.loads(run("python", "-c", listed)).items()}
    locked = {pin.name: pin.version for pin in parse_lock(lock_path("install").read_text("utf-8"))}
    # No pip, no build backend and no sandbox.
    ours = dict.fromkeys(("kro-gitops", "kube-cel", "kube-objects"), __version__)
    assert found == locked | ours


def test_what_is_copied_reaches_the_builder() -> None:
    kept = [line.removeprefix("!") for line in IGNORED if line.startswith("!")]
    assert "*" in IGNORED  # nothing else does
    assert sorted(kept) == sorted(source for source, _ in copied())
    assert not [name for name in kept if fnmatch.fnmatch(name, ".*")]


def test_files_that_the_wheel_needs_are_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    sources = {source for source, _ in copied()}
    assert {project["readme"], *project["license-files"], "requirements/install.txt"} <= sources


def test_the_image_runs_the_controller_as_nobody_special_and_without_a_shell() -> None:
    user, group = map(int, instruction("USER").split(":"))
    assert user > 0 < group
    assert instruction("ENTRYPOINT") == '["kro-gitops"]'
    assert instruction("CMD") == '["run", "--in-cluster"]'
    assert not {"SHELL", "HEALTHCHECK"} & {name for name, _ in instructions(DOCKERFILE)}


def test_every_stage_is_of_one_base_that_can_be_pinned_by_digest() -> None:
    found = instructions(DOCKERFILE)
    assert [rest for name, rest in found if name == "FROM"] == ["${BASE} AS build", "${BASE}"]
    # Declared once, before the first stage: the release of Python and that of Debian are named.
    assert [found[0]] == [each for each in found if each[0] == "ARG"]
    assert re.fullmatch(r"BASE=python:3\.\d+-slim-[a-z]+(@sha256:[0-9a-f]{64})?", found[0][1])


def test_the_image_has_what_sources_need() -> None:
    final = DOCKERFILE.split("\nFROM ")[-1]
    (installed,) = re.findall(r"apt-get install --yes --no-install-recommends (.+) \\", final)
    assert {"ca-certificates", "git", "gnupg", "openssh-client"} == set(installed.split())
    values = yaml.safe_load((ROOT / "deploy/helm/kro-gitops/values.yaml").read_text("utf-8"))
    assert f"VOLUME {values['config']['storagePath']}" in final
    user, group = instruction("USER").split(":")
    made = f"--owner={user} --group={group} --mode=0700 {values['config']['storagePath']}"
    assert made in final
