"""The installed program: what only a process of its own can show."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import EXAMPLES, PROGRAM, start

WEBAPP = (EXAMPLES / "rgds" / "webapp.yaml").read_bytes()
BAD = WEBAPP.replace(b"${schema.spec.replicas}", b"${schema.spec.replcas}")
ESCAPE = re.compile(rb"\x1b\[[0-9;]*m")

# Modules that take time to import, and that no help needs.
HEAVY = ("yaml", "re2", "json", "kube_cel", "kube_objects", "kro_gitops.preview")


def test_the_program_and_the_module_are_the_same() -> None:
    as_module = subprocess.run(
        [sys.executable, "-m", "kro_gitops", "--version"],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert start("--version").out == as_module.stdout


def test_help_loads_nothing_that_takes_time() -> None:
    code = """
import contextlib, io, sys
from kro_gitops.cli.verbs import VERBS
from kro_gitops.cli.main import main
for verb in ("", *VERBS):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main([verb, "--help"] if verb else ["--help"])
print(*sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    assert not set(HEAVY) & set(done.stdout.split())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_needs_none_of_it_either(shell: str) -> None:
    code = f"""
import contextlib, io, sys
from kro_gitops.cli.main import main
with contextlib.redirect_stdout(io.StringIO()):
    assert main(["completion", "{shell}"]) == 0
print(*sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    heavy = {*HEAVY, "rich", "aiohttp"} - {"json"}  # which importlib.metadata needs
    assert not heavy & set(done.stdout.split())


def on_terminal(environment: dict[str, str]) -> bytes:
    """Return what the program prints to a terminal."""
    reader, writer = pty.openpty()
    kept = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    with subprocess.Popen(
        [PROGRAM, "validate", "-"],
        stdin=subprocess.PIPE,
        stdout=writer,
        stderr=subprocess.DEVNULL,
        env={**kept, **environment},
    ) as process:
        os.close(writer)
        assert process.stdin is not None
        process.stdin.write(BAD)
        process.stdin.close()
        printed = b""
        try:
            while part := os.read(reader, 4096):
                printed += part
        except OSError:  # the terminal is gone with its last writer
            pass
        assert process.wait(timeout=30) == 1
    os.close(reader)
    return printed


def test_colours_are_for_terminals_whose_owners_want_them() -> None:
    coloured = on_terminal({})
    assert ESCAPE.search(coloured)
    plain = on_terminal({"NO_COLOR": "1"})
    assert b"\x1b" not in plain
    assert ESCAPE.sub(b"", coloured) == plain
    piped = start("validate", "-", stdin=BAD)
    assert piped.code == 1
    assert "\x1b" not in piped.out + piped.err


def test_a_reader_that_goes_away_is_no_reason_to_complain() -> None:
    with subprocess.Popen(
        [PROGRAM, "render", EXAMPLES], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        _, said = process.communicate(timeout=30)
    assert said == b""
    assert process.returncode == 141  # not 0: not everything was seen


def test_in_a_log_the_findings_come_before_their_count() -> None:
    done = subprocess.run(
        [PROGRAM, "validate", "-"],
        input=BAD,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=30,
    )
    assert done.stdout.startswith(b"<stdin>:47:35: error[undefined-field]")
    assert done.stdout.endswith(b"in 1 file\n")


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({"PYTHONIOENCODING": "latin-1"}, id="latin-1"),
        pytest.param({"PYTHONIOENCODING": "ascii:strict"}, id="ascii"),
        pytest.param({"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}, id="C"),
    ],
)
def test_output_is_utf_8_whatever_the_locale(environment: dict[str, str]) -> None:
    done = start("render", EXAMPLES, "--instance", "front", environment=environment)
    assert (done.code, done.err) == (0, "")
    assert "⟨known after apply: schema.metadata.annotations" in done.out


def test_a_file_name_that_is_no_text_is_shown_all_the_same(tmp_path: Path) -> None:
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.yaml")).write_text(
            "a: [", encoding="utf-8"
        )
    except OSError:
        pytest.skip("this file system takes only text")
    for form in ("text", "json", "github", "sarif"):
        done = start(
            "validate", "-o", form, tmp_path, environment={"PYTHONIOENCODING": "utf-8:strict"}
        )
        assert done.code == 1
        assert "Traceback" not in done.err


def test_a_full_disk_is_a_problem_of_one_line() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full")
    with full.open("wb") as stream:
        done = subprocess.run(
            [PROGRAM, "render", EXAMPLES],
            stdout=stream,
            stderr=subprocess.PIPE,
            check=False,
            timeout=30,
        )
    assert done.returncode == 1
    assert done.stderr.decode() == "kro-gitops: [Errno 28] No space left on device\n"


def test_a_closed_output_is_no_reason_to_fail() -> None:
    done = subprocess.run(
        ["bash", "-c", f"{PROGRAM} eval 1 >&-"], capture_output=True, check=False, timeout=30
    )
    assert (done.returncode, done.stderr) == (0, b"")


# Libraries and packages of ours that a verb about a cluster must not wait for.
UNNEEDED = {
    *("kubernetes", "git", "jinja2", "prometheus_client", "cryptography", "apscheduler"),
    *("rich", "re2", "pathspec", "jwt", "kro_gitops.app.process", "kube_cel.program"),
    *("kube_cel.library.formats", "kube_objects.positions", "kro_gitops.source.api.types"),
}


@pytest.mark.parametrize(
    ("words", "allowed"),
    [
        pytest.param(["get", "instances"], set(), id="get"),
        pytest.param(["tree"], set(), id="tree"),
        pytest.param(["tree", "source/x"], set(), id="tree of a source"),
        pytest.param(["explain", "webapp/front"], set(), id="explain"),
        pytest.param(["history", "shop"], set(), id="history"),
        pytest.param(["sync", "shop"], {"rich"}, id="sync"),
        pytest.param(["suspend", "shop"], {"rich"}, id="suspend"),
        pytest.param(["resume", "shop"], {"rich"}, id="resume"),
        pytest.param(["rollback", "shop", "--reason", "x"], {"rich"}, id="rollback"),
        # It evaluates expressions, and reads the positions of fields.
        pytest.param(
            ["why", "deployment/front"],
            {
                *("re2", "kube_cel.program", "kube_cel.library.formats"),
                "kube_objects.positions",
            },
            id="why",
        ),
    ],
)
def test_a_cluster_verb_loads_nothing_that_it_does_not_need(
    words: list[str], allowed: set[str], tmp_path: Path
) -> None:
    entries = {
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{"name": "x", "cluster": {"server": "http://127.0.0.1:9"}}],
        "users": [{"name": "x", "user": {"token": "x"}}],
    }
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps({"current-context": "x", **entries}), encoding="utf-8")
    code = f"""
import sys
from kro_gitops.cli.main import main
assert main({[*words, "--kubeconfig", str(kubeconfig)]!r}) == 1
print(*sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        cwd=tmp_path,
    )
    assert "error[cluster-unavailable]" in done.stderr
    assert set(done.stdout.split()) & UNNEEDED == allowed
