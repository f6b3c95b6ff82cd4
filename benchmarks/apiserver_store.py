"""
`python -m benchmarks.apiserver_store`: the embedded API server's store with 10,000 objects.

What a write costs with the journal, how long a start takes and how much memory, and what it costs
to fork a store or write it to a file. By wall clock, since the disk is a part of it.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import orjson

from benchmarks.report import Goal, Report
from kube_objects.refs import Kind
from kube_sandbox.endpoints.pagination import Scope, page
from kube_sandbox.storage import snapshots
from kube_sandbox.storage.bookmarks import bookmarks
from kube_sandbox.storage.journal import Journal
from kube_sandbox.storage.resource_version import VersionOptions
from kube_sandbox.storage.store import Record, Store
from kube_sandbox.storage.watch import Watch, Watched

_COUNT = 10_000
_UPDATES = 20_000
_BUCKET = "deployments.apps"
_LOAD = """
import sys
from pathlib import Path
from time import perf_counter, process_time
from kube_sandbox.storage.journal import Journal
def memory():
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024
before, start, cpu = memory(), perf_counter(), process_time()
journal, store = Journal.open(Path(sys.argv[1]))
print(process_time() - cpu, perf_counter() - start, before, memory())
journal.close()
"""


def run(report: Report) -> None:
    """Measure and print."""
    report.heading(f"the embedded store, {_COUNT:,} objects of 2 kB")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        journal, store = Journal.open(path)
        journal.follow(store)
        created = _written(store, _COUNT)
        updated = _written(store, _UPDATES)
        report.table(["a write with the journal", "in a second", "median µs", "slowest ms"], [
            ["create", *_figures(created)],
            ["update, with compaction", *_figures(updated)],
        ])  # fmt: skip
        _reads(report, store, Path(folder))
        journal.close()
        _start(report, path)


def _reads(report: Report, store: Store, folder: Path) -> None:
    watched = Watched(_BUCKET, bookmarks(Kind("apps", "v1", "Deployment")))
    first = page(store, Scope(_BUCKET), VersionOptions(limit=500))
    _written(store, 100)
    calls: dict[str, Callable[[], Any]] = {
        "get": lambda: store.get(_BUCKET, "ns3", "object-3"),
        "list": lambda: store.list(_BUCKET),
        "list of a namespace": lambda: store.list(_BUCKET, "ns3"),
        "second page of 500, after changes": lambda: page(
            store, Scope(_BUCKET), VersionOptions(limit=500, token=first.token)
        ),
        "state before all remembered changes": lambda: store.at(_BUCKET, store.oldest),
        "watch: all initial events": lambda: _drained(
            Watch(store, watched, VersionOptions(send_initial_events=True), 0.0, 1e9)
        ),
        "fork in memory": store.fork,
        "snapshot to a file": lambda: snapshots.write(store, folder / "snapshot.db"),
        "read a snapshot": lambda: snapshots.read(folder / "snapshot.db"),
    }
    rows = [
        [name, f"{min(_seconds(call) for _ in range(5)) * 1e3:.3f}"] for name, call in calls.items()
    ]
    report.table(["", "ms"], rows)


def _start(report: Report, path: Path) -> None:
    command = [sys.executable, "-c", _LOAD, str(path)]
    rounds = [
        [float(figure) for figure in subprocess.check_output(command, text=True).split()]
        for _ in range(3)
    ]
    cpu, wall, before, after = min(rounds)
    report.line(f"start: {wall * 1e3:.0f} ms, {after - before:.0f} MB of memory with the history")
    report.goal(Goal("start of a store, s of CPU", 0.5, cpu))


def _drained(watch: Watch) -> None:
    while watch.take():
        pass
    watch.close()


def _written(store: Store, count: int) -> list[float]:
    return [_seconds_of_write(store, index % _COUNT) for index in range(count)]


def _seconds_of_write(store: Store, index: int) -> float:
    version, namespace, name = store.version + 1, f"ns{index % 20}", f"object-{index}"
    labels = {"app": name}
    value = orjson.dumps(
        {
            "kind": "Deployment",
            "apiVersion": "apps/v1",
            "metadata": {"name": name, "resourceVersion": str(version), "labels": labels},
            "spec": {"filler": "x" * 1900},
        }
    )
    record = Record(namespace, name, f"uid-{index}", version, value, labels)
    return _seconds(lambda: store.put(_BUCKET, record))


def _seconds(call: Callable[[], Any]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def _figures(seconds: list[float]) -> list[str]:
    ordered = sorted(seconds)
    median, slowest = ordered[len(ordered) // 2] * 1e6, ordered[-1] * 1e3
    return [f"{len(seconds) / sum(seconds):,.0f}", f"{median:.0f}", f"{slowest:.1f}"]


if __name__ == "__main__":
    run(Report())
