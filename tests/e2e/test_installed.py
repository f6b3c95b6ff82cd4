"""
The controller with exactly the rights that `deploy/` gives it, with both modes of access.

With the default, the rights for a definition come from `kro-gitops generate role`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from kro_gitops.errors import NotServed
from kro_gitops.kube.api import Cluster
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.command import run as run_command
from tests.connection import connect
from tests.e2e.scenarios.controllers import OURS, start_controller
from tests.rights import Kubectl, controller_rights
from tools.cluster.plane import Plane
from tools.update_deploy import DEPLOY, MODES, NAMESPACE, ROOT

WEBAPP = yaml.safe_load((ROOT / "examples" / "repo" / "rgds" / "webapp.yaml").read_text())
ROLE = yaml.safe_load((DEPLOY / "examples" / "aggregated-role.yaml").read_text())
FRONT: KubeObject = {
    "apiVersion": "kro.run/v1alpha1",
    "kind": "WebApp",
    "metadata": {"name": "front", "namespace": "default"},
    "spec": {"image": "nginx:1.27"},
}
DEPLOYMENT = Kind("apps", "v1", "Deployment")

pytestmark = pytest.mark.timeout(180)


@pytest.mark.parametrize("mode", MODES)
async def test_the_rights_of_an_installation_are_enough(
    mode: str, plane_with_controllers: Plane, tmp_path: Path
) -> None:
    plane = plane_with_controllers
    with controller_rights(plane, mode, tmp_path, roles=[ROLE]) as kubeconfig:
        controller = await asyncio.to_thread(
            start_controller,
            kubeconfig,
            OURS,
            leader_elect=True,
            leader_election_namespace=NAMESPACE,
            allow_crd_deletion=None,
        )
        with controller:
            async with connect(plane.kubeconfig) as opened:
                await lives_and_goes(opened.client)
            assert "forbidden" not in controller.log.read_text()
            assert controller.stop() == 0


async def test_a_default_installation_says_what_a_definition_lacks_and_takes_the_generated_role(
    plane_with_controllers: Plane, tmp_path: Path
) -> None:
    plane = plane_with_controllers
    admin = Kubectl(plane.kubeconfig)
    with controller_rights(plane, MODES[0], tmp_path) as kubeconfig:
        controller = await asyncio.to_thread(
            start_controller,
            kubeconfig,
            OURS,
            leader_elect=True,
            leader_election_namespace=NAMESPACE,
            allow_crd_deletion=None,
        )
        with controller:
            async with connect(plane.kubeconfig) as opened:
                cluster = opened.client
                await until(lambda: cluster.create(WEBAPP))
                await until(lambda: is_inactive_for(cluster, 'cannot list resource "webapps"'))
                generated = run_command("generate", "role", ROOT / "examples/repo/rgds/webapp.yaml")
                role = await asyncio.to_thread(
                    admin, "apply", "--filename=-", "--output=name", stdin=generated.out
                )
                try:
                    await until(lambda: is_active(cluster))
                    await until(lambda: cluster.create(FRONT))
                    await until(lambda: cluster.find(ObjectRef(DEPLOYMENT, "default", "front")))
                    await cluster.delete(ObjectRef.of(FRONT))
                    await until(lambda: is_gone(cluster, ObjectRef.of(FRONT)))
                    await cluster.delete(ObjectRef.of(WEBAPP))
                    await until(lambda: is_gone(cluster, ObjectRef.of(WEBAPP)))
                finally:
                    await asyncio.to_thread(admin, "delete", role.strip())


async def is_inactive_for(cluster: Cluster, reason: str) -> bool:
    found = await cluster.get(ObjectRef.of(WEBAPP))
    messages = [each["message"] for each in found.get("status", {}).get("conditions", ())]
    return any(reason in message for message in messages)


async def lives_and_goes(cluster: Cluster) -> None:
    """Serve a definition, see its instance become something, and take both away."""
    made = ObjectRef(DEPLOYMENT, "default", "front")
    # A replica that waits for its turn is ready, too: only then are definitions served.
    await until(lambda: cluster.create(WEBAPP))
    await until(lambda: is_active(cluster))
    await until(lambda: cluster.create(FRONT))
    await until(lambda: cluster.find(made))
    await cluster.delete(ObjectRef.of(FRONT))
    await until(lambda: is_gone(cluster, ObjectRef.of(FRONT)))
    assert await is_gone(cluster, made)
    await cluster.delete(ObjectRef.of(WEBAPP))
    await until(lambda: is_gone(cluster, ObjectRef.of(WEBAPP)))


async def until(check: Callable[[], Awaitable[object]]) -> None:
    async with asyncio.timeout(30):
        while True:
            with suppress(NotServed):
                if await check():
                    return
            await asyncio.sleep(0.1)


async def is_active(cluster: Cluster) -> bool:
    found = await cluster.get(ObjectRef.of(WEBAPP))
    return bool(found.get("status", {}).get("state") == "Active")


async def is_gone(cluster: Cluster, ref: ObjectRef) -> bool:
    return await cluster.find(ref) is None
