"""
The controller in this process, on an embedded API: what it applies and rejects is recorded.

The engine runs in a thread with a loop of its own. Children are recorded as they are sent, before
the API server adds anything; rejections are taken from the pass itself.
"""

import asyncio
import json
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from kro_gitops.app.process import install_crds
from kro_gitops.engine.controllers.context import EngineContext
from kro_gitops.engine.controllers.definitions import DefinitionSettings
from kro_gitops.engine.controllers.engine import Engine, EngineSettings
from kro_gitops.engine.controllers.evaluation_turns import EvaluationLimits
from kro_gitops.engine.controllers.instances import InstanceSettings
from kro_gitops.engine.controllers.observer import Observer
from kro_gitops.engine.crd.own import own_crds
from kro_gitops.engine.definition import is_definition
from kro_gitops.engine.options import Options
from kro_gitops.engine.plan.children import Rules
from kro_gitops.engine.plan.instance import Pass
from kro_gitops.errors import KroGitopsError, NotServed
from kro_gitops.kube.api import Cluster, DeleteOptions, WriteOptions
from kro_gitops.local.api_process import EmbeddedApiOptions, Workloads, run_embedded_api
from kro_gitops.metadata import CHILD_MANAGER
from kube_objects.crds import is_crd
from kube_objects.refs import KubeObject, ObjectRef
from tests.connection import connect

T = TypeVar("T")

COLLECTION_SIZE = 6
_USER = WriteOptions(manager="user", force=True)
_TIMEOUT = 60.0
_POLL_INTERVAL = 0.02
_CLOSING = 0.25  # seconds until connections that were closed are gone
_QUIET_POLLS = 12  # in a row, until nothing more is expected to happen


@dataclass(slots=True)
class Record:
    """What the controller did: children by name, as applied, and instances by name."""

    applied: dict[ObjectRef, KubeObject] = field(default_factory=dict)
    failed: dict[ObjectRef, str] = field(default_factory=dict)  # what the API server said
    passes: dict[ObjectRef, Pass] = field(default_factory=dict)  # the last of each instance


class _RecordingCluster:
    """A cluster that notes every child that is applied."""

    def __init__(self, cluster: Cluster, record: Record) -> None:
        self._cluster = cluster
        self._record = record

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    def acting_as(self, identity: Any) -> "_RecordingCluster":
        return _RecordingCluster(self._cluster.acting_as(identity), self._record)

    async def apply(self, obj: KubeObject, options: WriteOptions) -> KubeObject:
        if options.manager != CHILD_MANAGER:
            return await self._cluster.apply(obj, options)
        ref, sent = ObjectRef.of(obj), json.loads(json.dumps(obj))
        try:
            answer = await self._cluster.apply(obj, options)
        except KroGitopsError as error:
            self._record.failed[ref] = error.message
            raise
        if set(sent["metadata"]) <= {"name", "namespace"}:
            self._record.applied.pop(ref, None)  # given back to its owner
        else:
            self._record.applied[ref] = sent
        return answer


class _RecordingObserver(Observer):
    def __init__(self, record: Record) -> None:
        self._record = record

    def passed(self, run: Pass, seconds: float) -> None:
        self._record.passes[run.family.ref] = run


class Controller:
    """A running engine, and the cluster it works on."""

    def __init__(self, kubeconfig: Path, rules: Rules) -> None:
        self.record = Record()
        self.rules = rules
        self._kubeconfig = kubeconfig
        self._loop: asyncio.AbstractEventLoop
        self._is_up = threading.Event()
        self._thread = threading.Thread(target=self._run, name="controller", daemon=True)
        self._thread.start()
        assert self._is_up.wait(_TIMEOUT), "the engine did not start"

    def reconcile(self, objects: Sequence[KubeObject]) -> None:
        """Apply objects as a user does, and wait until the engine has nothing more to do."""
        self._do(self._reconcile(objects))

    def delete(self, ref: ObjectRef) -> None:
        """Delete an object as a user does, and wait until it is gone."""
        self._do(self._delete(ref))

    def find(self, ref: ObjectRef) -> KubeObject | None:
        """Return an object of the cluster."""
        return self._do(self._client.find(ref))

    def stop(self) -> None:
        """Stop the engine."""
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(_TIMEOUT)

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_TIMEOUT)

    def _run(self) -> None:
        asyncio.run(self._work())

    async def _work(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        async with connect(self._kubeconfig) as connection:
            await install_crds(connection.client, connection.discovery, own_crds())
            self._client = connection.client
            cluster: Any = _RecordingCluster(connection.client, self.record)
            outside = EngineContext(cluster, connection.discovery, _RecordingObserver(self.record))
            rules = EngineSettings(
                InstanceSettings(
                    version=self.rules.version,
                    tracking=self.rules.tracking,
                    adoption=self.rules.adoption,
                    interval=0.2,
                    collection_size=COLLECTION_SIZE,
                    evaluation=EvaluationLimits(expression=5.0),
                ),
                DefinitionSettings(progress_delay=0.1),
                Options(omit=True),
            )
            self._engine = Engine(outside, rules)
            running = asyncio.create_task(self._engine.run())
            await self._engine.wait_ready()
            self._is_up.set()
            await self._stopped.wait()
            self._engine.stop()
            await running
        await asyncio.sleep(_CLOSING)

    async def _reconcile(self, objects: Sequence[KubeObject]) -> None:
        # A kind must be served before its instances can be applied.
        first = [obj for obj in objects if is_definition(obj) or is_crd(obj)]
        namespaces = [obj for obj in objects if obj["kind"] == "Namespace"]
        rest = [obj for obj in objects if obj not in first and obj not in namespaces]
        for obj in (*namespaces, *first, *rest):
            await self._apply(obj)
        await self._quiet()

    async def _delete(self, ref: ObjectRef) -> None:
        await self._client.delete(ref, DeleteOptions())
        while await self._client.find(ref) is not None:  # noqa: ASYNC110 - whoever finalizes it
            await asyncio.sleep(_POLL_INTERVAL)

    async def _quiet(self) -> None:
        quiet = 0
        while quiet < _QUIET_POLLS:
            await asyncio.sleep(_POLL_INTERVAL)
            depths = [queue.depth for queue in self._engine.queues.values()]
            is_busy = any(depth.ready or depth.working for depth in depths)
            quiet = 0 if is_busy else quiet + 1

    async def _apply(self, obj: KubeObject) -> None:
        while True:
            try:
                await self._client.apply(obj, _USER)
            except NotServed:
                await asyncio.sleep(_POLL_INTERVAL)
            else:
                return


@contextmanager
def running_controller(folder: Path, rules: Rules | None = None) -> Iterator[Controller]:
    """Run an embedded API with simulated workloads, and an engine that works on it."""
    wanted = EmbeddedApiOptions(folder, workloads=Workloads(step=0.0))
    with run_embedded_api(wanted, lambda: None) as api:
        controller = Controller(api.kubeconfig, rules or Rules())
        try:
            yield controller
        finally:
            controller.stop()
