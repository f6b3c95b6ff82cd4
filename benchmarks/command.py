"""
The command line: `validate` over a repository of some size, and the CPU time in which `--help` and
verbs that talk to a cluster start.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from benchmarks.engine.attempts import goal_at_most
from benchmarks.peers.processes import ROOT
from benchmarks.report import Report, middle
from benchmarks.spawned import usage_of
from benchmarks.timing import seconds_of
from benchmarks.workload import definition, instance
from kro_gitops.local.api_process import EmbeddedApiOptions, run_embedded_api

_DEFINITIONS, _INSTANCES = 50, 1000
_WRONG_EVERY = 50
_ROUNDS = 3
_STARTS = 15
_CLUSTER_LIMIT = 0.45  # CPU seconds of a cluster verb
_CLUSTER_VERBS = (
    ("get", "instances", "-A"),
    ("get", "instances", "-A", "-o", "json"),
    ("tree", "-A"),
    ("explain", "webapp/front", "-n", "shop"),
    ("history", "repo"),
    ("sync", "repo"),
)


def run(report: Report) -> None:
    """Measure all of it."""
    report.heading(
        f"6. `kro-gitops validate`: {_DEFINITIONS} definitions, {_INSTANCES:,} instances"
    )
    command = Path(sys.executable).with_name("kro-gitops")
    if not command.exists():
        report.missing("the command", f"there is no kro-gitops beside {sys.executable}")
        return
    with TemporaryDirectory(prefix="kro-gitops-benchmark-") as folder:
        _write_repository(Path(folder))
        _measure_validate(report, str(command), folder)
    _measure_start(report, str(command))
    _measure_cluster_verbs(report, str(command))


def _write_repository(folder: Path) -> None:
    for name in ("rgds", "instances"):
        (folder / name).mkdir()
    for number in range(_DEFINITIONS):
        made = definition(f"app{number}", f"App{number}", groups=1)
        _write(folder / "rgds" / f"app{number}.yaml", made)
    for number in range(_INSTANCES):
        kind = f"App{number % _DEFINITIONS}"
        made = instance(kind, number, is_wrong=number % _WRONG_EVERY == 0)
        _write(folder / "instances" / f"app-{number}.yaml", made)


def _write(path: Path, value: object) -> None:
    path.write_text(yaml.safe_dump(value, sort_keys=False), encoding="utf-8")


def _measure_validate(report: Report, command: str, folder: str) -> None:
    runs = [usage_of([command, "validate", folder]) for _ in range(_ROUNDS)]
    try:
        steps = [_steps(folder) for _ in range(_ROUNDS)]
    except subprocess.CalledProcessError as error:
        report.missing("the steps of validate", error.stderr.strip()[-300:])
        return
    parts = {name: middle([each[name] for each in steps]) for name in steps[0]}
    whole = middle([each.seconds for each in runs])
    together = sum(parts.values())
    rows = [[name, f"{part:.2f}", f"{part / together:.0%}"] for name, part in parts.items()]
    report.table(["", "s", "share"], [*rows, ["the command", f"{whole:.2f}", ""]])
    bare = middle([seconds_of(lambda: _bare_yaml(folder)) for _ in range(_ROUNDS)])
    ratio = parts["YAML to manifests"] / bare
    report.line(f"YAML to manifests, times libyaml's own loader: {ratio:.2f} ({bare:.2f} s)")
    report.line(f"peak memory: {max(each.peak_bytes for each in runs) / 2**20:,.0f} MiB")


def _steps(folder: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.validate_steps", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    steps: dict[str, float] = json.loads(done.stdout)
    return steps


def _bare_yaml(folder: str) -> None:
    for path in Path(folder).rglob("*.yaml"):
        yaml.load(path.read_bytes(), yaml.CSafeLoader)


def _measure_start(report: Report, command: str) -> None:
    argparse = [sys.executable, "-c", "import argparse"]
    ours, bare = [], []
    for _ in range(_STARTS):
        ours.append(usage_of([command, "--help"]).seconds)
        bare.append(usage_of(argparse).seconds)
    help_time, bare_time = middle(ours), middle(bare)
    report.line(
        f'kro-gitops --help: {help_time * 1e3:.0f} ms, times python -c "import argparse": '
        f"{help_time / bare_time:.2f} ({bare_time * 1e3:.0f} ms)"
    )


def _measure_cluster_verbs(report: Report, command: str) -> None:
    """Print the CPU time of verbs on the embedded API, with the examples in it."""
    with run_embedded_api(EmbeddedApiOptions(None), lambda: None) as api:
        access = ("--kubeconfig", str(api.kubeconfig))
        repository = ("--repo", str(ROOT), "--path", "examples/repo,examples/demo")
        done = usage_of([command, "run", "--once", *repository, *access])
        if done.exit_code != 0:
            report.missing("cluster verbs", f"the examples did not become ready: {done.exit_code}")
            return
        rows, slowest = [], 0.0
        for words in _CLUSTER_VERBS:
            runs = [usage_of([command, *words, *access]) for _ in range(_STARTS)]
            if any(each.exit_code != 0 for each in runs):
                report.missing(" ".join(words), f"exit code {runs[0].exit_code}")
                continue
            seconds = middle([each.seconds for each in runs])
            slowest = max(slowest, seconds)
            rows.append([f"kro-gitops {' '.join(words)}", f"{seconds:.2f}"])
    report.table(["", "CPU s"], rows)
    report.goal(goal_at_most("a verb that asks a cluster, CPU seconds", _CLUSTER_LIMIT, slowest))
