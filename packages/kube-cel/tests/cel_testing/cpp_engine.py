"""
Ask the CEL project's own C++ engine, in a process of its own.

The engine comes as a Python package for 3.12 and later, and it can take its process down. So
it lives in a virtual environment beside this project's, made once and kept in the user's
cache, with whatever suitable interpreter the machine has.
"""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PACKAGE, VERSION = "cel-expr-python", "0.1.3"

_PROCESS = Path(__file__).with_name("cpp_process.py")
_NAMES = ("python3.12", "python3.13", "python3.14")
_ASK_VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"
_SUITABLE = ("3.12", "3.13", "3.14")

Answer = dict[str, Any]

DIED: Answer = {"died": True}
"""The answer to an expression that took the process down."""


class NotAvailableError(Exception):
    """The engine cannot be had on this machine."""


def interpreter() -> Path:
    """Return a Python that has the engine; make its environment if there is none yet."""
    base, version = _find_base()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / "kro-gitops" / "second-opinion" / f"{VERSION}-python{version}"
    home.parent.mkdir(parents=True, exist_ok=True)
    with (home.parent / f"{home.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run may be making it
        finished = home / "finished"
        if not finished.exists():
            shutil.rmtree(home, ignore_errors=True)
            _run([str(base), "-m", "venv", str(home)])
            install = ("-m", "pip", "install", "--quiet", f"{PACKAGE}=={VERSION}")
            _run([str(home / "bin" / "python"), *install])
            finished.touch()
    return home / "bin" / "python"


def _find_base() -> tuple[Path, str]:
    """Find a suitable interpreter that really runs: a shim may stand for none."""
    on_path = [Path(found) for found in map(shutil.which, _NAMES) if found]
    installed = sorted(Path.home().glob(".pyenv/versions/3.1[2-4]*/bin/python"))
    for candidate in (Path(sys.executable), *on_path, *installed):
        asked = subprocess.run(
            [str(candidate), "-c", _ASK_VERSION], capture_output=True, text=True, check=False
        )
        version = asked.stdout.strip()
        if asked.returncode == 0 and version in _SUITABLE:
            return candidate, version
    raise NotAvailableError(f"no Python of {', '.join(_SUITABLE)} was found")


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NotAvailableError(f"{' '.join(command)} failed: {done.stderr.strip()[-500:]}")


def ask(python: Path, expressions: Sequence[str]) -> list[Answer]:
    """Answer every expression; begin anew after one that took the process down."""
    answers: list[Answer] = []
    while len(answers) < len(expressions):
        answers.extend(_ask_process(python, expressions[len(answers) :]))
        if len(answers) < len(expressions):
            answers.append(DIED)
    return answers


def _ask_process(python: Path, expressions: Sequence[str]) -> Iterator[Answer]:
    """Answer expressions until all are, or until the process dies."""
    asked = subprocess.run(
        [str(python), str(_PROCESS)],
        input="".join(json.dumps(expression) + "\n" for expression in expressions),
        capture_output=True,
        text=True,
        check=False,
    )
    for line in asked.stdout.splitlines():
        yield json.loads(line)
