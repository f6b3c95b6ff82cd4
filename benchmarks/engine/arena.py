"""
A control plane of one's own, and everything a measurement needs on it.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.engine import workload
from benchmarks.engine.audit import AuditLog, Requests
from benchmarks.engine.connection import connect
from benchmarks.engine.controllers import Addresses, command_of, crds_of
from benchmarks.engine.processes import Process
from benchmarks.engine.usage import cpu_seconds
from benchmarks.peers.processes import NotMeasuredError
from kro_gitops.engine.api import DEFINITION_KIND
from kro_gitops.errors import NotServed
from kro_gitops.kube.api import Cluster
from kube_objects.refs import KubeObject, ObjectRef
from tools.cluster.control_plane import control_plane, free_ports
from tools.cluster.embedded import embedded_plane
from tools.cluster.parts import Guard, ToolError, guard
from tools.cluster.plane import Plane

QUIET = 2.0  # seconds without a request after which a controller counts as settled
_START_LIMIT = 60.0
_POLL = 0.1


@dataclass(frozen=True, slots=True)
class Fed:
    """What it took to have instances ready, from the first create on."""

    count: int
    seconds: float
    cpu_seconds: float  # of the controller
    shared_cpu_seconds: float  # of the controller, the API server, etcd and the feeder
    requests: Requests  # of the controller, until it was quiet

    @property
    def milliseconds_each(self) -> float:
        """Return the time of an instance."""
        return self.seconds / self.count * 1e3


@dataclass(frozen=True, slots=True)
class Controller:
    """A controller that runs, and how many seconds it took until it was ready."""

    name: str
    pid: int
    ready_after: float


class Arena:
    """A control plane with its audit log, a folder, and a guard over all that is started."""

    def __init__(self, plane: Plane, home: Path, guard: Guard, audit: AuditLog) -> None:
        self.plane = plane
        self.audit = audit
        self.home = home
        self._guard = guard

    def prepare(self, *objects: KubeObject) -> None:
        """Create what a measurement begins with, and wait until the kinds among it are served."""
        namespace = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": workload.NAMESPACE},
        }
        asyncio.run(_create(self.plane.kubeconfig, [namespace, *objects]))

    @contextmanager
    def controller(self, name: str) -> Iterator[Controller]:
        """Run a controller for as long as the block lasts; it is ready when the block begins."""
        addresses = Addresses(self.plane.kubeconfig, *free_ports(2))
        with self.command(name, command_of(name, addresses), addresses) as controller:
            yield controller

    @contextmanager
    def command(
        self, name: str, command: Sequence[str], addresses: Addresses
    ) -> Iterator[Controller]:
        """Run a controller by its command line."""
        process = Process(name, command, self.home / f"{name}.log", self._guard)
        try:
            ready_after = process.wait_until_ready(addresses.ready_url, _START_LIMIT)
            try:
                yield Controller(name, process.pid, ready_after)
            except NotMeasuredError as error:
                words = f"{error}; the log of {name} ends with: {process.last_words()}"
                raise NotMeasuredError(words) from error
        finally:
            process.stop()

    @contextmanager
    def serving(self, name: str) -> Iterator[Controller]:
        """Run a controller that has published the kind of the definition and is quiet."""
        self.prepare(*crds_of(name))
        with self.controller(name) as controller:
            asyncio.run(_publish(self.plane.kubeconfig))
            self.audit.wait_until_quiet(QUIET)
            yield controller

    def feed(self, controller: Controller, first: int, count: int) -> Fed:
        """Create instances, and return when all are ready and the controller is quiet."""
        server_cpu = self.plane.cpu_seconds()
        mark, cpu = self.audit.mark(), cpu_seconds(controller.pid)
        patience = 60 + count // 2
        done = self.run("feeder", first, count, patience, limit=2 * patience)
        used = cpu_seconds(controller.pid) - cpu
        if not self.audit.wait_until_quiet(QUIET):
            raise NotMeasuredError(f"{controller.name} does not come to rest")
        shared = used + self.plane.cpu_seconds() - server_cpu + done["cpu"]
        return Fed(count, done["ready"], used, shared, self.audit.since(mark))

    def run(self, module: str, *arguments: object, limit: float) -> dict[str, Any]:
        """Run one of the measuring processes and return what it found."""
        with self.running(module, *arguments) as process:
            process.wait(limit)
        found: dict[str, Any] = json.loads(self._result_of(module).read_text())
        return found

    @contextmanager
    def running(self, module: str, *arguments: object) -> Iterator[Process]:
        """Have one of the measuring processes for as long as the block lasts."""
        name = f"benchmarks.engine.{module}"
        given = [str(self.plane.kubeconfig), str(self._result_of(module)), *map(str, arguments)]
        command = [sys.executable, "-m", name, *given]
        process = Process(name, command, self.home / f"{module}.log", self._guard)
        try:
            yield process
        finally:
            process.kill()

    def _result_of(self, module: str) -> Path:
        return self.home / f"{module}.json"


@contextmanager
def arena(*, is_embedded: bool = False) -> Iterator[Arena]:
    """Give a fresh control plane for as long as the block lasts: a real one, or ours."""
    with ExitStack() as stack:
        home = Path(tempfile.mkdtemp(prefix="kro-gitops-benchmark-"))
        watching = stack.enter_context(guard(home))
        audit = AuditLog(home)
        try:
            plane: Plane
            if is_embedded:
                plane = stack.enter_context(embedded_plane(audit=audit.path))
            else:
                plane = stack.enter_context(control_plane(api_server_flags=audit.flags))
        except ToolError as error:
            raise NotMeasuredError(str(error)) from error
        yield Arena(plane, home, watching, audit)


async def _create(kubeconfig: Path, objects: list[KubeObject]) -> None:
    async with connect(kubeconfig) as cluster:
        for obj in objects:
            await cluster.create(obj)
        for obj in objects:
            if obj["kind"] == "CustomResourceDefinition":
                await _until(cluster, ObjectRef.of(obj), _is_established)


async def _publish(kubeconfig: Path) -> None:
    """Create the definition, and return when its instances may come."""
    async with connect(kubeconfig) as cluster:
        await cluster.create(workload.definition())
        ref = ObjectRef(DEFINITION_KIND, "", workload.DEFINITION)
        await _until(cluster, ref, lambda obj: obj.get("status", {}).get("state") == "Active")


async def _until(cluster: Cluster, ref: ObjectRef, is_done: Callable[[KubeObject], bool]) -> None:
    deadline = time.monotonic() + _START_LIMIT
    found: KubeObject | None = None
    while time.monotonic() < deadline:
        try:
            found = await cluster.find(ref)
        except NotServed:
            found = None
        if found is not None and is_done(found):
            return
        await asyncio.sleep(_POLL)
    status = (found or {}).get("status")
    raise NotMeasuredError(f"{ref} is not ready after {_START_LIMIT:.0f} s: {status}")


def _is_established(crd: KubeObject) -> bool:
    # At first it is there and null.
    conditions = crd.get("status", {}).get("conditions") or ()
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)
