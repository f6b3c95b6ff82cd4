"""
What a source keeps in memory of its documents, while nothing changes.

The repository has tiny ConfigMaps in a few files, the cheapest way to make a controller large. Once
they are applied; once the source may not have them, so that all of them fail. Memory is resident
memory of the controller, with few and with many documents: the difference is what a document costs,
also beside its bytes in git.
"""

import asyncio
import time
from dataclasses import dataclass

from benchmarks.engine.attempts import Missing, attempt, goal_at_most
from benchmarks.engine.connection import connect
from benchmarks.engine.usage import cpu_seconds, resident_bytes
from benchmarks.peers.processes import NotMeasuredError
from benchmarks.report import Report
from benchmarks.source import workload
from benchmarks.source.world import World, world
from kro_gitops.kube.api import Cluster
from kube_objects.refs import KubeObject

SUBJECT = "source-memory"
_APPLIED = (1_000, 6_000)
_REJECTED = (1_000, 19_000)
_LIMIT = 900.0  # seconds
_REST = 20.0
_MIB = 2**20
_FILE_SIZE = 1_000  # documents


@dataclass(frozen=True, slots=True)
class Kept:
    """Resident bytes by number of documents, and the share of a core while nothing changes."""

    resident: dict[int, int]
    git_bytes: float  # of a document
    busy: float

    @property
    def bytes_each(self) -> float:
        """Return what a document costs."""
        few, many = sorted(self.resident)
        return (self.resident[many] - self.resident[few]) / (many - few)


def run(report: Report) -> None:
    """Measure, print, compare with the goals."""
    report.heading("17. Memory of a source's documents")
    for name, counts, namespace, limit in (
        ("applied", _APPLIED, "", 4_096),
        ("rejected", _REJECTED, "elsewhere", 4_096),
    ):
        kept = attempt(report, name, lambda c=counts, n=namespace: _measure(c, n))  # type: ignore[misc]
        each: float | Missing = kept if isinstance(kept, Missing) else kept.bytes_each
        busy: float | Missing = kept if isinstance(kept, Missing) else 100 * kept.busy
        if not isinstance(kept, Missing):
            rows = [[f"{count:,}", f"{size / _MIB:.0f}"] for count, size in kept.resident.items()]
            report.table([f"documents, {name}", "MiB resident"], rows)
            times = kept.bytes_each / kept.git_bytes
            report.line(
                f"{kept.bytes_each:,.0f} bytes a document, {times:.0f} times its size in git; "
                f"{100 * kept.busy:.0f} % of a core afterwards"
            )
        report.goal(goal_at_most(f"bytes of a document that is {name}", limit, each))
        report.goal(goal_at_most(f"% of a core with documents that are {name}", 20, busy))


def _measure(counts: tuple[int, int], namespace: str) -> Kept:
    with world(0) as made, made.following() as following:
        pid, resident, busy = following.controller.pid, {}, 0.0
        allow = {"kinds": ["*"]}
        source = workload.source(made.url, "10s")
        source["spec"]["allow"] = allow
        made.repository.commit({workload.DEFINITION_FILE: None})
        files: dict[str, str] = {}
        for count in counts:
            files = {
                f"{first}.yaml": "".join(
                    _document(number, namespace) for number in range(first, first + _FILE_SIZE)
                )
                for first in range(0, count, _FILE_SIZE)
            }
            commit = made.repository.commit(files)
            asyncio.run(_settled(made, source, commit, is_rejected=bool(namespace)))
            used, began = cpu_seconds(pid), time.monotonic()
            time.sleep(_REST)
            busy = (cpu_seconds(pid) - used) / (time.monotonic() - began)
            resident[count] = resident_bytes(pid)
        return Kept(resident, sum(map(len, files.values())) / counts[-1], busy)


def _document(number: int, namespace: str) -> str:
    place = f"  namespace: {namespace}\n" if namespace else ""
    head = "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n"
    return f"{head}  name: settings-{number}\n{place}"


async def _settled(made: World, source: KubeObject, commit: str, *, is_rejected: bool) -> None:
    """Follow the repository, and return when the source has reported about a commit."""
    async with connect(made.field.plane.kubeconfig) as cluster:
        if await cluster.find(workload.SOURCE) is None:
            await cluster.create(source)
        deadline = time.monotonic() + _LIMIT
        while not await _has_reported(cluster, commit, is_rejected=is_rejected):
            if time.monotonic() > deadline:
                raise NotMeasuredError(f"not settled within {_LIMIT:.0f} s")
            await asyncio.sleep(0.5)


async def _has_reported(cluster: Cluster, commit: str, *, is_rejected: bool) -> bool:
    status = (await cluster.get(workload.SOURCE)).get("status") or {}
    ready = {each["type"]: each["status"] for each in status.get("conditions") or ()}.get("Ready")
    is_seen = status.get("lastAttemptedRevision", "").endswith(commit)
    return is_seen and ready == ("False" if is_rejected else "True")
