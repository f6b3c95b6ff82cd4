import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kro_gitops.cli.verbs import VERBS
from tests.command import run

SHELLS = ("bash", "zsh", "fish")


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_names_every_verb_and_its_options(shell: str) -> None:
    script = run("completion", shell).out
    for verb in VERBS:
        assert verb in script
    for option in ("set-status", "max-collection-size", "strict", "instance"):
        assert option in script


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_can_read_its_script(shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(run("completion", shell).out, encoding="utf-8")
    done = subprocess.run([shell, "-n", script], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def script(shell: str, folder: Path) -> Path:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    file = folder / ".script"
    file.write_text(run("completion", shell).out, encoding="utf-8")
    return file


IN_BASH = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_shtab_kro_gitops kro-gitops "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(folder: Path, *words: str) -> list[str]:
    command = ["bash", "-c", IN_BASH, "bash", str(script("bash", folder)), "kro-gitops", *words]
    done = subprocess.run(command, capture_output=True, check=True, text=True, cwd=folder)
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize(
    ("words", "choices"),
    [
        pytest.param(["va"], ["validate"], id="a verb"),
        pytest.param(["--v"], ["--version"], id="an option without a verb"),
        pytest.param(["render", "--se"], ["--set-status"], id="an option"),
        pytest.param(["graph", "-o", "s"], ["svg"], id="a value of an option"),
        pytest.param(["graph", "--output", "me"], ["mermaid"], id="by its long name"),
        pytest.param(["generate", "cr"], ["crd"], id="a word"),
        pytest.param(["completion", "z"], ["zsh"], id="a shell"),
        pytest.param(["help", "va"], ["validate"], id="a verb to explain"),
        pytest.param(["get", "--sel"], ["--selector"], id="labels"),
        pytest.param(["tree", "--wa"], ["--watch"], id="changes"),
        pytest.param(["validate", "my"], ["my file.yaml"], id="a file with a blank in its name"),
    ],
)
def test_bash_completes(words: list[str], choices: list[str], tmp_path: Path) -> None:
    (tmp_path / "my file.yaml").touch()
    assert completed(tmp_path, *words) == choices


@pytest.mark.parametrize(
    ("line", "choices"),
    [
        pytest.param("va", ["validate"], id="a verb"),
        pytest.param("render --se", ["--set-status"], id="an option"),
        pytest.param("graph -o s", ["svg"], id="a value of an option"),
        pytest.param("generate cr", ["crd"], id="a word"),
        pytest.param("validate my", ["my file.yaml"], id="a file with a blank in its name"),
    ],
)
def test_fish_completes(line: str, choices: list[str], tmp_path: Path) -> None:
    (tmp_path / "my file.yaml").touch()
    code = f'source {script("fish", tmp_path)}; complete --do-complete "kro-gitops {line}"'
    home = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        ["fish", "-c", code], capture_output=True, check=True, text=True, cwd=tmp_path, env=home
    )
    assert [each.split("\t")[0].replace("\\", "") for each in done.stdout.splitlines()] == choices


def test_zsh_uses_the_script_for_the_program(tmp_path: Path) -> None:
    file = script("zsh", tmp_path)
    (tmp_path / "_kro-gitops").write_bytes(file.read_bytes())
    code = (
        "fpath=($PWD $fpath); autoload -Uz compinit; compinit -D -u; "
        "print $_comps[kro-gitops]; autoload +X _kro-gitops; functions _kro-gitops"
    )
    done = subprocess.run(
        ["zsh", "-f", "-c", code], capture_output=True, check=True, text=True, cwd=tmp_path
    )
    name, _, body = done.stdout.partition("\n")
    assert name == "_kro-gitops"
    assert "validate" in body
